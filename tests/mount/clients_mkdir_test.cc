// mkdir -p of 4096 x 256 directories by racing processes (vLLM, llm-d). KVPAGEFS_FANOUT: how many of the 4096 to make.
#include <sys/stat.h>

#include <cinttypes>

#include "tests/mount/harness/mount_test.h"
#include "tests/mount/harness/page_content.h"

namespace kvpagefs::mount_test {
namespace {

constexpr uint64_t kOuter = 4096;
constexpr uint64_t kInner = 256;
constexpr uint64_t kPlainOuter = 64;
constexpr uint64_t kSanitizerOuter = 64;
constexpr uint64_t kProcesses = 4;
constexpr uint64_t kShared = 8;

std::string OuterName(uint64_t number) {
  char text[32];
  snprintf(text, sizeof(text), "%03" PRIx64, number);
  return text;
}

std::string InnerName(uint64_t number) {
  char text[32];
  snprintf(text, sizeof(text), "%02" PRIx64 "_g0", number);
  return text;
}

// As `mkdir -p`: EEXIST is fine for what another process made.
int64_t MakeDir(const std::string& path, uint64_t* made) {
  const int64_t outcome = Sys(mkdir(path.c_str(), 0755));
  *made += outcome == 0 ? 1 : 0;
  return outcome == -EEXIST ? 0 : outcome;
}

// Every process takes its share of the outer directories, and all of them race for each kShared-th.
std::string MakeShare(const std::string& top, uint64_t process, uint64_t outer) {
  uint64_t made = 0;
  for (uint64_t i = 0; i < outer; ++i) {
    if (i % kProcesses != process && i % kShared != 0) continue;
    const std::string dir = top + "/" + OuterName(i);
    if (const int64_t outcome = MakeDir(dir, &made); outcome != 0) return "mkdir " + dir + ": " + Value(outcome);
    for (uint64_t j = 0; j < kInner; ++j) {
      const std::string path = dir + "/" + InnerName(j);
      if (const int64_t outcome = MakeDir(path, &made); outcome != 0) return "mkdir " + path + ": " + Value(outcome);
    }
  }
  return "ok " + std::to_string(made);
}

class Fanout : public NodeTest {};

TEST_F(Fanout, RacingMkdirOfAllDirectories) {
  StartNode({.memory = "128MiB", .source = "", .arguments = {}, .mount_point = "", .max_open_files = 0});
  KVP_RETURN_IF_NOT_RUNNING();
  const uint64_t usual = test_options_.plain ? kPlainOuter : IsSanitizerBuild() ? kSanitizerOuter : kOuter;
  const uint64_t outer = std::min(kOuter, EnvNumber("KVPAGEFS_FANOUT", usual));
  const std::string top = Path("Llama-3.1-8B_0123456789ab_r0");
  ASSERT_EQ(mkdir(top.c_str(), 0755), 0);
  const Stopwatch watch;
  std::vector<Peer> peers;
  for (uint64_t process = 0; process < kProcesses; ++process) {
    peers.emplace_back([=](const std::string&) { return MakeShare(top, process, outer); });
  }
  for (Peer& peer : peers) peer.Send("go");
  uint64_t made = 0;
  for (Peer& peer : peers) {
    const std::string answer = peer.Receive();
    ASSERT_TRUE(answer.starts_with("ok ")) << answer;
    made += std::stoull(answer.substr(3));
  }
  printf("%" PRIu64 " x %" PRIu64 " directories in %.1f s%s\n", outer, kInner, watch.seconds(),
         outer < kOuter ? " (fewer than 4096: plain directory, sanitizer build or KVPAGEFS_FANOUT)" : "");
  EXPECT_EQ(made, outer * (kInner + 1)) << "each directory is made by exactly one process";
  EXPECT_EQ(List(top).size(), outer);
  for (uint64_t i = 0; i < outer; i += 61) EXPECT_EQ(List(top + "/" + OuterName(i)).size(), kInner) << i;
  const std::string page = top + "/" + OuterName(outer - 1) + "/" + InnerName(kInner - 1) + "/" + std::string(64, 'a');
  EXPECT_EQ(WriteFile(page + ".bin", MakePage(1, 1, 100000)), 0);
  EXPECT_EQ(CheckPage(1, Contents(page + ".bin")), "");
}

}  // namespace
}  // namespace kvpagefs::mount_test
