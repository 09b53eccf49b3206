#include "spill/ssd_check.h"

#include <gtest/gtest.h>

#include "unit/spill/ssd_log_fixture.h"

namespace kvpagefs {
namespace {

class CheckTest : public SsdLogTest {
 protected:
  static constexpr uint64_t kPage = 20'000;
  void Fill() {
    Open();
    for (uint64_t i = 1; i <= 20; ++i) Put(i, kPage, i % 7 == 0 ? std::string(3'000, 'l') : "s");
  }
  SsdCheckSummary Check() {
    damages_.clear();
    const auto files = store_->files;
    const auto summary = CheckDirectory(std::make_unique<SimDisk>(store_, true), {.node_identity = 77},
                                        [this](const SsdDamage& damage) { damages_.push_back(damage); });
    EXPECT_TRUE(summary.ok());
    for (const auto& [name, file] : files) {
      EXPECT_EQ(file.blocks, store_->files.at(name).blocks) << name << " was written to";
    }
    return summary.ok() ? *summary : SsdCheckSummary();
  }
  std::vector<SsdDamage> damages_;
};

TEST_F(CheckTest, ACleanDirectoryIsCounted) {
  Fill();
  ASSERT_TRUE(Remove(3).ok());
  ASSERT_TRUE(Remove(4).ok());
  Close();
  const SsdCheckSummary summary = Check();
  EXPECT_TRUE(summary.clean());
  EXPECT_EQ(summary.records, 20u);
  EXPECT_EQ(summary.live_records, 18u);
  EXPECT_EQ(summary.removed_records, 2u);
  EXPECT_EQ(summary.live_bytes, 18 * kPage);
  EXPECT_EQ(summary.unsealed_regions, 0u);
}

TEST_F(CheckTest, DamageIsToldWithPlaceAndReason) {
  Fill();
  const std::string file = FileOf(2);
  const uint64_t payload = OffsetOf(2);
  const uint64_t header = OffsetOf(5);
  Close();
  store_->FlipBit(file, payload + kBlockBytes + 100, 0);
  store_->FlipBit(file, header + 12, 0);
  const SsdCheckSummary summary = Check();
  EXPECT_EQ(summary.damaged, 2u);
  EXPECT_EQ(summary.live_records, 18u);
  ASSERT_EQ(damages_.size(), 2u);
  EXPECT_EQ(damages_[0].file, file);
  EXPECT_EQ(damages_[0].offset, header);
  EXPECT_EQ(damages_[0].reason, "damaged record header");
  EXPECT_EQ(damages_[1].offset, payload);
  EXPECT_EQ(damages_[1].reason, "damaged payload");
}

TEST_F(CheckTest, RegionHeadersTruncationAndTornRemovalsAreDamage) {
  Fill();
  const std::string first = FileOf(1);
  const std::string last = FileOf(20);
  ASSERT_NE(first, last);
  ASSERT_TRUE(Remove(19).ok());
  Close();
  store_->FlipBit(first, 8, 1);
  store_->Truncate(last, kRegion / 2);
  Bytes& removals = store_->smalls.begin()->second.bytes;
  removals.resize(removals.size() - 1);
  const SsdCheckSummary summary = Check();
  EXPECT_FALSE(summary.clean());
  const auto told = [&](const std::string& file, const std::string& reason) {
    return std::ranges::any_of(damages_, [&](const SsdDamage& d) { return d.file == file && d.reason == reason; });
  };
  EXPECT_TRUE(told(first, "damaged region header"));
  EXPECT_TRUE(told(last, "the file is too short"));
  EXPECT_TRUE(told(std::string(kRemovalFileName), "torn or damaged entries"));
}

TEST_F(CheckTest, AnUnsealedRegionIsNoDamage) {
  Fill();
  Kill();
  const SsdCheckSummary summary = Check();
  EXPECT_TRUE(summary.clean());
  EXPECT_GT(summary.unsealed_regions, 0u);
  EXPECT_EQ(summary.live_records, 20u);
}

}  // namespace
}  // namespace kvpagefs
