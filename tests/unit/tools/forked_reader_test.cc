#include "tools/forked_reader.h"

#include <signal.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/tools/temporary_directory.h"

namespace kvpagefs {
namespace {

Workload OnePage() {
  Workload workload;
  workload.model = "m";
  workload.page_bytes = 100;
  workload.pages.resize(1);
  workload.requests = {{.pages = {0}, .prompt_pages = 1}};
  return workload;
}

TEST(ForkedReader, AnswersMissesAndStatistics) {
  const TemporaryDirectory directory;
  const Workload workload = OnePage();
  auto reader = ForkedReader::Start(workload, directory.path());
  ASSERT_TRUE(reader.ok());
  EXPECT_NE((*reader)->ProcessId(), ::getpid());
  EXPECT_EQ(*(*reader)->Serve(0), 0u);
  const auto stats = (*reader)->Finish();
  ASSERT_TRUE(stats.ok());
  EXPECT_THAT(stats->hits_per_request, ::testing::ElementsAre(0));
  EXPECT_EQ(stats->lookup_ns.size(), 1u);
}

TEST(ForkedReader, ErrorsCrossTheProcessBorder) {
  const Workload workload = OnePage();
  auto reader = ForkedReader::Start(workload, "/dev/null");
  ASSERT_TRUE(reader.ok());
  const auto hits = (*reader)->Serve(0);
  ASSERT_FALSE(hits.ok());
  EXPECT_EQ(hits.code(), ErrorCode::kNotDirectory);
  EXPECT_THAT(hits.error().text(), ::testing::HasSubstr("/dev/null/"));
}

TEST(ForkedReader, ADeadReaderIsAnError) {
  const TemporaryDirectory directory;
  const Workload workload = OnePage();
  auto reader = ForkedReader::Start(workload, directory.path());
  ASSERT_TRUE(reader.ok());
  ASSERT_EQ(::kill((*reader)->ProcessId(), SIGKILL), 0);
  EXPECT_FALSE((*reader)->Serve(0).ok());
  EXPECT_FALSE((*reader)->Finish().ok());
}

}  // namespace
}  // namespace kvpagefs
