#include "fs/report.h"

#include <map>
#include <regex>
#include <sstream>

#include "node_fixture.h"

namespace kvpagefs {
namespace {

using ::testing::HasSubstr;

class ReportTest : public NodeTest {
 protected:
  // "key value" lines; a second line with one key is an error.
  static std::map<std::string, std::string> Parse(const std::string& text) {
    std::map<std::string, std::string> values;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      if (line.empty() || line.starts_with("# ")) continue;
      const size_t space = line.find(' ');
      EXPECT_NE(space, std::string::npos) << line;
      EXPECT_TRUE(values.emplace(line.substr(0, space), line.substr(space + 1)).second) << line;
    }
    return values;
  }
  std::map<std::string, std::string> Status() { return Parse(StatusText(state())); }
  static uint64_t Number(const std::map<std::string, std::string>& values, const std::string& key) {
    const auto found = values.find(key);
    EXPECT_NE(found, values.end()) << key;
    return found == values.end() ? 0 : std::stoull(found->second);
  }
  static void ExpectIdentity(const std::map<std::string, std::string>& status) {
    uint64_t sum = 0;
    for (const char* part : {"free", "header", "draft", "held", "pinned", "evictable"}) {
      sum += Number(status, std::string("memory_") + part + "_bytes");
    }
    EXPECT_EQ(Number(status, "memory_capacity_bytes"), sum);
    EXPECT_EQ(Number(status, "memory_used_bytes"),
              Number(status, "memory_capacity_bytes") - Number(status, "memory_free_bytes"));
  }
};

TEST_F(ReportTest, StatusPartsAddUpToTheCapacity) {
  ExpectIdentity(Status());
  const PageHold held = Publish("held", std::string(10'000, 'h'));
  Publish("evictable", std::string(20'000, 'e'));
  Publish("pinned", std::string(30'000, 'p'), Pin::kHard);
  const std::unique_ptr<Draft> draft = state().tier->NewDraft();
  ASSERT_TRUE(draft->Truncate(40'000).ok());
  const auto status = Status();
  ExpectIdentity(status);
  EXPECT_EQ(Number(status, "memory_capacity_bytes"), uint64_t{4} << 20);
  EXPECT_EQ(Number(status, "memory_held_bytes"), 3u * 4096);
  EXPECT_EQ(Number(status, "memory_evictable_bytes"), 5u * 4096);
  EXPECT_EQ(Number(status, "memory_pinned_bytes"), 8u * 4096);
  EXPECT_GE(Number(status, "memory_draft_bytes"), 10u * 4096);
  EXPECT_EQ(Number(status, "memory_pages"), 3u);
  EXPECT_EQ(Number(status, "memory_drafts"), 1u);
  EXPECT_EQ(Number(status, "names_pages"), 3u);
  EXPECT_EQ(Number(status, "names_page_bytes"), 60'000u);
}

TEST_F(ReportTest, StatusNamesTheNodeAndItsState) {
  auto status = Status();
  EXPECT_EQ(status["version"], KVPAGEFS_VERSION);
  EXPECT_EQ(status["state"], "serving");
  EXPECT_EQ(status["node"], "node-a");
  EXPECT_EQ(status["mount_point"], "/mnt/kv");
  EXPECT_EQ(status["fsync_without_ssd"], "success");
  EXPECT_EQ(status["state_dir"], "none");
  EXPECT_EQ(status["names_problem"], "none");
  state().stopping.store(true);
  EXPECT_EQ(Status()["state"], "stopping");
}

TEST_F(ReportTest, StatusAndMetricsHaveEveryCounter) {
  state().counters.Add(Counter::kReadBytes, 12'345);
  const auto status = Status();
  const std::string metrics = MetricsText(state());
  for (const CounterName& row : kCounterNames) {
    EXPECT_EQ(Number(status, std::string(row.name)), state().counters.Get(row.counter)) << row.name;
    EXPECT_THAT(metrics, HasSubstr("\nkvpagefs_" + std::string(row.name) + "_total "));
  }
  EXPECT_EQ(Number(status, "read_bytes"), 12'345u);
  EXPECT_THAT(metrics, HasSubstr("\nkvpagefs_read_bytes_total 12345\n"));
}

// Text exposition format 0.0.4: every sample is behind a HELP and a TYPE line of its name.
TEST_F(ReportTest, MetricsAreAWellFormedExposition) {
  static const std::regex kHelp(R"(# HELP ([a-z_:][a-z0-9_:]*) \S.*)");
  static const std::regex kType(R"(# TYPE ([a-z_:][a-z0-9_:]*) (counter|gauge))");
  static const std::regex kSample(R"(([a-z_:][a-z0-9_:]*) ([-+0-9.e]+))");
  std::istringstream lines(MetricsText(state()));
  std::string help, name, type;
  std::map<std::string, std::string> samples;
  std::smatch match;
  for (std::string line; std::getline(lines, line);) {
    if (std::regex_match(line, match, kHelp)) {
      help = match[1];
    } else if (std::regex_match(line, match, kType)) {
      name = match[1];
      type = match[2];
      EXPECT_EQ(name, help);
    } else {
      ASSERT_TRUE(std::regex_match(line, match, kSample)) << line;
      EXPECT_EQ(match[1], name) << line;
      EXPECT_TRUE(samples.emplace(match[1], match[2]).second) << line;
      EXPECT_TRUE(name.starts_with("kvpagefs_")) << line;
      EXPECT_EQ(name.ends_with("_total"), type == "counter") << line;
    }
  }
  EXPECT_EQ(samples.count("kvpagefs_memory_capacity_bytes"), 1u);
  EXPECT_GT(samples.size(), static_cast<size_t>(Counter::kCount));
}

// A double prints more than six digits.
TEST_F(ReportTest, LargeNumbersAreExact) {
  state().counters.Add(Counter::kReadBytes, 123'456'789'012'345);
  const std::string metrics = MetricsText(state());
  const size_t at = metrics.find("\nkvpagefs_read_bytes_total ");
  ASSERT_NE(at, std::string::npos);
  EXPECT_EQ(std::stod(metrics.substr(at + 27)), 123'456'789'012'345.0);
}

TEST_F(ReportTest, NodesTextHasAHeadingAndThisNode) {
  const std::string text = NodesText(state());
  EXPECT_THAT(text, HasSubstr("name state memory_used_bytes memory_capacity_bytes\nnode-a serving 0 4194304\n"));
}

TEST_F(ReportTest, EventsAndConfigAreTheNodesOwn) {
  state().events.Add(0, "publish", {kRootDir, "a"}, 1);
  EXPECT_THAT(EventsText(state()), HasSubstr(" publish 1 1 a\n"));
  EXPECT_EQ(NodeConfigText(state()), ConfigText(options_));
}

}  // namespace
}  // namespace kvpagefs
