// Dirty pages (their only copy is here and another is wanted) and pages that come from another tier.
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "spill/memory_tier.h"
#include "unit/spill/tier_fixture.h"

namespace kvpagefs {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Copy = MemoryTier::Copy;
using Welcome = MemoryTier::Welcome;

constexpr uint64_t kPage = 100 * kBlockBytes;  // ten fit, besides the header block

class MemoryTierDirtyTest : public TierTest {
 protected:
  void AddDirty(uint64_t id, uint64_t bytes = kPage, Pin pin = Pin::kNone) {
    std::unique_ptr<Draft> draft = tier_->NewDraft();
    ASSERT_TRUE(draft->Write(0, Pattern(bytes, id)).ok());
    ASSERT_TRUE(tier_->Seal(Id(id), draft, pin, Copy::kDirty).ok());
  }
  // As a tier below would do it: the bytes are put into the blocks by somebody else.
  Result<PageHold> Bring(uint64_t id, uint64_t bytes, Welcome welcome) {
    std::unique_ptr<Draft> draft = tier_->NewDraft();
    std::vector<iovec> blocks;
    if (Status prepared = draft->Prepare(bytes, &blocks); !prepared) return prepared.error();
    const auto content = Pattern(bytes, id);
    uint64_t at = 0;
    for (const iovec& block : blocks) {
      EXPECT_EQ(block.iov_len % kBlockBytes, 0u);
      std::memset(block.iov_base, 0xEE, block.iov_len);
      if (at < bytes) std::memcpy(block.iov_base, &content[at], std::min<uint64_t>(block.iov_len, bytes - at));
      at += block.iov_len;
    }
    EXPECT_EQ(at, BlocksFor(bytes) * kBlockBytes);
    return tier_->Adopt({.id = Id(id), .checksum = Checksum(content), .pin = Pin::kNone, .welcome = welcome}, draft);
  }
};

TEST_F(MemoryTierDirtyTest, DirtyPagesAreNotEvicted) {
  AddDirty(1);
  for (uint64_t i = 2; i <= 20; ++i) Add(i, kPage);
  EXPECT_TRUE(tier_->Use(Id(1)).ok());
  EXPECT_TRUE(tier_->Use(Id(1))->dirty);
  EXPECT_EQ(tier_->GetStats().dirty_bytes, kPage);
  Check();
  tier_->MarkClean(Id(1));
  EXPECT_FALSE(tier_->Use(Id(1))->dirty);
  EXPECT_EQ(tier_->GetStats().dirty_bytes, 0u);
  tier_->MarkClean(Id(1));
  tier_->MarkClean(Id(99));
  Check();
}

TEST_F(MemoryTierDirtyTest, CleaningMakesTheRoomThatSomebodyWaitsFor) {
  for (uint64_t i = 1; i <= 10; ++i) AddDirty(i);
  std::unique_ptr<Draft> draft = tier_->NewDraft();
  ASSERT_EQ(draft->Write(0, Pattern(kPage, 11)).code(), ErrorCode::kNoSpace);
  EXPECT_TRUE(tier_->WaitForSpace(kPage));
  EXPECT_EQ(listener_.space_freed(), 0);
  tier_->MarkClean(Id(4));
  EXPECT_EQ(listener_.space_freed(), 1);
  EXPECT_TRUE(draft->Write(0, Pattern(kPage, 11)).ok());
  EXPECT_THAT(listener_.TakeEvicted(), ElementsAre(4u));
  Check();
}

TEST_F(MemoryTierDirtyTest, HeldAndRemovedWhileDirty) {
  AddDirty(1);
  AddDirty(2);
  {
    Result<PageHold> hold = tier_->Hold(Id(1), Touch::kRead, 1);
    ASSERT_TRUE(hold.ok());
    tier_->MarkClean(Id(1));
    Check();
  }
  {
    Result<PageHold> hold = tier_->Hold(Id(2), Touch::kRead, 1);
    ASSERT_TRUE(tier_->Remove(Id(2)).ok());
    tier_->MarkClean(Id(2));
    Check();
  }
  EXPECT_EQ(tier_->GetStats().dirty_bytes, 0u);
  EXPECT_EQ(tier_->GetStats().evictable_bytes, kPage);
  Check();
}

TEST_F(MemoryTierDirtyTest, PinsOfDirtyPages) {
  AddDirty(1, kPage, Pin::kHard);
  AddDirty(2);
  ASSERT_TRUE(tier_->SetPin(Id(2), Pin::kSoft).ok());
  EXPECT_EQ(tier_->GetStats().pinned_bytes, kPage);
  EXPECT_EQ(tier_->GetStats().dirty_bytes, kPage);
  ASSERT_TRUE(tier_->SetPin(Id(1), Pin::kNone).ok());
  EXPECT_EQ(tier_->GetStats().dirty_bytes, 2 * kPage);
  tier_->MarkClean(Id(2));
  tier_->MarkClean(Id(1));
  EXPECT_EQ(tier_->GetStats().evictable_bytes, 2 * kPage);
  Check();
}

TEST_F(MemoryTierDirtyTest, ABroughtPageHasItsBytesAndZerosBehindThem) {
  const Result<PageHold> hold = Bring(3, 5'000, Welcome::kFresh);
  ASSERT_TRUE(hold.ok());
  EXPECT_EQ(hold->bytes(), 5'000u);
  EXPECT_EQ(hold->checksum(), Checksum(Pattern(5'000, 3)));
  std::vector<iovec> blocks;
  hold->Blocks(&blocks);
  ASSERT_EQ(blocks.size(), 1u);
  ASSERT_EQ(blocks[0].iov_len, 8'192u);
  EXPECT_EQ(std::memcmp(blocks[0].iov_base, Pattern(5'000, 3).data(), 5'000), 0);
  const auto* bytes = static_cast<const unsigned char*>(blocks[0].iov_base);
  for (size_t i = 5'000; i < 8'192; ++i) ASSERT_EQ(bytes[i], 0) << i;
  EXPECT_FALSE(tier_->Use(Id(3))->dirty);
  Check();
}

TEST_F(MemoryTierDirtyTest, TheFirstToGoGoesFirst) {
  for (uint64_t i = 1; i <= 9; ++i) Add(i, kPage);
  {
    ASSERT_TRUE(Bring(50, kPage, Welcome::kFirstToGo).ok());
  }
  EXPECT_THAT(listener_.TakeEvicted(), IsEmpty());
  Add(51, kPage);
  EXPECT_THAT(listener_.TakeEvicted(), ElementsAre(50u));
  // Read again, it has its place like any other.
  {
    ASSERT_TRUE(Bring(52, kPage, Welcome::kFirstToGo).ok());
  }
  EXPECT_THAT(listener_.TakeEvicted(), ElementsAre(1u));
  {
    ASSERT_TRUE(tier_->Hold(Id(52), Touch::kRead, 1).ok());
  }
  Add(53, kPage);
  EXPECT_THAT(listener_.TakeEvicted(), ElementsAre(2u));
  Check();
}

TEST_F(MemoryTierDirtyTest, PrepareTooMuch) {
  std::unique_ptr<Draft> draft = tier_->NewDraft();
  std::vector<iovec> blocks;
  EXPECT_EQ(draft->Prepare(kCapacity * 2, &blocks).code(), ErrorCode::kNoSpace);
  EXPECT_EQ(draft->Prepare(UINT64_MAX, &blocks).code(), ErrorCode::kTooLarge);
  EXPECT_THAT(blocks, IsEmpty());
  EXPECT_TRUE(draft->Prepare(0, &blocks).ok());
  EXPECT_THAT(blocks, IsEmpty());
}

}  // namespace
}  // namespace kvpagefs
