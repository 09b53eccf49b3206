#include "tools/trace_workload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kvpagefs {
namespace {

TEST(TraceWorkload, OnePageForEachBlockId) {
  std::vector<TraceRequest> trace(2);
  trace[0].block_ids = {9, 5};
  trace[1].block_ids = {9, 6};
  const Workload workload = MakeTraceWorkload(trace, "m", 65536);
  EXPECT_EQ(workload.pages.size(), 3u);
  EXPECT_THAT(workload.requests[0].pages, ::testing::ElementsAre(0, 1));
  EXPECT_THAT(workload.requests[1].pages, ::testing::ElementsAre(0, 2));
  EXPECT_EQ(workload.requests[1].prompt_pages, 2u);
  EXPECT_EQ(workload.total_bytes(), 3u * 65536);
  EXPECT_EQ(workload.pages[0], BlockKey(9));
}

// python3 -c 'import hashlib,struct; print(hashlib.sha256(struct.pack("<Q", 182789)).hexdigest())'
TEST(TraceWorkload, BlockKeyIsSha256OfTheId) {
  EXPECT_EQ(ToHex(BlockKey(182789)), "e63b9bbacc25cbb304f6e4bd3085e98d64d4928540cec2b01fdae49013ae5d44");
}

}  // namespace
}  // namespace kvpagefs
