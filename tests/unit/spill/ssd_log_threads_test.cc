// The log as it runs: its own thread, completions on the disk's, eight threads that use it.
#include <atomic>
#include <chrono>
#include <random>
#include <thread>

#include <gtest/gtest.h>

#include "unit/spill/ssd_log_fixture.h"

namespace kvpagefs {
namespace {

constexpr uint64_t kThreads = 8;
constexpr uint64_t kRounds = 150;

class Latch {
 public:
  void Set(const Status& status) {
    MutexLock lock(mutex_);
    status_ = status;
    condition_.NotifyAll();
  }
  Status Wait() {
    MutexLock lock(mutex_);
    for (int i = 0; i < 600 && !status_; ++i) condition_.WaitFor(mutex_, std::chrono::milliseconds(100));
    EXPECT_TRUE(status_.has_value()) << "no answer within a minute";
    return status_.value_or(Status(ErrorCode::kUnavailable));
  }

 private:
  Mutex mutex_;
  CondVar condition_;
  std::optional<Status> status_ KVP_GUARDED_BY(mutex_);
};

class QuietListener : public SsdLog::Listener {
 public:
  bool IsWanted(PageId id) override { return id.value % 5 == 0; }
  void OnGone(std::span<const PageId> pages) override { gone += pages.size(); }
  bool Describe(PageId /*id*/, std::string* /*description*/) override { return false; }
  std::atomic<uint64_t> gone = 0;
};

class SsdThreadsTest : public testing::Test {
 protected:
  static uint64_t BytesOf(uint64_t counter) { return counter * 7919 % 30'000; }

  void Open() {
    log_.reset();
    SsdLog::RecoveryCounts counts;
    recovered_ = 0;
    auto log = SsdLog::Open(
        {.disk = std::make_unique<SimDisk>(store_, true),
         .options = {.capacity_bytes = uint64_t{8} << 20, .region_bytes = uint64_t{512} << 10, .node_identity = 5},
         .listener = &listener_,
         .clock = &clock_},
        [this](const SsdLog::RecoveredPage&) { ++recovered_; }, &counts);
    ASSERT_TRUE(log.ok()) << log.error().Describe();
    log_ = std::move(*log);
  }
  Status Append(uint64_t counter) {
    const PageBuffer page(Pattern(BytesOf(counter), counter));
    Latch latch;
    log_->Append({.id = Id(counter),
                  .bytes = page.bytes,
                  .checksum = Checksum(page.page()),
                  .description = "page " + std::to_string(counter),
                  .pieces = page.Pieces(),
                  .done = [&latch](const Status& status) { latch.Set(status); }});
    return latch.Wait();
  }
  void Read(uint64_t counter) {
    const PageBuffer page(BytesOf(counter));
    Latch latch;
    log_->Read(Id(counter), page.Pieces(), [&latch](const Status& status) { latch.Set(status); });
    const Status read = latch.Wait();
    if (!read.ok()) {
      EXPECT_EQ(read.code(), ErrorCode::kNotFound);
      return;
    }
    EXPECT_TRUE(std::ranges::equal(page.page(), Pattern(page.bytes, counter)));
    ++read_;
  }
  void Work(uint64_t thread) {
    std::mt19937_64 random(thread);
    for (uint64_t round = 0; round < kRounds; ++round) {
      const uint64_t mine = thread * kRounds + round + 1;
      // Another thread may remove the page while it is on its way.
      const Status stored = Append(mine);
      EXPECT_TRUE(stored.ok() || stored.code() == ErrorCode::kNotFound) << stored.error().Describe();
      Read(mine);
      const uint64_t any = 1 + random() % (kThreads * kRounds);
      Read(any);
      if (random() % 4 == 0) (void)log_->Remove(Id(any));
      if (random() % 16 == 0) (void)log_->GetStats();
      if (random() % 16 == 0) {
        Latch latch;
        log_->Sync([&latch](const Status& status) { latch.Set(status); });
        EXPECT_TRUE(latch.Wait().ok());
      }
    }
  }

  SystemClock clock_;
  QuietListener listener_;
  std::shared_ptr<SimStore> store_ = std::make_shared<SimStore>(9);
  std::unique_ptr<SsdLog> log_;
  std::atomic<uint64_t> read_ = 0;
  uint64_t recovered_ = 0;
};

TEST_F(SsdThreadsTest, EverythingAtOnce) {
  Open();
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (uint64_t thread = 0; thread < kThreads; ++thread) threads.emplace_back([this, thread] { Work(thread); });
  for (std::thread& thread : threads) thread.join();
  const SsdLog::Stats stats = log_->GetStats();
  EXPECT_GT(stats.reclaimed_regions, 0u);
  EXPECT_EQ(stats.quarantined_pages + stats.read_errors + stats.write_errors, 0u);
  EXPECT_GT(read_, kThreads * kRounds);
  log_.reset();
  // The log's thread goes on until here.
  EXPECT_GE(listener_.gone, stats.dropped_pages);
  EXPECT_LE(store_->most_bytes, uint64_t{8} << 20);
  Open();
  EXPECT_LE(recovered_, stats.pages);
  EXPECT_GT(recovered_, 0u);
}

TEST_F(SsdThreadsTest, ClosingAnswersEverything) {
  Open();
  const PageBuffer page(Pattern(5'000, 1));
  std::atomic<int> answers = 0;
  for (uint64_t i = 1; i <= 200; ++i) {
    log_->Append({.id = Id(i),
                  .bytes = page.bytes,
                  .checksum = Checksum(page.page()),
                  .description = {},
                  .pieces = page.Pieces(),
                  .done = [&answers](const Status&) { ++answers; }});
  }
  log_.reset();
  EXPECT_EQ(answers, 200);
}

}  // namespace
}  // namespace kvpagefs
