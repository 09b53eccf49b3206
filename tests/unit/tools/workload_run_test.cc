#include "tools/workload_run.h"

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tools/conversation_workload.h"
#include "tools/page_name.h"
#include "tools/workload_report.h"
#include "unit/tools/temporary_directory.h"

namespace kvpagefs {
namespace {

using ::testing::HasSubstr;

class WorkloadRunTest : public ::testing::Test {
 protected:
  static Workload SmallConversation() {
    ConversationShape shape;
    shape.model = *FindModel("deepseek-v3");
    shape.page_tokens = 4;
    shape.scale = 0.02;
    shape.clients = 2;
    return MakeConversation(shape);
  }
  Result<WorkloadOutcome> Run(WorkloadRole role, bool reader_process = true) {
    Progress silent(false);
    return RunWorkload(workload_, Options(role, reader_process), silent);
  }
  WorkloadRunOptions Options(WorkloadRole role, bool reader_process = true) const {
    return {.role = role, .directory = directory_.path(), .reader_process = reader_process, .remove_pages = false};
  }
  std::string PathOf(uint32_t page) const {
    return directory_.path() + '/' + PageFileName(workload_.pages[page], workload_.model);
  }

  const Workload workload_ = SmallConversation();
  TemporaryDirectory directory_;
};

TEST_F(WorkloadRunTest, WriteThenReadServesEverything) {
  const auto written = Run(WorkloadRole::kWrite);
  ASSERT_TRUE(written.ok()) << written.error().Describe();
  EXPECT_EQ(written->writer->stored_pages, workload_.pages.size());
  EXPECT_EQ(directory_.EntryCount(), workload_.pages.size());
  const auto read = Run(WorkloadRole::kRead);
  ASSERT_TRUE(read.ok()) << read.error().Describe();
  EXPECT_EQ(read->hits, read->ideal->lookups);
  EXPECT_TRUE(CheckHits(workload_, *read).ok());
}

TEST_F(WorkloadRunTest, TwoProcessesReachTheIdealAlsoWhenRunAgain) {
  for (int repetition = 0; repetition < 2; ++repetition) {
    const auto outcome = Run(WorkloadRole::kRun);
    ASSERT_TRUE(outcome.ok()) << outcome.error().Describe();
    EXPECT_GT(outcome->hits, 0u);
    EXPECT_LT(outcome->hits, outcome->ideal->lookups);
    EXPECT_EQ(outcome->hits, outcome->ideal->hits);
    EXPECT_NE(outcome->reader_pid, outcome->writer_pid);
    EXPECT_EQ(outcome->writer_pid, ::getpid());
    EXPECT_EQ(outcome->replaced_pages, repetition == 0 ? 0 : workload_.pages.size());
    EXPECT_EQ(outcome->reader->load_ns.size(), outcome->hits);
    EXPECT_TRUE(CheckHits(workload_, *outcome).ok());
  }
}

TEST_F(WorkloadRunTest, OneProcessServesTheSameHits) {
  const auto outcome = Run(WorkloadRole::kRun, false);
  ASSERT_TRUE(outcome.ok()) << outcome.error().Describe();
  EXPECT_EQ(outcome->reader_pid, outcome->writer_pid);
  EXPECT_EQ(outcome->FirstDifference(), std::nullopt);
}

TEST_F(WorkloadRunTest, RemovesOnlyItsOwnPages) {
  std::ofstream(directory_.path() + "/mine.bin") << "x";
  Progress silent(false);
  WorkloadRunOptions options = Options(WorkloadRole::kRun);
  options.remove_pages = true;
  ASSERT_TRUE(RunWorkload(workload_, options, silent).ok());
  EXPECT_EQ(directory_.EntryCount(), 1u);
}

TEST_F(WorkloadRunTest, AMissingPageIsADifference) {
  ASSERT_TRUE(Run(WorkloadRole::kWrite).ok());
  std::filesystem::remove(PathOf(workload_.requests[0].pages[3]));
  const auto read = Run(WorkloadRole::kRead);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->reader->hits_per_request[0], 3u);
  EXPECT_EQ(read->FirstDifference(), 0u);
  const Status equal = CheckHits(workload_, *read);
  ASSERT_FALSE(equal.ok());
  EXPECT_THAT(equal.error().text(), HasSubstr("request 0, 3 instead of"));
  EXPECT_THAT(FormatReport(workload_, Options(WorkloadRole::kRead), *read), HasSubstr("DIFFERENT"));
}

TEST_F(WorkloadRunTest, AWrongByteEndsTheRun) {
  ASSERT_TRUE(Run(WorkloadRole::kWrite).ok());
  const std::string path = PathOf(workload_.requests[0].pages[2]);
  {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(77);
    const int old = file.get();
    file.seekp(77);
    file.put(static_cast<char>(old ^ 1));
  }
  const auto read = Run(WorkloadRole::kRead);
  ASSERT_FALSE(read.ok());
  EXPECT_THAT(read.error().text(), ::testing::AllOf(HasSubstr(path), HasSubstr("wrong byte at offset 77")));
}

TEST_F(WorkloadRunTest, ATruncatedPageEndsTheRun) {
  ASSERT_TRUE(Run(WorkloadRole::kWrite).ok());
  std::filesystem::resize_file(PathOf(workload_.requests[0].pages[0]), 5);
  const auto read = Run(WorkloadRole::kRead);
  ASSERT_FALSE(read.ok());
  EXPECT_THAT(read.error().text(), HasSubstr("has 5 bytes instead of"));
}

TEST_F(WorkloadRunTest, ReportsAsTextAndJson) {
  const auto outcome = Run(WorkloadRole::kRun);
  ASSERT_TRUE(outcome.ok());
  const std::string text = FormatReport(workload_, Options(WorkloadRole::kRun), *outcome);
  EXPECT_THAT(text, ::testing::AllOf(HasSubstr("seed 1"), HasSubstr(": equal"), HasSubstr("MiB/s")));
  const auto json = ReportAsJson(workload_, Options(WorkloadRole::kRun), *outcome);
  EXPECT_EQ(json["hits"], json["ideal_hits"]);
  EXPECT_EQ(json["equal"], true);
  EXPECT_EQ(json["writer"]["pages"], workload_.pages.size());
  EXPECT_EQ(json["reader"]["load"]["count"], outcome->hits);
}

}  // namespace
}  // namespace kvpagefs
