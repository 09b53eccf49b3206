// What can go wrong with a disk, one thing at a time: only the pages concerned are lost, and it shows in the counters.
#include <gtest/gtest.h>

#include "unit/spill/ssd_log_fixture.h"

namespace kvpagefs {
namespace {

using IoKind = SsdDisk::IoKind;

class FaultsTest : public SsdLogTest {
 protected:
  static constexpr uint64_t kPage = 20'000;
  SsdLog::Stats Stats() { return log_->GetStats(); }
  void Fill(uint64_t first, uint64_t last) {
    for (uint64_t i = first; i <= last; ++i) Put(i, kPage);
  }
  void FailWrites(const Status& status) {
    store_->faults.plan = [status](const std::string& /*name*/, const SsdDisk::Io& io) -> std::optional<Status> {
      if (io.kind == IoKind::kWrite) return status;
      return std::nullopt;
    };
  }
  void FlipPayload(uint64_t counter) { store_->FlipBit(FileOf(counter), OffsetOf(counter) + kBlockBytes + 7, 3); }
  void SettleSeconds(int seconds) {
    for (int i = 0; i < seconds * 4; ++i) {
      Settle();
      clock_.Advance(250'000'000);
    }
    Settle();
  }
};

TEST_F(FaultsTest, AFlippedPayloadBitLosesOnlyItsPage) {
  Open();
  Fill(1, 5);
  FlipPayload(3);
  EXPECT_EQ(Read(3, kPage).code(), ErrorCode::kLost);
  EXPECT_EQ(Read(3, kPage).code(), ErrorCode::kNotFound);
  EXPECT_TRUE(listener_.gone.contains(Id(3).value));
  EXPECT_EQ(Stats().quarantined_pages, 1u);
  EXPECT_TRUE(Readable(2, kPage) && Readable(4, kPage));
  // It can be stored again, and the damaged record does not come back in its place.
  Put(3, kPage);
  EXPECT_TRUE(Readable(3, kPage));
  Reopen();
  EXPECT_TRUE(Readable(3, kPage));
}

TEST_F(FaultsTest, AFlippedBitInARecordHeaderCostsThatRecord) {
  Open();
  Fill(1, 5);
  ASSERT_TRUE(Sync().ok());
  store_->FlipBit(FileOf(3), OffsetOf(3) + 20, 1);
  Kill();
  Open();
  EXPECT_EQ(counts_.damaged_records, 1u);
  EXPECT_NE(counts_.first_loss.find("damaged record header"), std::string::npos) << counts_.first_loss;
  EXPECT_FALSE(Has(3));
  for (const uint64_t i : {1, 2, 4, 5}) EXPECT_TRUE(Readable(i, kPage)) << i;
}

TEST_F(FaultsTest, ADamagedIndexIsReplacedByAScan) {
  Open();
  Fill(1, 5);
  const std::string file = FileOf(1);
  Close();
  store_->FlipBit(file, kRegion - uint64_t{2} * kBlockBytes + 3, 1);
  Open();
  EXPECT_EQ(counts_.scanned_regions, 1u);
  for (uint64_t i = 1; i <= 5; ++i) EXPECT_TRUE(Readable(i, kPage)) << i;
}

TEST_F(FaultsTest, ADamagedRegionHeaderDropsThatRegion) {
  Open();
  Fill(1, 20);
  const std::string file = FileOf(1);
  ASSERT_NE(file, FileOf(20));
  Close();
  store_->FlipBit(file, 17, 5);
  Open();
  EXPECT_EQ(counts_.damaged_regions, 1u);
  EXPECT_FALSE(Has(1));
  EXPECT_TRUE(Readable(20, kPage));
  // Also when the bit flips back: what is gone stays gone.
  Fill(30, 31);
  Close();
  store_->FlipBit(file, 17, 5);
  Open();
  EXPECT_FALSE(Has(1));
}

TEST_F(FaultsTest, ATruncatedFileLosesWhatWasBehind) {
  Open();
  Fill(1, 5);
  const std::string file = FileOf(1);
  const uint64_t end = OffsetOf(4) + uint64_t{2} * kBlockBytes;
  store_->Truncate(file, end);
  EXPECT_EQ(Read(4, kPage).code(), ErrorCode::kLost);
  EXPECT_TRUE(Readable(1, kPage));
  Settle();
  EXPECT_EQ(Stats().lost_files, 0u);
  Kill();
  Open();
  EXPECT_TRUE(Readable(1, kPage) && Readable(3, kPage));
  EXPECT_FALSE(Has(4) || Has(5));
  Put(4, kPage);
  EXPECT_TRUE(Readable(4, kPage));
}

TEST_F(FaultsTest, AMissingFileLosesItsPages) {
  Open();
  Fill(1, 20);
  const std::string file = FileOf(1);
  ASSERT_NE(file, FileOf(20));
  store_->files.erase(file);
  EXPECT_EQ(Read(1, kPage).code(), ErrorCode::kLost);
  Settle();
  EXPECT_EQ(Stats().lost_files, 1u);
  EXPECT_FALSE(Has(2));
  EXPECT_TRUE(listener_.gone.contains(Id(2).value));
  EXPECT_TRUE(Readable(20, kPage));
  Fill(30, 60);
  EXPECT_TRUE(Readable(60, kPage));
}

TEST_F(FaultsTest, AFailedReadIsTriedThreeTimes) {
  Open();
  Fill(1, 2);
  store_->faults.read_error = 1;
  EXPECT_EQ(Read(1, kPage).code(), ErrorCode::kUnavailable);
  EXPECT_EQ(Read(1, kPage).code(), ErrorCode::kUnavailable);
  EXPECT_TRUE(Has(1));
  EXPECT_EQ(Read(1, kPage).code(), ErrorCode::kLost);
  EXPECT_FALSE(Has(1));
  EXPECT_EQ(Stats().read_errors, 3u);
  store_->faults.read_error = 0;
  EXPECT_TRUE(Readable(2, kPage));
}

// G5.
TEST_F(FaultsTest, FailingWritesSuspendAndAProbeResumes) {
  Open();
  Fill(1, 3);
  FailWrites(Error(ErrorCode::kUnavailable, "EIO"));
  for (uint64_t i = 10; i < 13; ++i) EXPECT_EQ(Append(i, kPage).code(), ErrorCode::kUnavailable);
  EXPECT_TRUE(Stats().suspended);
  EXPECT_EQ(Stats().problem, "EIO");
  EXPECT_EQ(Append(13, kPage).code(), ErrorCode::kUnavailable);
  EXPECT_TRUE(Readable(2, kPage));
  SettleSeconds(3);
  EXPECT_TRUE(Stats().suspended);
  store_->faults.plan = nullptr;
  SettleSeconds(2);
  EXPECT_FALSE(Stats().suspended);
  EXPECT_EQ(Stats().problem, "");
  Put(10, kPage);
  EXPECT_TRUE(Readable(10, kPage));
}

TEST_F(FaultsTest, AReadOnlyDiskComesBackWithoutARestart) {
  Open();
  Fill(1, 3);
  ASSERT_TRUE(Sync().ok());
  store_->faults.read_only = true;
  for (uint64_t i = 10; i < 14; ++i) EXPECT_FALSE(Append(i, kPage).ok());
  EXPECT_FALSE(Remove(1).ok());
  EXPECT_FALSE(Has(1)) << "removed, though not durably";
  EXPECT_FALSE(Sync().ok());
  store_->faults.read_only = false;
  SettleSeconds(3);
  Put(10, kPage);
  ASSERT_TRUE(Sync().ok());
  PowerCut();
  Open();
  EXPECT_FALSE(Has(1)) << "the removal was caught up with";
  EXPECT_TRUE(Readable(2, kPage) && Readable(10, kPage));
}

// A record whose write failed may be on the disk; removing its page must hold all the same.
TEST_F(FaultsTest, AFailedRecordDoesNotComeBack) {
  Open();
  Fill(1, 2);
  for (uint64_t i = 10; i < 12; ++i) {
    FailWrites(Error(ErrorCode::kUnavailable, "EIO"));
    EXPECT_FALSE(Append(i, kPage).ok());
    store_->faults.plan = nullptr;
    EXPECT_EQ(Remove(i).code(), ErrorCode::kNotFound);
  }
  Kill();
  Open();
  EXPECT_FALSE(Has(10) || Has(11));
}

// The mark of a failed record must not hit the same page when it is stored again, in the region that goes on.
TEST_F(FaultsTest, AFailedRecordDoesNotRemoveItsPageForEver) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    log_.reset();
    MakeStore(seed);
    Open();
    Fill(1, 1);
    FailWrites(Error(ErrorCode::kUnavailable, "EIO"));
    EXPECT_FALSE(Append(10, kPage).ok());
    store_->faults.plan = nullptr;
    ASSERT_TRUE(Sync().ok());
    Kill();
    Open();
    Put(10, kPage);
    Reopen();
    EXPECT_TRUE(Readable(10, kPage)) << seed;
  }
}

