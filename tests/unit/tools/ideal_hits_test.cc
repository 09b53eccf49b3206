#include "tools/ideal_hits.h"

#include <sys/stat.h>

#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/trace_workload.h"

namespace kvpagefs {
namespace {

using ::testing::ElementsAre;

Workload Traced(const std::vector<std::vector<uint64_t>>& requests) {
  std::vector<TraceRequest> trace;
  for (const auto& ids : requests) {
    trace.emplace_back();
    trace.back().block_ids = ids;
  }
  return MakeTraceWorkload(trace, "m", 4096);
}

TEST(IdealHits, LeadingRunOfEarlierRequests) {
  const Workload workload = Traced({{0, 1, 2}, {0, 1, 3}, {4, 0, 1}, {}, {0, 1, 3, 9}, {0, 1, 3, 9}});
  const IdealHits ideal = ComputeIdealHits(workload, StoredBefore::kEarlierRequests);
  EXPECT_THAT(ideal.per_request, ElementsAre(0, 2, 0, 0, 3, 4));
  EXPECT_EQ(ideal.hits, 9u);
  EXPECT_EQ(ideal.lookups, 17u);
}

TEST(IdealHits, ARequestIsNoHitForItself) {
  const IdealHits ideal = ComputeIdealHits(Traced({{7, 7}}), StoredBefore::kEarlierRequests);
  EXPECT_EQ(ideal.hits, 0u);
}

TEST(IdealHits, EverythingStoredBefore) {
  const IdealHits ideal = ComputeIdealHits(Traced({{0, 1}, {2}}), StoredBefore::kEverything);
  EXPECT_THAT(ideal.per_request, ElementsAre(2, 1));
}

TEST(IdealHits, PagesBehindThePromptAreStoredButNotLookedUp) {
  Workload workload;
  workload.pages.resize(3);
  workload.requests = {{.pages = {0, 1}, .prompt_pages = 1}, {.pages = {0, 1, 2}, .prompt_pages = 3}};
  const IdealHits ideal = ComputeIdealHits(workload, StoredBefore::kEarlierRequests);
  EXPECT_THAT(ideal.per_request, ElementsAre(0, 2));
  EXPECT_EQ(ideal.lookups, 4u);
}

TEST(IdealHits, WholeConversationTrace) {
  const char* const path = std::getenv("KVPAGEFS_TRACE");
  struct stat status{};
  if (path == nullptr || ::stat(path, &status) != 0) {
    GTEST_SKIP() << "SKIPPED: KVPAGEFS_TRACE does not name Mooncake's FAST25 conversation_trace.jsonl; the ideal hit "
                    "rate of the whole trace is not checked";
  }
  const auto requests = ReadTrace(path, ~uint64_t{0});
  ASSERT_TRUE(requests.ok()) << requests.error().Describe();
  const Workload workload = MakeTraceWorkload(*requests, "m", 4096);
  EXPECT_EQ(workload.requests.size(), 12'031u);
  EXPECT_EQ(workload.pages.size(), 182'790u);
  const IdealHits ideal = ComputeIdealHits(workload, StoredBefore::kEarlierRequests);
  EXPECT_EQ(ideal.lookups, 288'500u);
  EXPECT_NEAR(100.0 * static_cast<double>(ideal.hits) / static_cast<double>(ideal.lookups), 36.64, 0.005);
}

}  // namespace
}  // namespace kvpagefs
