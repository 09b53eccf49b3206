// fs/spiller.h in a node; W1 to W4 are its invariants.
#include "fs/spiller.h"

#include <gtest/gtest.h>

#include "ssd_node_fixture.h"

namespace kvpagefs {
namespace {

class SpillerTest : public SsdNodeTest {
 protected:
  bool IsDirty(PageId id) {
    const Result<PageUse> use = state().tier->Use(id);
    return use.ok() && use->dirty;
  }
};

TEST_F(SpillerTest, OnEvictLeavesPagesDirtyUntilSomebodyNeedsThem) {
  const PageInfo page = PublishDirty("a", "bytes");
  EXPECT_TRUE(IsDirty(page.id));
  EXPECT_FALSE(tiering().OnSsd(page.id));
  EXPECT_EQ(tiering().spill_stats().queued_pages, 1u);
  ASSERT_TRUE(MakeDurable(page.id).ok());
  EXPECT_TRUE(tiering().OnSsd(page.id));
  EXPECT_FALSE(IsDirty(page.id)) << "W4";
  EXPECT_TRUE(MakeDurable(page.id).ok()) << "and again";
}

TEST_F(SpillerTest, AllOfThem) {
  std::vector<PageInfo> pages;
  for (int i = 0; i < 20; ++i) pages.push_back(PublishDirty("p" + std::to_string(i), std::string(10'000, 'x')));
  Answered<Status> answer;
  tiering().Sync(answer.Taker());
  ASSERT_TRUE(answer.Take().ok());
  for (const PageInfo& page : pages) {
    EXPECT_TRUE(tiering().OnSsd(page.id));
    EXPECT_FALSE(IsDirty(page.id));
  }
}

TEST_F(SpillerTest, WhatIsNowhereIsNotFound) {
  EXPECT_EQ(MakeDurable(PageId::Make(1, 12345)).code(), ErrorCode::kNotFound);
  const PageInfo page = PublishDirty("a", "bytes");
  ASSERT_TRUE(state().tier->Remove(page.id).ok());
  EXPECT_EQ(MakeDurable(page.id).code(), ErrorCode::kNotFound);
}

TEST_F(SpillerTest, RemovedPagesLeaveTheSsd) {
  const PageInfo page = PublishCold("a", "bytes");
  tiering().Remove(page.id);
  EXPECT_FALSE(tiering().OnSsd(page.id)) << "W3";
}

TEST_F(SpillerTest, GivenUpPagesMayBeEvicted) {
  const PageInfo first = PublishDirty("a", std::string(5'000, 'x'));
  const PageInfo second = PublishDirty("b", std::string(5'000, 'y'));
  tiering().GiveUp(1);
  EXPECT_FALSE(IsDirty(first.id)) << "the oldest";
  EXPECT_TRUE(IsDirty(second.id));
  EXPECT_EQ(Count(Counter::kSpillsGivenUp), 1u);
  tiering().GiveUp(UINT64_MAX);
  EXPECT_FALSE(IsDirty(second.id));
  EXPECT_EQ(Count(Counter::kSpillsGivenUp), 2u);
}

TEST_F(SpillerTest, AStopWritesTheRestAndThenAnswersAtOnce) {
  const PageInfo page = PublishDirty("a", "bytes");
  tiering().Stop();
  EXPECT_TRUE(tiering().OnSsd(page.id));
  EXPECT_TRUE(MakeDurable(page.id).ok());
  EXPECT_EQ(MakeDurable(PageId::Make(1, 12345)).code(), ErrorCode::kUnavailable) << "W1";
}

}  // namespace
}  // namespace kvpagefs
