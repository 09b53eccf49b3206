#include "spill/region_table.h"

#include <gtest/gtest.h>

#include "spill/removal_file.h"
#include "spill/ssd_log.h"

namespace kvpagefs {
namespace {

using State = Region::State;
constexpr uint64_t kRegionBytes = uint64_t{1} << 20;

class RegionTableTest : public testing::Test {
 protected:
  static constexpr uint64_t kCapacity = 6 * kRegionBytes;  // five regions and what is set aside
  Region& Add(State state, uint64_t sequence, uint64_t bytes = kRegionBytes) {
    Region& region = table_.Add("r", bytes);
    region.state = state;
    region.key.sequence = sequence;
    return region;
  }
  RegionTable table_{{.capacity_bytes = kCapacity, .region_bytes = kRegionBytes}};
};

TEST_F(RegionTableTest, FilesNeverTakeMoreThanTheCapacity) {
  EXPECT_EQ(table_.Available(), 5u);
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(table_.MayCreate());
    Add(State::kSealed, 1);
  }
  EXPECT_FALSE(table_.MayCreate());
  EXPECT_FALSE(table_.Over());
  EXPECT_EQ(table_.Available(), 0u);
  Add(State::kForeign, 0);
  EXPECT_TRUE(table_.Over());
}

TEST_F(RegionTableTest, AvailableCountsWhatNeedsNoReclaim) {
  Add(State::kOpen, 1);
  Add(State::kReady, 2);
  Add(State::kFree, 0);
  Add(State::kFree, 0, 3 * kRegionBytes / 2);  // another size: makes way
  EXPECT_EQ(table_.Available(), 4u);
  table_.set_disk_full(true);
  EXPECT_EQ(table_.Available(), 2u);
  EXPECT_FALSE(table_.MayCreate());
}

TEST_F(RegionTableTest, ReclaimTakesTheOldestThatDidNotFail) {
  EXPECT_EQ(table_.ChooseReclaim(), nullptr);
  Add(State::kOpen, 1);
  Region& second = Add(State::kSealed, 5);
  Region& first = Add(State::kSealed, 3);
  EXPECT_EQ(table_.ChooseReclaim(), &first);
  first.reclaim_failures = 1;
  EXPECT_EQ(table_.ChooseReclaim(), &second);
  second.reclaim_failures = 1;
  EXPECT_EQ(table_.ChooseReclaim(), &first);
}

TEST_F(RegionTableTest, MinSequenceIsOfRegionsThatMayHoldRecords) {
  EXPECT_EQ(table_.MinSequence(), UINT64_MAX);
  Add(State::kFree, 1);
  Add(State::kForeign, 2);
  Add(State::kReclaiming, 9);
  EXPECT_EQ(table_.MinSequence(), 9u);
  Add(State::kUnreadable, 20);
  EXPECT_EQ(table_.MinSequence(), 0u);
}

TEST_F(RegionTableTest, SlotsAreReused) {
  const uint32_t slot = Add(State::kSealed, 1).slot;
  Add(State::kSealed, 2);
  table_.Erase(slot);
  EXPECT_EQ(table_.regions(), 1u);
  EXPECT_EQ(Add(State::kSealed, 3).slot, slot);
  EXPECT_EQ(table_.file_bytes(), 2 * kRegionBytes);
}

// The removal file at its largest: a mark for every record of the smallest kind, and twice that while it is rewritten.
TEST_F(RegionTableTest, WhatIsSetAsideHoldsTheRemovalFile) {
  for (const uint64_t capacity : {uint64_t{1} << 20, uint64_t{1} << 30, uint64_t{1} << 40}) {
    const uint64_t needed = capacity / kBlockBytes * kRemovalEntryBytes;
    EXPECT_LE(std::max(RegionTable::RemovalThreshold(capacity), needed) + needed + needed,
              RegionTable::ReservedBytes(capacity));
  }
}

TEST(RegionBytesFor, FitsFourTimesAndTakesTheLargestPage) {
  for (const uint64_t capacity : {uint64_t{64} << 20, uint64_t{1} << 30, uint64_t{100} << 30, uint64_t{4} << 40}) {
    for (const uint64_t page : {uint64_t{64} << 10, uint64_t{8} << 20, uint64_t{256} << 20}) {
      const uint64_t bytes = SsdLog::RegionBytesFor(capacity, page);
      EXPECT_EQ(bytes % kBlockBytes, 0u);
      EXPECT_LE(4 * bytes + RegionTable::ReservedBytes(capacity), capacity);
      const bool possible = 4 * (page + (uint64_t{1} << 20)) < capacity;
      if (possible) {
        EXPECT_GE(bytes, RegionBytesForOne(page, SsdLog::kMaxDescriptionBytes));
      }
    }
  }
  EXPECT_EQ(SsdLog::RegionBytesFor(uint64_t{100} << 30, 64 << 10), uint64_t{256} << 20);
}

}  // namespace
}  // namespace kvpagefs
