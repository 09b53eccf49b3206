#include "spill/memory_tier.h"

#include <gtest/gtest.h>

#include "spill/page_header.h"
#include "unit/spill/tier_fixture.h"

namespace kvpagefs {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr uint64_t kPage = 100 * kBlockBytes;  // ten fit, besides the header block

class MemoryTierTest : public TierTest {};

TEST_F(MemoryTierTest, WatermarksAreChecked) {
  for (const auto& [low, high] : {std::pair{0.0, 0.5}, {0.6, 0.5}, {0.5, 1.01}, {-1.0, 0.5}}) {
    Result<Segment> segment = Segment::Map({.bytes = kCapacity});
    ASSERT_TRUE(segment.ok());
    const MemoryTier::Options options{.high_watermark = high, .low_watermark = low};
    const auto tier = MemoryTier::Create(std::move(*segment), options, &clock_, nullptr);
    ASSERT_FALSE(tier.ok());
    EXPECT_EQ(tier.code(), ErrorCode::kInvalid);
  }
}

TEST_F(MemoryTierTest, UnknownIds) {
  EXPECT_EQ(tier_->Hold(Id(1), Touch::kRead, 1).code(), ErrorCode::kNotFound);
  EXPECT_EQ(tier_->Use(Id(1)).code(), ErrorCode::kNotFound);
  EXPECT_EQ(tier_->SetPin(Id(1), Pin::kHard).code(), ErrorCode::kNotFound);
  EXPECT_EQ(tier_->SetLastRead(Id(1), 1).code(), ErrorCode::kNotFound);
  EXPECT_EQ(tier_->Remove(Id(1)).code(), ErrorCode::kNotFound);
}

TEST_F(MemoryTierTest, HeaderOfASealedPageIsInTheSegment) {
  const Result<PageHold> hold = Put(7, 5'000);
  int found = 0;
  for (uint64_t at = 0; at < kCapacity; at += 128) {
    PageHeader header;
    std::memcpy(&header, tier_->segment().base() + at, sizeof(header));
    if (!ValidateHeader(header)) continue;
    ++found;
    EXPECT_EQ(header.page_id, Id(7).value);
    EXPECT_EQ(header.bytes, 5'000u);
    EXPECT_EQ(header.checksum, Checksum(Pattern(5'000, 7)));
    EXPECT_EQ(std::memcmp(tier_->segment().base() + uint64_t{header.extents[0].first} * kBlockBytes,
                          Pattern(5'000, 7).data(), 5'000),
              0);
  }
  EXPECT_EQ(found, 1);
}

TEST_F(MemoryTierTest, UseTellsWhatIsKnown) {
  clock_.Advance(1000);
  Add(1, 5'000, Pin::kSoft);
  PageUse use = *tier_->Use(Id(1));
  EXPECT_EQ(use.bytes, 5'000u);
  EXPECT_EQ(use.resident_bytes, 8'192u);
  EXPECT_EQ(use.checksum, Checksum(Pattern(5'000, 1)));
  EXPECT_EQ(use.reads, 0u);
  EXPECT_EQ(use.last_read_ns, 0);
  EXPECT_EQ(use.pin, Pin::kSoft);
  const Result<PageHold> looked = tier_->Hold(Id(1), Touch::kNone, 41);
  EXPECT_EQ(tier_->Use(Id(1))->reads, 0u);
  EXPECT_EQ(tier_->Use(Id(1))->last_reader, 0u);
  clock_.Advance(1000);
  const Result<PageHold> read = tier_->Hold(Id(1), Touch::kRead, 42);
  clock_.Advance(1000);
  use = *tier_->Use(Id(1));
  EXPECT_EQ(use.reads, 1u);
  EXPECT_EQ(use.last_reader, 42u);
  EXPECT_EQ(use.last_read_ns, clock_.WallNs() - 1000);
  EXPECT_EQ(use.holds, 2u);
}

TEST_F(MemoryTierTest, UnreadPagesGoInTheOrderTheyCameAndNoMoreThanNeeded) {
  for (uint64_t i = 1; i <= 10; ++i) Add(i, kPage);
  EXPECT_THAT(listener_.TakeEvicted(), IsEmpty());
  Add(11, kPage);
  EXPECT_THAT(listener_.TakeEvicted(), ElementsAre(1));
  Add(12, 2 * kPage);
  EXPECT_THAT(listener_.TakeEvicted(), ElementsAre(2, 3));
  EXPECT_FALSE(Has(1));
  EXPECT_TRUE(Has(4));
  EXPECT_EQ(tier_->GetStats().evicted_pages, 3u);
  EXPECT_EQ(tier_->GetStats().evicted_bytes, 3 * kPage);
}

TEST_F(MemoryTierTest, ReadPagesGoInTheOrderOfTheirLastRead) {
  for (uint64_t i = 1; i <= 10; ++i) Add(i, kPage);
  for (const uint64_t i : {10, 3, 9, 1, 2, 8, 7, 6, 5, 4, 3}) Read(i);
  EXPECT_THAT(EvictAll(), ElementsAre(10, 9, 1, 2, 8, 7, 6, 5, 4, 3));
}

TEST_F(MemoryTierTest, LookingAtEverythingProtectsNothing) {
  for (uint64_t i = 1; i <= 10; ++i) Add(i, kPage);
  Read(2);
  for (const uint64_t i : {3, 2, 1, 10, 9, 8, 7, 6, 5, 4}) {
    EXPECT_TRUE(tier_->Use(Id(i)).ok());
    EXPECT_TRUE(tier_->Hold(Id(i), Touch::kNone).ok());
  }
  EXPECT_THAT(EvictAll(), ElementsAre(1, 3, 4, 5, 6, 7, 8, 9, 10, 2));
}

TEST_F(MemoryTierTest, AFloodOfWritesDoesNotPushOutWhatIsRead) {
  Add(1, kPage);
  Add(2, kPage);
  Read(1);
  Read(2);
  for (uint64_t i = 10; i < 100; ++i) Add(i, kPage);
  EXPECT_TRUE(Has(1));
  EXPECT_TRUE(Has(2));
}

TEST_F(MemoryTierTest, HeldPagesStayAndKeepTheirPlace) {
  for (uint64_t i = 1; i <= 10; ++i) Add(i, kPage);
  Result<PageHold> hold = tier_->Hold(Id(1), Touch::kNone);
  Add(11, kPage);
  EXPECT_THAT(listener_.TakeEvicted(), ElementsAre(2));
  EXPECT_TRUE(Has(1));
  *hold = PageHold();
  Add(12, kPage);
  EXPECT_THAT(listener_.TakeEvicted(), ElementsAre(1));
}

TEST_F(MemoryTierTest, SoftPinnedGoLastHardPinnedNever) {
  Add(1, kPage, Pin::kHard);
  Add(2, kPage, Pin::kSoft);
  for (uint64_t i = 3; i <= 10; ++i) Add(i, kPage);
  ASSERT_TRUE(tier_->SetPin(Id(5), Pin::kSoft).ok());
  ASSERT_TRUE(tier_->SetPin(Id(6), Pin::kHard).ok());
  ASSERT_TRUE(tier_->SetPin(Id(6), Pin::kHard).ok());
  EXPECT_EQ(tier_->GetStats().pinned_bytes, 2 * kPage);
  EXPECT_THAT(EvictAll(), ElementsAre(3, 4, 7, 8, 9, 10, 2, 5));
  ASSERT_TRUE(tier_->SetPin(Id(6), Pin::kNone).ok());
  EXPECT_THAT(EvictAll(), ElementsAre(6));
  EXPECT_TRUE(tier_->Remove(Id(1)).ok());
  EXPECT_EQ(tier_->GetStats().pinned_bytes, 0u);
}

TEST_F(MemoryTierTest, PinOfAHeldPageCountsWhenItIsLetGo) {
  Result<PageHold> hold = Put(1, kPage);
  ASSERT_TRUE(tier_->SetPin(Id(1), Pin::kHard).ok());
  EXPECT_EQ(tier_->GetStats().held_bytes, kPage);
  EXPECT_EQ(tier_->GetStats().pinned_bytes, 0u);
  *hold = PageHold();
  EXPECT_EQ(tier_->GetStats().pinned_bytes, kPage);
  EXPECT_THAT(EvictAll(), IsEmpty());
}

TEST_F(MemoryTierTest, NoSpaceWhenNothingMayGo) {
  for (uint64_t i = 1; i <= 5; ++i) Add(i, kPage, Pin::kHard);
  for (uint64_t i = 6; i <= 10; ++i) Add(i, kPage);
  // Six pages' worth will never come together, so nothing is evicted for it.
  EXPECT_EQ(Put(11, 6 * kPage).code(), ErrorCode::kNoSpace);
  EXPECT_THAT(listener_.TakeEvicted(), IsEmpty());
  EXPECT_EQ(tier_->GetStats().no_space_errors, 1u);
  EXPECT_FALSE(tier_->WaitForSpace(6 * kPage));
  for (uint64_t i = 6; i <= 10; ++i) ASSERT_TRUE(tier_->SetPin(Id(i), Pin::kHard).ok());
  EXPECT_EQ(Put(11, kPage).code(), ErrorCode::kNoSpace);
  EXPECT_FALSE(tier_->WaitForSpace(kPage));
  EXPECT_EQ(listener_.space_freed(), 0);
}

TEST_F(MemoryTierTest, WaitingForHeldPages) {
  std::vector<PageHold> holds;
  for (uint64_t i = 1; i <= 10; ++i) holds.push_back(std::move(*Put(i, kPage)));
  EXPECT_EQ(Put(11, kPage).code(), ErrorCode::kNoSpace);
  EXPECT_TRUE(tier_->WaitForSpace(kPage));
  EXPECT_EQ(listener_.space_freed(), 0);
  holds.pop_back();
  EXPECT_EQ(listener_.space_freed(), 1);
  holds.pop_back();
  EXPECT_EQ(listener_.space_freed(), 1);  // once
  Add(11, kPage);
  EXPECT_THAT(listener_.TakeEvicted(), ElementsAre(10));
}

TEST_F(MemoryTierTest, WaitingWhenTheSpaceIsBackAlready) {
  for (uint64_t i = 1; i <= 10; ++i) Add(i, kPage);
  EXPECT_TRUE(tier_->WaitForSpace(kPage));
  EXPECT_EQ(listener_.space_freed(), 1);
}

TEST_F(MemoryTierTest, WaitersHearOfRemovalUnpinningAndDraftsToo) {
  std::vector<PageHold> holds;
  for (uint64_t i = 1; i <= 8; ++i) holds.push_back(std::move(*Put(i, kPage)));
  Add(9, kPage, Pin::kHard);
  std::unique_ptr<Draft> draft = tier_->NewDraft();
  ASSERT_TRUE(draft->Reserve(tier_->GetStats().free_bytes).ok());
  EXPECT_TRUE(tier_->WaitForSpace(kPage));
  ASSERT_TRUE(tier_->SetPin(Id(9), Pin::kNone).ok());
  EXPECT_EQ(listener_.space_freed(), 1);
  ASSERT_TRUE(tier_->SetPin(Id(9), Pin::kHard).ok());
  EXPECT_TRUE(tier_->WaitForSpace(kPage));
  ASSERT_TRUE(tier_->Remove(Id(9)).ok());
  EXPECT_EQ(listener_.space_freed(), 2);
  EXPECT_TRUE(tier_->WaitForSpace(5 * kPage));
  draft.reset();
  EXPECT_EQ(listener_.space_freed(), 3);
}

TEST_F(MemoryTierTest, Watermarks) {
  MakeTier({.high_watermark = 0.8, .low_watermark = 0.5});
  for (uint64_t i = 1; i <= 8; ++i) Add(i, kPage);
  EXPECT_EQ(listener_.high_watermarks(), 0);
  Add(9, kPage);
  Add(10, kPage);
  EXPECT_EQ(listener_.high_watermarks(), 1);
  EXPECT_TRUE(tier_->AboveLow());
  EXPECT_EQ(tier_->EvictToLow(2), 2u);
  EXPECT_THAT(listener_.TakeEvicted(), ElementsAre(1, 2));
  EXPECT_EQ(tier_->EvictToLow(100), 3u);
  EXPECT_THAT(listener_.TakeEvicted(), ElementsAre(3, 4, 5));
  EXPECT_FALSE(tier_->AboveLow());
  EXPECT_EQ(tier_->EvictToLow(100), 0u);
  for (uint64_t i = 11; i <= 13; ++i) Add(i, kPage);
  EXPECT_EQ(listener_.high_watermarks(), 1);
  Add(14, kPage);
  EXPECT_EQ(listener_.high_watermarks(), 2);
}

TEST_F(MemoryTierTest, AboveLowIsFalseWhenNothingMayGo) {
  for (uint64_t i = 1; i <= 10; ++i) Add(i, kPage, Pin::kHard);
  EXPECT_FALSE(tier_->AboveLow());
  EXPECT_EQ(tier_->EvictToLow(100), 0u);
}

TEST_F(MemoryTierTest, SetLastRead) {
  for (uint64_t i = 1; i <= 10; ++i) Add(i, kPage);
  clock_.Advance(1000);
  ASSERT_TRUE(tier_->SetLastRead(Id(1), clock_.WallNs()).ok());
  ASSERT_TRUE(tier_->SetLastRead(Id(7), 0).ok());
  EXPECT_EQ(tier_->Use(Id(1))->last_read_ns, clock_.WallNs());
  EXPECT_EQ(tier_->Use(Id(1))->reads, 0u);
  EXPECT_THAT(EvictAll(), ElementsAre(7, 2, 3, 4, 5, 6, 8, 9, 10, 1));
}

TEST_F(MemoryTierTest, HeaderBlocksComeAndGo) {
  for (uint64_t i = 1; i <= 320; ++i) Add(i, 1);
  EXPECT_EQ(tier_->GetStats().header_bytes, 10u * kBlockBytes);
  for (uint64_t i = 1; i <= 320; ++i) ASSERT_TRUE(tier_->Remove(Id(i)).ok());
  EXPECT_EQ(tier_->GetStats().header_bytes, kBlockBytes);
  EXPECT_TRUE(tier_->NewDraft()->Reserve(kCapacity).ok());
  EXPECT_EQ(tier_->GetStats().header_bytes, 0u);
  EXPECT_EQ(tier_->GetStats().free_bytes, kCapacity);
  EXPECT_EQ(tier_->GetStats().free_extents, 1u);
}

// Pages without blocks make room only through their header blocks.
TEST_F(MemoryTierTest, ZeroSizePagesAreEvictedToo) {
  for (uint64_t i = 1; i <= 1000; ++i) Add(i, 0);
  EXPECT_EQ(tier_->GetStats().pages, 1000u);
  std::unique_ptr<Draft> draft = tier_->NewDraft();
  EXPECT_TRUE(draft->Reserve(kCapacity - 32 * kBlockBytes).ok());
  EXPECT_EQ(tier_->GetStats().pages, 1000u);
  EXPECT_TRUE(draft->Reserve(kCapacity - 31 * kBlockBytes).ok());
  EXPECT_EQ(tier_->GetStats().pages, 968u);
  EXPECT_TRUE(draft->Reserve(kCapacity).ok());
  EXPECT_EQ(tier_->GetStats().pages, 0u);
}

TEST_F(MemoryTierTest, ListenerMayBeNull) {
  Result<Segment> segment = Segment::Map({.bytes = kCapacity});
  auto tier = MemoryTier::Create(std::move(*segment), {}, &clock_, nullptr);
  ASSERT_TRUE(tier.ok());
  for (uint64_t i = 1; i <= 20; ++i) {
    std::unique_ptr<Draft> draft = (*tier)->NewDraft();
    ASSERT_TRUE(draft->Write(0, Pattern(kPage, i)).ok());
    ASSERT_TRUE((*tier)->Seal(Id(i), draft, Pin::kNone).ok());
  }
  EXPECT_EQ((*tier)->GetStats().evicted_pages, 10u);
}

}  // namespace
}  // namespace kvpagefs
