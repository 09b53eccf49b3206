#include "spill/removal_file.h"

#include <random>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "spill/removed_records.h"
#include "unit/spill/sim_disk.h"
#include "unit/spill/tier_fixture.h"

namespace kvpagefs {
namespace {

constexpr uint64_t kIdentity = 0x1122334455667788;

RemovalMark Mark(uint64_t counter, uint64_t sequence = 7, uint32_t block = 3) {
  return {.id = Id(counter), .sequence = sequence, .block = block};
}

class RemovalFileTest : public testing::Test {
 protected:
  void Load() {
    disk_ = std::make_unique<SimDisk>(store_);
    file_ = std::make_unique<RemovalFile>(disk_.get(), kIdentity);
    const Result<DecodedRemovals> loaded = file_->Load();
    ASSERT_TRUE(loaded.ok()) << loaded.error().Describe();
    loaded_.clear();
    for (const RemovalMark& mark : loaded->marks) loaded_.push_back(mark.id.value & kIdCounterMask);
  }
  Bytes& bytes() { return store_->smalls[std::string(kRemovalFileName)].bytes; }
  void Add(uint64_t counter, uint64_t sequence = 7) {
    const RemovalMark mark = Mark(counter, sequence);
    ASSERT_TRUE(file_->Append(std::span(&mark, 1)).ok());
  }

  std::shared_ptr<SimStore> store_ = std::make_shared<SimStore>(3);
  std::unique_ptr<SimDisk> disk_;
  std::unique_ptr<RemovalFile> file_;
  std::vector<uint64_t> loaded_;
};

// What other versions read: change it only together with kSsdFormatVersion.
TEST_F(RemovalFileTest, GoldenBytes) {
  Bytes all = EncodeRemovalHeader(kIdentity);
  const RemovalMark mark = Mark(0x0203);
  const Bytes entry = EncodeRemovals(std::span(&mark, 1));
  all.insert(all.end(), entry.begin(), entry.end());
  std::string hex;
  for (const std::byte b : all) hex += fmt::format("{:02x}", static_cast<int>(b));
  EXPECT_EQ(hex,
            "4b56524d01001800"
            "8877665544332211"
            "00000000"
            "f04c2c53"
            "0302000000000100"
            "0700000000000000"
            "03000000"
            "c607394f");
}

TEST_F(RemovalFileTest, MarksAreBack) {
  Load();
  Add(1);
  Add(2);
  Load();
  EXPECT_THAT(loaded_, testing::ElementsAre(1, 2));
}

TEST_F(RemovalFileTest, ATornTailIsDroppedAndRepaired) {
  Load();
  Add(1);
  Add(2);
  bytes().resize(bytes().size() - 5);
  Load();
  EXPECT_THAT(loaded_, testing::ElementsAre(1));
  Add(3);
  Load();
  EXPECT_THAT(loaded_, testing::ElementsAre(1, 3));
}

TEST_F(RemovalFileTest, ADamagedEntryOrHeaderCostsOnlyItself) {
  Load();
  for (uint64_t i = 1; i <= 3; ++i) Add(i);
  const Bytes good = bytes();
  for (size_t bit = 0; bit < good.size() * 8; ++bit) {
    Bytes flipped = good;
    flipped[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
    const Result<DecodedRemovals> decoded = DecodeRemovals(flipped, kIdentity);
    ASSERT_TRUE(decoded.ok());
    EXPECT_FALSE(decoded->whole);
    EXPECT_EQ(decoded->marks.size(), bit / 8 < kRemovalEntryBytes ? 3u : 2u) << bit;
  }
}

TEST_F(RemovalFileTest, AnotherNodesFileIsRefused) {
  EXPECT_EQ(DecodeRemovals(EncodeRemovalHeader(kIdentity + 1), kIdentity).code(), ErrorCode::kNotPermitted);
}

TEST_F(RemovalFileTest, RandomBytesAreNoMarks) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    const Result<DecodedRemovals> decoded = DecodeRemovals(Pattern(seed, seed), kIdentity);
    ASSERT_TRUE(decoded.ok());
    EXPECT_TRUE(decoded->marks.empty());
  }
}

TEST_F(RemovalFileTest, CompactionKeepsWhatRegionsMayHold) {
  Load();
  for (uint64_t i = 1; i <= 100; ++i) Add(i, i);
  const uint64_t before = file_->bytes();
  ASSERT_TRUE(file_->CompactIfLarge(40, 1000).ok());
  EXPECT_EQ(file_->bytes(), before) << "not twice what is needed";
  ASSERT_TRUE(file_->CompactIfLarge(90, before).ok());
  EXPECT_EQ(file_->bytes(), before) << "not large";
  ASSERT_TRUE(file_->CompactIfLarge(90, 1000).ok());
  EXPECT_EQ(file_->bytes(), 12 * kRemovalEntryBytes);
  Load();
  EXPECT_EQ(loaded_.size(), 11u);
  EXPECT_EQ(loaded_.front(), 90u);
}

// Half an entry that a failed append left must not shift the entries behind it.
TEST_F(RemovalFileTest, AFailedAppendSpoilsNothing) {
  Load();
  Add(1);
  store_->faults.small_error = 1;
  const std::vector<RemovalMark> marks = {Mark(2), Mark(3)};
  EXPECT_FALSE(file_->Append(marks).ok());
  EXPECT_FALSE(file_->Append(marks).ok());
  store_->faults.small_error = 0;
  EXPECT_TRUE(file_->Append(marks).ok());
  Load();
  EXPECT_EQ(loaded_.front(), 1u);
  EXPECT_GE(std::ranges::count(loaded_, 2u), 1);
  EXPECT_GE(std::ranges::count(loaded_, 3u), 1);
}

TEST(RemovedRecords, AMarkCoversItsPlaceAndWhatIsOlder) {
  RemovedRecords removed;
  removed.Add(Mark(1, 7, 3));
  removed.Add(Mark(1, 5, 9));
  EXPECT_TRUE(removed.Covers(Id(1), 7, 3 * kBlockBytes));
  EXPECT_TRUE(removed.Covers(Id(1), 6, 900 * uint64_t{kBlockBytes}));
  EXPECT_FALSE(removed.Covers(Id(1), 7, uint64_t{4} * kBlockBytes));
  EXPECT_FALSE(removed.Covers(Id(1), 8, kBlockBytes));
  EXPECT_FALSE(removed.Covers(Id(2), 1, kBlockBytes));
  EXPECT_EQ(removed.max_sequence(), 7u);
  EXPECT_EQ(removed.EndIn(5), uint64_t{10} * kBlockBytes);
  EXPECT_EQ(removed.EndIn(6), 0u);
}

}  // namespace
}  // namespace kvpagefs
