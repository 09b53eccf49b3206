#include "spill/ssd_reclaim.h"

#include <gtest/gtest.h>

#include "unit/spill/ssd_log_fixture.h"

namespace kvpagefs {
namespace {

SsdPage At(uint64_t counter, uint32_t block) {
  return {.id = Id(counter), .bytes = 3 * uint64_t{kBlockBytes}, .region = 0, .block = block, .header_blocks = 1};
}

TEST(PlanReclaim, KeepsTheNewestWantedWithinTheBudget) {
  const std::vector<SsdPage> pages = {At(1, 1), At(2, 5), At(3, 9), At(4, 13)};
  const ReclaimPlan plan = PlanReclaim(pages, 8 * uint64_t{kBlockBytes}, [](PageId id) { return id != Id(3); });
  ASSERT_EQ(plan.keep.size(), 2u);
  EXPECT_EQ(plan.keep[0].id, Id(4));
  EXPECT_EQ(plan.keep[1].id, Id(2));
  EXPECT_EQ(plan.drop.size(), 2u);
}

TEST(PlanReclaim, AsksForEachPageOnce) {
  int asked = 0;
  (void)PlanReclaim({At(1, 1), At(2, 5)}, 0, [&](PageId) {
    ++asked;
    return true;
  });
  EXPECT_EQ(asked, 2);
}

class ReclaimTest : public SsdLogTest {
 protected:
  static constexpr uint64_t kPage = 20'000;
};

TEST_F(ReclaimTest, OldestPagesGoAndAreTold) {
  Open();
  for (uint64_t i = 1; i <= 100; ++i) Put(i, kPage);
  Settle();
  EXPECT_FALSE(Has(1));
  EXPECT_TRUE(Readable(100, kPage));
  const SsdLog::Stats stats = log_->GetStats();
  EXPECT_EQ(stats.dropped_pages, listener_.gone.size());
  EXPECT_EQ(stats.pages + stats.dropped_pages, 100u);
  for (uint64_t i = 1; i <= 100; ++i) EXPECT_NE(Has(i), listener_.gone.contains(Id(i).value)) << i;
  EXPECT_LE(store_->most_bytes, options_.capacity_bytes);
  EXPECT_EQ(stats.rewritten_bytes, 0u);
}

TEST_F(ReclaimTest, WantedPagesStayAndKeepTheirDescriptions) {
  Open();
  listener_.wanted = {Id(1).value, Id(2).value};
  listener_.descriptions[Id(2).value] = "a new one";
  Put(1, kPage, "as it was");
  for (uint64_t i = 2; i <= 300; ++i) Put(i, kPage);
  Settle();
  EXPECT_TRUE(Readable(1, kPage) && Readable(2, kPage));
  EXPECT_GT(log_->GetStats().rewritten_bytes, 0u);
  Reopen();
  EXPECT_EQ(recovered_.at(Id(1).value).description, "as it was");
  EXPECT_EQ(recovered_.at(Id(2).value).description, "a new one");
  EXPECT_TRUE(Readable(1, kPage) && Readable(2, kPage));
}

TEST_F(ReclaimTest, ALogOfWantedPagesTakesAppendsAllTheSame) {
  Open({.capacity_bytes = CapacityFor(4)});
  for (uint64_t i = 1; i <= 200; ++i) {
    listener_.wanted.insert(Id(i).value);
    Put(i, kPage);
  }
  const SsdLog::Stats stats = log_->GetStats();
  EXPECT_LE(stats.rewritten_bytes, stats.appended_pages * 6 * kBlockBytes) << "at most half of what is reclaimed";
}

// G4: the region of a read that is under way is not written to.
TEST_F(ReclaimTest, AReadKeepsItsRegion) {
  Open({.capacity_bytes = CapacityFor(4)});
  Put(1, kPage);
  const std::string file = FileOf(1);
  const uint64_t first = OffsetOf(1) / kBlockBytes;
  const PageBuffer page(kPage);
  std::optional<Status> answer;
  store_->faults.hold = [](const SsdDisk::Io& io) { return io.kind == SsdDisk::IoKind::kRead; };
  log_->Read(Id(1), page.Pieces(), [&](const Status& status) { answer = status; });
  const auto before = store_->files.at(file).blocks.at(first);
  uint64_t stored = 0;
  std::vector<PageBuffer> pages;
  pages.reserve(100);
  for (uint64_t i = 2; i <= 100; ++i) {
    pages.emplace_back(Pattern(kPage, i));
    SsdLog::AppendRequest request = Request(i, pages.back());
    request.done = [&](const Status& status) { stored += status.ok() ? 1 : 0; };
    log_->Append(std::move(request));
    Settle();
  }
  EXPECT_FALSE(Has(1)) << "reclaim has come to its region";
  EXPECT_LT(stored, 99u);
  EXPECT_EQ(store_->files.at(file).blocks.at(first), before);
  EXPECT_FALSE(answer.has_value());
  store_->faults.hold = nullptr;
  Settle();
  EXPECT_TRUE(answer.has_value() && answer->ok());
  EXPECT_TRUE(std::ranges::equal(page.page(), Pattern(kPage, 1)));
  EXPECT_EQ(stored, 99u);
  EXPECT_NE(store_->files.at(file).blocks.at(first), before);
}

TEST_F(ReclaimTest, ALowerCapacityTakesTheOldestFilesAtOpen) {
  Open();
  for (uint64_t i = 1; i <= 60; ++i) Put(i, kPage);
  Settle();
  Close();
  store_->most_bytes = 0;
  Open({.capacity_bytes = CapacityFor(4)});
  EXPECT_LE(store_->FileBytes(), options_.capacity_bytes);
  EXPECT_TRUE(Readable(60, kPage));
  EXPECT_LT(counts_.pages, 40u);
  for (uint64_t i = 61; i <= 120; ++i) Put(i, kPage);
  EXPECT_LE(store_->most_bytes, options_.capacity_bytes);
}

TEST_F(ReclaimTest, RegionsOfAnotherSizeMakeWay) {
  Open();
  for (uint64_t i = 1; i <= 40; ++i) Put(i, kPage);
  Close();
  Open({.capacity_bytes = CapacityFor(8), .region_bytes = kRegion / 2});
  for (uint64_t i = 41; i <= 200; ++i) Put(i, kPage);
  Settle();
  EXPECT_TRUE(Readable(200, kPage));
  for (const auto& [name, file] : store_->files) EXPECT_EQ(file.bytes, kRegion / 2) << name;
}

TEST_F(ReclaimTest, RemovedPagesStayRemovedAndTheirMarksAreDropped) {
  Open();
  for (uint64_t i = 1; i <= 400; ++i) {
    Put(i, 3'000);
    ASSERT_TRUE(Remove(i).ok());
    if (i % 50 == 0) {
      clock_.Advance(2'000'000'000);
      Settle();
      Kill();
      Open();
      EXPECT_EQ(counts_.pages, 0u);
    }
  }
  EXPECT_LE(log_->removals.bytes(), RegionTable::ReservedBytes(options_.capacity_bytes));
}

TEST_F(ReclaimTest, ManyRemovalsAreOneWrite) {
  Open();
  std::vector<PageId> ids;
  for (uint64_t i = 1; i <= 10; ++i) {
    Put(i, 100);
    ids.push_back(Id(i));
  }
  ids.push_back(Id(99));
  const uint64_t before = disk_->appends();
  size_t found = 0;
  ASSERT_TRUE(log_->Remove(ids, &found).ok());
  EXPECT_EQ(found, 10u);
  EXPECT_EQ(disk_->appends(), before + 1);
}

}  // namespace
}  // namespace kvpagefs
