#include <gtest/gtest.h>

#include "unit/spill/tier_fixture.h"

namespace kvpagefs {
namespace {

class PageHoldTest : public TierTest {};

TEST_F(PageHoldTest, MovesAndClones) {
  Result<PageHold> put = Put(1, 5'000);
  ASSERT_TRUE(put.ok());
  PageHold a = std::move(*put);
  EXPECT_TRUE(a);
  EXPECT_EQ(a.id(), Id(1));
  PageHold b = a.Clone();
  EXPECT_EQ(tier_->Use(Id(1))->holds, 2u);
  PageHold c;
  EXPECT_FALSE(c);
  c = std::move(a);
  EXPECT_FALSE(a);  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(tier_->GetStats().holds, 2u);
  c = std::move(b);
  EXPECT_EQ(tier_->GetStats().holds, 1u);
  c = PageHold();
  EXPECT_EQ(tier_->GetStats().holds, 0u);
  EXPECT_EQ(tier_->GetStats().held_bytes, 0u);
}

TEST_F(PageHoldTest, ReadIsCutAtTheEnd) {
  const Result<PageHold> hold = Put(1, 10'000);
  const Bytes all = Pattern(10'000, 1);
  EXPECT_EQ(Contents(*hold), all);
  EXPECT_EQ(Contents(*hold, 9'000, 5'000), Bytes(all.begin() + 9'000, all.end()));
  EXPECT_EQ(Contents(*hold, 1, 1), Bytes(all.begin() + 1, all.begin() + 2));
  EXPECT_TRUE(Contents(*hold, 10'000, 1).empty());
  EXPECT_TRUE(Contents(*hold, UINT64_MAX, UINT64_MAX).empty());
  EXPECT_TRUE(Contents(*hold, 5, 0).empty());
}

TEST_F(PageHoldTest, ReadAppends) {
  const Result<PageHold> hold = Put(1, 100);
  std::vector<iovec> pieces(1);
  EXPECT_EQ(hold->Read(0, 100, &pieces), 100u);
  EXPECT_EQ(pieces.size(), 2u);
}

TEST_F(PageHoldTest, KeepsTheBytesOfARemovedPage) {
  Result<PageHold> hold = Put(1, 100'000);
  ASSERT_TRUE(tier_->Remove(Id(1)).ok());
  EXPECT_FALSE(Has(1));
  EXPECT_EQ(tier_->GetStats().held_bytes, 25u * kBlockBytes);
  Check();
  EXPECT_TRUE(tier_->NewDraft()->Reserve(tier_->GetStats().free_bytes).ok());
  PageHold second = hold->Clone();
  *hold = PageHold();
  EXPECT_EQ(Contents(second), Pattern(100'000, 1));
  second = PageHold();
  EXPECT_EQ(tier_->GetStats().held_bytes, 0u);
  EXPECT_EQ(tier_->GetStats().free_bytes, kCapacity - kBlockBytes);
}

// A new version of a page takes the id's place only under a new id; the old one stays readable.
TEST_F(PageHoldTest, KeepsTheBytesWhileEverythingElseIsEvicted) {
  const Result<PageHold> hold = Put(1, 100'000);
  for (uint64_t i = 2; i < 500; ++i) Add(i, 50'000);
  EXPECT_TRUE(Has(1));
  EXPECT_EQ(Contents(*hold), Pattern(100'000, 1));
}

}  // namespace
}  // namespace kvpagefs
