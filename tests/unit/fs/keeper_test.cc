#include "fs/keeper.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>

namespace kvpagefs {
namespace {

constexpr std::chrono::seconds kDeadline{60};

class KeeperTest : public testing::Test {
 protected:
  Keeper::Work MakeWork() {
    Keeper::Work work;
    work.evict_step = [this] {
      Count(&evictions_);
      return --steps_left_ > 0;
    };
    work.retry_waiters = [this] {
      next_deadline_ns_.store(0);
      Count(&retries_);
    };
    work.next_deadline_ns = [this] { return next_deadline_ns_.load(); };
    work.chore = [this] { Count(&chores_); };
    work.now_ns = [this] { return now_ns_.load(); };
    return work;
  }
  void Count(int* what) {
    MutexLock lock(mutex_);
    ++*what;
    changed_.NotifyAll();
  }
  bool Reaches(const int* what, int times) {
    const auto end = std::chrono::steady_clock::now() + kDeadline;
    MutexLock lock(mutex_);
    while (*what < times) {
      if (std::chrono::steady_clock::now() > end) return false;
      changed_.WaitFor(mutex_, std::chrono::milliseconds(100));
    }
    return true;
  }
  int Now(const int* what) {
    MutexLock lock(mutex_);
    return *what;
  }

  std::atomic<int64_t> now_ns_{1};
  std::atomic<int64_t> next_deadline_ns_{0};
  std::atomic<int> steps_left_{1};
  Mutex mutex_;
  CondVar changed_;
  int evictions_ = 0;
  int retries_ = 0;
  int chores_ = 0;
  Keeper keeper_;
};

TEST_F(KeeperTest, EvictsStepByStepUntilThereIsNoMore) {
  steps_left_.store(3);
  keeper_.Start(MakeWork());
  keeper_.RequestEviction();
  EXPECT_TRUE(Reaches(&evictions_, 3));
  keeper_.Stop();
  EXPECT_EQ(Now(&evictions_), 3);
  EXPECT_EQ(Now(&retries_), 0);
}

TEST_F(KeeperTest, RetriesBetweenEvictionSteps) {
  steps_left_.store(1'000'000);
  keeper_.Start(MakeWork());
  keeper_.RequestEviction();
  ASSERT_TRUE(Reaches(&evictions_, 1));
  keeper_.RequestRetry();
  EXPECT_TRUE(Reaches(&retries_, 1)) << "a long eviction must not starve those who wait";
}

TEST_F(KeeperTest, RetriesAtTheDeadline) {
  next_deadline_ns_.store(1);
  keeper_.Start(MakeWork());
  EXPECT_TRUE(Reaches(&retries_, 1));
}

TEST_F(KeeperTest, ChoresComeWithTime) {
  keeper_.Start(MakeWork());
  keeper_.RequestRetry();
  ASSERT_TRUE(Reaches(&retries_, 1));
  EXPECT_EQ(Now(&chores_), 0);
  now_ns_.store(2'000'000'000);
  keeper_.RequestRetry();
  EXPECT_TRUE(Reaches(&chores_, 1));
}

TEST_F(KeeperTest, StopsTwiceAndWithoutStart) {
  keeper_.Stop();
  keeper_.Start(MakeWork());
  keeper_.Stop();
  keeper_.Stop();
  keeper_.RequestEviction();
  keeper_.RequestRetry();
  EXPECT_EQ(Now(&evictions_), 0);
}

}  // namespace
}  // namespace kvpagefs
