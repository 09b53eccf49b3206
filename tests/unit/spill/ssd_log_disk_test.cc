// The log on the real disks, in a directory of the file system: with io_uring where it is offered, and without.
#include <gtest/gtest.h>

#include "spill/ssd_check.h"
#include "spill/ssd_directory.h"
#include "unit/spill/disk_places.h"
#include "unit/spill/ssd_log_fixture.h"

namespace kvpagefs {
namespace {

class SsdLogDiskTest : public testing::TestWithParam<bool> {
 protected:
  static constexpr uint64_t kCapacity = uint64_t{16} << 20;

  std::unique_ptr<SsdDisk> Disk() {
    Result<SsdDirectory> directory =
        SsdDirectory::Open({.path = directory_.path(), .owner_text = "test", .allow_io_uring = GetParam()});
    EXPECT_TRUE(directory.ok());
    if (!directory.ok()) return nullptr;
    identity_ = directory->identity();
    Result<std::unique_ptr<SsdDisk>> disk = directory->TakeDisk();
    EXPECT_TRUE(disk.ok());
    return disk.ok() ? std::move(*disk) : nullptr;
  }
  void Open() {
    std::unique_ptr<SsdDisk> disk = Disk();
    ASSERT_NE(disk, nullptr);
    const SsdLog::Options options{
        .capacity_bytes = kCapacity, .region_bytes = uint64_t{1} << 20, .node_identity = identity_};
    Result<std::unique_ptr<SsdLog>> log = SsdLog::Open(
        {.disk = std::move(disk), .options = options, .listener = &listener_, .clock = &clock_}, nullptr, &counts_);
    ASSERT_TRUE(log.ok()) << log.error().Describe();
    log_ = std::move(*log);
  }
  // The answer to one call.
  template <class Start>
  Status Wait(Start start) {
    Mutex mutex;
    CondVar condition;
    std::optional<Status> answer;
    start([&](const Status& status) {
      MutexLock lock(mutex);
      answer = status;
      condition.NotifyAll();
    });
    MutexLock lock(mutex);
    for (int i = 0; i < 600 && !answer; ++i) condition.WaitFor(mutex, std::chrono::milliseconds(100));
    EXPECT_TRUE(answer.has_value()) << "no answer within a minute";
    return answer.value_or(Status(ErrorCode::kUnavailable));
  }
  static uint64_t BytesOf(uint64_t counter) { return counter * 7919 % 200'000; }
  void Put(uint64_t counter) {
    const PageBuffer page(Pattern(BytesOf(counter), counter));
    const Status stored = Wait([&](auto done) {
      log_->Append({.id = Id(counter),
                    .bytes = page.bytes,
                    .checksum = Checksum(page.page()),
                    .description = "d",
                    .pieces = page.Pieces(),
                    .done = done});
    });
    ASSERT_TRUE(stored.ok()) << stored.error().Describe();
  }
  Status Read(uint64_t counter) {
    const PageBuffer page(BytesOf(counter));
    const Status read = Wait([&](auto done) { log_->Read(Id(counter), page.Pieces(), done); });
    if (read.ok()) {
      EXPECT_TRUE(std::ranges::equal(page.page(), Pattern(page.bytes, counter)));
    }
    return read;
  }

  const disk_test::TempDir directory_;
  SystemClock clock_;
  SsdListener listener_;
  uint64_t identity_ = 0;
  SsdLog::RecoveryCounts counts_;
  std::unique_ptr<SsdLog> log_;
};

TEST_P(SsdLogDiskTest, PagesAreBackAndTheDirectoryIsClean) {
  Open();
  for (uint64_t i = 1; i <= 400; ++i) Put(i);
  ASSERT_TRUE(log_->Remove(Id(399)).ok());
  ASSERT_TRUE(Wait([&](auto done) { log_->Sync(done); }).ok());
  const SsdLog::Stats stats = log_->GetStats();
  EXPECT_GT(stats.reclaimed_regions, 0u);
  EXPECT_EQ(stats.write_errors + stats.read_errors + stats.quarantined_pages, 0u);
  log_.reset();
  counts_ = {};
  Open();
  EXPECT_EQ(counts_.damaged_records + counts_.damaged_regions + counts_.scanned_regions, 0u);
  EXPECT_EQ(log_->GetStats().pages, counts_.pages);
  uint64_t readable = 0;
  for (uint64_t i = 1; i <= 400; ++i) readable += Read(i).ok() ? 1 : 0;
  EXPECT_EQ(readable, counts_.pages);
  EXPECT_EQ(Read(399).code(), ErrorCode::kNotFound);
  EXPECT_TRUE(Read(400).ok());
  log_.reset();
  std::unique_ptr<SsdDisk> disk = Disk();
  ASSERT_NE(disk, nullptr);
  const Result<SsdCheckSummary> checked = CheckDirectory(std::move(disk), {.node_identity = identity_}, nullptr);
  ASSERT_TRUE(checked.ok());
  EXPECT_TRUE(checked->clean());
  EXPECT_EQ(checked->live_records, counts_.pages);
  uint64_t taken = 0;
  for (const auto& file : std::filesystem::directory_iterator(directory_.path())) taken += file.file_size();
  EXPECT_LE(taken, kCapacity);
}

INSTANTIATE_TEST_SUITE_P(Disks, SsdLogDiskTest, testing::Bool(),
                         [](const auto& parameter) { return parameter.param ? "IoUring" : "Plain"; });

}  // namespace
}  // namespace kvpagefs