// A killed process leaves writes that nobody synced. The next one shows their pages, so its Sync promises them.
TEST_F(FaultsTest, ASyncCoversWhatTheProcessBeforeWrote) {
  Open();
  Fill(1, 20);
  Kill();
  Open();
  for (uint64_t i = 1; i <= 20; ++i) EXPECT_TRUE(Has(i));
  ASSERT_TRUE(Sync().ok());
  PowerCut();
  Open();
  for (uint64_t i = 1; i <= 20; ++i) EXPECT_TRUE(Readable(i, kPage)) << i;
}

// Killed between the write of a free header and its sync: the region is free, and must stay so.
TEST_F(FaultsTest, AFreeRegionStaysFree) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    log_.reset();
    MakeStore(seed);
    Open();
    Fill(1, 20);
    ASSERT_TRUE(Sync().ok());
    const std::string file = FileOf(1);
    Bytes block(kBlockBytes);
    EncodeRegionHeader({.region_bytes = kRegion, .sequence = 1, .node_identity = 77}, block);
    Kill();
    store_->Write(&store_->files.at(file), 0, block.data());
    Open();
    EXPECT_EQ(Remove(1).code(), ErrorCode::kNotFound);
    ASSERT_TRUE(Sync().ok());
    PowerCut();
    Open();
    EXPECT_FALSE(Has(1)) << seed;
    EXPECT_TRUE(Has(20)) << seed;
  }
}

