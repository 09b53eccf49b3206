// draft.cc and draft_state.cc
#include <gtest/gtest.h>

#include "unit/spill/tier_fixture.h"

namespace kvpagefs {
namespace {

class DraftTest : public TierTest {
 protected:
  // Seals, and expects these bytes under the right checksum.
  void ExpectSealed(std::unique_ptr<Draft> draft, const Bytes& expected) {
    EXPECT_EQ(Contents(*draft), expected);
    const Result<PageHold> hold = tier_->Seal(Id(++last_id_), draft, Pin::kNone);
    ASSERT_TRUE(hold.ok());
    EXPECT_EQ(draft, nullptr);
    EXPECT_EQ(hold->bytes(), expected.size());
    EXPECT_EQ(hold->checksum(), Checksum(expected));
    EXPECT_EQ(Contents(*hold), expected);
    Check();
  }
  // Leaves bytes that are not zero in the whole segment.
  void Dirty() {
    std::unique_ptr<Draft> draft = tier_->NewDraft();
    ASSERT_TRUE(draft->Write(0, Bytes(kCapacity, std::byte{0xEE})).ok());
  }
  uint64_t last_id_ = 0;
};

TEST_F(DraftTest, SequentialPieces) {
  const Bytes all = Pattern(1'000'001, 1);
  std::unique_ptr<Draft> draft = tier_->NewDraft();
  for (size_t at = 0, step = 1; at < all.size(); at += step, step = step * 3 % 70'001 + 1) {
    ASSERT_TRUE(draft->Write(at, std::span(all).subspan(at, std::min(step, all.size() - at))).ok());
  }
  EXPECT_EQ(draft->bytes(), all.size());
  ExpectSealed(std::move(draft), all);
}

TEST_F(DraftTest, BackwardPieces) {
  Dirty();
  const Bytes all = Pattern(300'000, 2);
  std::unique_ptr<Draft> draft = tier_->NewDraft();
  for (size_t end = all.size(); end > 0;) {
    const size_t begin = end > 7001 ? end - 7001 : 0;
    ASSERT_TRUE(draft->Write(begin, std::span(all).subspan(begin, end - begin)).ok());
    end = begin;
  }
  ExpectSealed(std::move(draft), all);
}

TEST_F(DraftTest, OverwritingHashedBytesChangesTheChecksum) {
  Bytes all = Pattern(200'000, 3);
  std::unique_ptr<Draft> draft = tier_->NewDraft();
  ASSERT_TRUE(draft->Write(0, all).ok());
  const Bytes patch = Pattern(10, 4);
  std::copy(patch.begin(), patch.end(), all.begin() + 100'000);
  ASSERT_TRUE(draft->Write(100'000, patch).ok());
  std::copy(patch.begin(), patch.end(), all.begin());
  ASSERT_TRUE(draft->Write(0, patch).ok());
  all.insert(all.end(), patch.begin(), patch.end());
  ASSERT_TRUE(draft->Write(200'000, patch).ok());
  ExpectSealed(std::move(draft), all);
}

TEST_F(DraftTest, GapsAreZero) {
  Dirty();
  Bytes all(50'000);
  std::unique_ptr<Draft> draft = tier_->NewDraft();
  const Bytes end = Pattern(100, 5);
  ASSERT_TRUE(draft->Write(49'900, end).ok());
  std::copy(end.begin(), end.end(), all.begin() + 49'900);
  EXPECT_EQ(Contents(*draft), all);
  ASSERT_TRUE(draft->Truncate(60'000).ok());
  all.resize(60'000);
  ExpectSealed(std::move(draft), all);
}

TEST_F(DraftTest, BytesCutOffDoNotComeBack) {
  Bytes all = Pattern(20'000, 6);
  std::unique_ptr<Draft> draft = tier_->NewDraft();
  ASSERT_TRUE(draft->Write(0, all).ok());
  ASSERT_TRUE(draft->Truncate(5'000).ok());
  EXPECT_EQ(draft->allocated_bytes(), 8192u);
  ASSERT_TRUE(draft->Truncate(7'000).ok());
  ASSERT_TRUE(draft->Write(9'000, std::span(all).first(10)).ok());
  Bytes expected(all.begin(), all.begin() + 5'000);
  expected.resize(9'000);
  expected.insert(expected.end(), all.begin(), all.begin() + 10);
  ExpectSealed(std::move(draft), expected);
}

TEST_F(DraftTest, TruncateToZeroAndAgain) {
  const Bytes all = Pattern(20'000, 7);
  std::unique_ptr<Draft> draft = tier_->NewDraft();
  ASSERT_TRUE(draft->Write(0, Pattern(30'000, 8)).ok());
  ASSERT_TRUE(draft->Truncate(0).ok());
  EXPECT_EQ(draft->allocated_bytes(), 0u);
  EXPECT_EQ(tier_->GetStats().draft_bytes, 0u);
  ASSERT_TRUE(draft->Write(0, all).ok());
  ExpectSealed(std::move(draft), all);
}

TEST_F(DraftTest, ZeroBytesIsAPage) {
  std::unique_ptr<Draft> draft = tier_->NewDraft();
  ASSERT_TRUE(draft->Write(0, {}).ok());
  ASSERT_TRUE(draft->Write(100, {}).ok());
  ExpectSealed(std::move(draft), {});
  EXPECT_EQ(tier_->Use(Id(1))->resident_bytes, 0u);
  EXPECT_EQ(tier_->GetStats().free_bytes, kCapacity - kBlockBytes);
}

TEST_F(DraftTest, ReservedBlocksComeBackAtSeal) {
  std::unique_ptr<Draft> draft = tier_->NewDraft();
  ASSERT_TRUE(draft->Reserve(100'000).ok());
  EXPECT_EQ(draft->bytes(), 0u);
  EXPECT_EQ(draft->allocated_bytes(), 25u * kBlockBytes);
  EXPECT_TRUE(Contents(*draft).empty());
  const Bytes all = Pattern(5'000, 9);
  ASSERT_TRUE(draft->Write(0, all).ok());
  EXPECT_EQ(draft->allocated_bytes(), 25u * kBlockBytes);
  ExpectSealed(std::move(draft), all);
  EXPECT_EQ(tier_->Use(Id(1))->resident_bytes, 8192u);
  EXPECT_EQ(tier_->GetStats().draft_bytes, 0u);
}

TEST_F(DraftTest, DestroyingGivesTheSpaceBack) {
  std::unique_ptr<Draft> draft = tier_->NewDraft();
  ASSERT_TRUE(draft->Write(0, Pattern(100'000, 1)).ok());
  EXPECT_EQ(tier_->GetStats().drafts, 1u);
  EXPECT_GE(tier_->GetStats().draft_bytes, 100'000u);
  draft.reset();
  EXPECT_EQ(tier_->GetStats().drafts, 0u);
  EXPECT_EQ(tier_->GetStats().free_bytes, kCapacity);
}

TEST_F(DraftTest, SizeLimit) {
  MakeTier({.max_page_bytes = 10'000});
  std::unique_ptr<Draft> draft = tier_->NewDraft();
  EXPECT_EQ(draft->Write(9'999, Bytes(2)).code(), ErrorCode::kTooLarge);
  EXPECT_EQ(draft->Write(UINT64_MAX, Bytes(2)).code(), ErrorCode::kTooLarge);
  EXPECT_EQ(draft->Truncate(10'001).code(), ErrorCode::kTooLarge);
  EXPECT_EQ(draft->Reserve(10'001).code(), ErrorCode::kTooLarge);
  EXPECT_EQ(draft->allocated_bytes(), 0u);
  EXPECT_TRUE(draft->Write(9'998, Bytes(2)).ok());
}

TEST_F(DraftTest, NoSpaceTakesNothing) {
  std::unique_ptr<Draft> draft = tier_->NewDraft();
  const Bytes all = Pattern(kBlockBytes, 1);
  ASSERT_TRUE(draft->Write(0, all).ok());
  EXPECT_EQ(draft->Write(10, Bytes(kCapacity)).code(), ErrorCode::kNoSpace);
  EXPECT_EQ(draft->Truncate(kCapacity + 1).code(), ErrorCode::kNoSpace);
  EXPECT_EQ(draft->Reserve(2 * kCapacity).code(), ErrorCode::kNoSpace);
  EXPECT_EQ(draft->allocated_bytes(), kBlockBytes);
  ExpectSealed(std::move(draft), all);
}

TEST_F(DraftTest, SealWithoutRoomForTheHeaderKeepsTheDraft) {
  std::unique_ptr<Draft> draft = tier_->NewDraft();
  const Bytes all = Pattern(kCapacity, 1);
  ASSERT_TRUE(draft->Write(0, all).ok());
  const Result<PageHold> hold = tier_->Seal(Id(1), draft, Pin::kNone);
  ASSERT_FALSE(hold.ok());
  EXPECT_EQ(hold.code(), ErrorCode::kNoSpace);
  ASSERT_NE(draft, nullptr);
  EXPECT_EQ(Contents(*draft), all);
  ASSERT_TRUE(draft->Truncate(kCapacity - 1).ok());
  ASSERT_TRUE(draft->Truncate(kCapacity - kBlockBytes).ok());
  ExpectSealed(std::move(draft), Bytes(all.begin(), all.end() - kBlockBytes));
}

TEST_F(DraftTest, StartsFromASealedPage) {
  Result<PageHold> hold = Put(1, 70'000);
  ASSERT_TRUE(hold.ok());
  Result<std::unique_ptr<Draft>> draft = tier_->NewDraft(*hold);
  ASSERT_TRUE(draft.ok());
  Bytes expected = Pattern(70'000, 1);
  EXPECT_EQ(Contents(**draft), expected);
  ASSERT_TRUE((*draft)->Write(70'000, Pattern(5, 2)).ok());
  const Bytes end = Pattern(5, 2);
  expected.insert(expected.end(), end.begin(), end.end());
  last_id_ = 1;
  ExpectSealed(std::move(*draft), expected);
  EXPECT_EQ(Contents(*hold), Pattern(70'000, 1));
}

TEST_F(DraftTest, ReadIsCutAtTheEnd) {
  const Bytes all = Pattern(10'000, 1);
  std::unique_ptr<Draft> draft = tier_->NewDraft();
  ASSERT_TRUE(draft->Write(0, all).ok());
  EXPECT_EQ(Contents(*draft, 9'000, 5'000), Bytes(all.begin() + 9'000, all.end()));
  EXPECT_EQ(Contents(*draft, 4'000, 200), Bytes(all.begin() + 4'000, all.begin() + 4'200));
  EXPECT_TRUE(Contents(*draft, 10'000, 1).empty());
  EXPECT_TRUE(Contents(*draft, UINT64_MAX, 1).empty());
}

// Two streams of small writes side by side must not leave pages of single blocks.
TEST_F(DraftTest, StreamsSideBySideGetLongExtents) {
  const Bytes a = Pattern(1 << 20, 1);
  const Bytes b = Pattern(1 << 20, 2);
  std::unique_ptr<Draft> draft_a = tier_->NewDraft();
  std::unique_ptr<Draft> draft_b = tier_->NewDraft();
  for (size_t at = 0; at < a.size(); at += kBlockBytes) {
    ASSERT_TRUE(draft_a->Write(at, std::span(a).subspan(at, kBlockBytes)).ok());
    ASSERT_TRUE(draft_b->Write(at, std::span(b).subspan(at, kBlockBytes)).ok());
  }
  std::vector<iovec> pieces;
  EXPECT_EQ(draft_a->Read(0, a.size(), &pieces), a.size());
  EXPECT_LT(pieces.size(), 100u);
  ExpectSealed(std::move(draft_a), a);
  ExpectSealed(std::move(draft_b), b);
}

// Many extents: writes and reads at every place of a page that is in single blocks.
TEST_F(DraftTest, FragmentedPage) {
  for (uint64_t i = 0; i < 900; ++i) Add(i + 1, kBlockBytes);
  for (uint64_t i = 0; i < 900; i += 2) ASSERT_TRUE(tier_->Remove(Id(i + 1)).ok());
  last_id_ = 2000;
  Bytes all = Pattern(500 * kBlockBytes, 1);
  std::unique_ptr<Draft> draft = tier_->NewDraft();
  ASSERT_TRUE(draft->Write(0, all).ok());
  EXPECT_GT(tier_->GetStats().evictable_bytes, 400u * kBlockBytes);
  for (size_t at : {1'999'990u, 5u, 4'090u, 1'000'000u, 999'990u}) {
    const Bytes patch = Pattern(9'000, at);
    ASSERT_TRUE(draft->Write(at, patch).ok());
    std::copy(patch.begin(), patch.end(), all.begin() + static_cast<ptrdiff_t>(at));
  }
  ASSERT_TRUE(draft->Truncate(300 * kBlockBytes + 7).ok());
  all.resize(300 * kBlockBytes + 7);
  ExpectSealed(std::move(draft), all);
  const Result<PageHold> hold = tier_->Hold(Id(last_id_), Touch::kNone);
  EXPECT_EQ(Contents(*hold, 4'000, 100'000), Bytes(all.begin() + 4'000, all.begin() + 104'000));
}

}  // namespace
}  // namespace kvpagefs