TEST_F(FaultsTest, AFullDiskLeavesTheLogWithItsRegions) {
  store_->faults.disk_bytes = 3 * kRegion + 16'384;
  Open();
  Fill(1, 60);
  EXPECT_LE(store_->most_bytes, store_->faults.disk_bytes);
  EXPECT_GT(Stats().no_space_errors, 0u);
  EXPECT_NE(Stats().problem, "");
  EXPECT_TRUE(Readable(60, kPage));
  // There is room again.
  store_->faults.disk_bytes = UINT64_MAX;
  SettleSeconds(11);
  Fill(61, 100);
  EXPECT_GT(Stats().regions, 3u);
  EXPECT_EQ(Stats().problem, "");
}

TEST_F(FaultsTest, ADiskWithoutRoomForARegionAnswersNoSpace) {
  store_->faults.disk_bytes = kRegion / 2;
  Open();
  EXPECT_EQ(Append(1, kPage).code(), ErrorCode::kNoSpace);
}

TEST_F(FaultsTest, ForeignRegionsAreLeftAlone) {
  Open();
  Fill(1, 5);
  const std::string file = FileOf(1);
  Close();
  const auto before = store_->files.at(file).blocks;
  store_->smalls.clear();
  Open({.node_identity = 78});
  EXPECT_EQ(counts_.foreign_regions, store_->files.size());
  Fill(100, 160);
  EXPECT_EQ(store_->files.at(file).blocks, before);
  EXPECT_LE(store_->FileBytes(), options_.capacity_bytes);
}

TEST_F(FaultsTest, TooSmallACapacityIsRefusedWithNumbers) {
  const Status opened = TryOpen({.capacity_bytes = 3 * kRegion});
  EXPECT_EQ(opened.code(), ErrorCode::kInvalid);
  EXPECT_NE(opened.error().text().find(std::to_string(3 * kRegion)), std::string::npos);
}

TEST_F(FaultsTest, TooLargePagesAndTornRequestsAreRefused) {
  Open();
  EXPECT_EQ(Append(1, kRegion).code(), ErrorCode::kTooLarge);
  EXPECT_EQ(Append(1, 100, std::string(SsdLog::kMaxDescriptionBytes + 1, 'x')).code(), ErrorCode::kTooLarge);
  const PageBuffer page(100);
  SsdLog::AppendRequest request = Request(2, page);
  request.bytes = 5000;
  EXPECT_EQ(Wait([&](auto done) {
              request.done = done;
              log_->Append(request);
            }).code(),
            ErrorCode::kInvalid);
}

}  // namespace
}  // namespace kvpagefs
