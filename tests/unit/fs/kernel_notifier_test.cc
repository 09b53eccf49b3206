#include "fs/kernel_notifier.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

namespace kvpagefs {
namespace {

constexpr std::chrono::seconds kDeadline{60};

// A kernel that can be made to keep a notification waiting.
class KernelNotifierTest : public testing::Test {
 protected:
  void Start(bool blocked) {
    {
      MutexLock lock(mutex_);
      blocked_ = blocked;
    }
    notifier_.Start([this](const NameRef& name) {
      MutexLock lock(mutex_);
      sent_.push_back(name.name);
      changed_.NotifyAll();
      while (blocked_) changed_.WaitFor(mutex_, std::chrono::seconds(1));
    });
  }
  void Unblock() {
    MutexLock lock(mutex_);
    blocked_ = false;
    changed_.NotifyAll();
  }
  bool Reaches(size_t count) {
    const auto end = std::chrono::steady_clock::now() + kDeadline;
    MutexLock lock(mutex_);
    while (sent_.size() < count) {
      if (std::chrono::steady_clock::now() > end) return false;
      changed_.WaitFor(mutex_, std::chrono::milliseconds(100));
    }
    return true;
  }
  size_t sent() {
    MutexLock lock(mutex_);
    return sent_.size();
  }
  static std::vector<NameRef> Names(size_t count) { return std::vector<NameRef>(count, NameRef{kRootDir, "n"}); }

  Counters counters_;
  Mutex mutex_;
  CondVar changed_;
  bool blocked_ KVP_GUARDED_BY(mutex_) = false;
  std::vector<std::string> sent_ KVP_GUARDED_BY(mutex_);
  KernelNotifier notifier_{&counters_};
};

TEST_F(KernelNotifierTest, SendsInOrder) {
  Start(/*blocked=*/false);
  notifier_.Invalidate(std::vector<NameRef>{{kRootDir, "a"}, {kRootDir, "b"}});
  notifier_.Invalidate(std::vector<NameRef>{{kRootDir, "c"}});
  ASSERT_TRUE(Reaches(3));
  notifier_.Stop();
  MutexLock lock(mutex_);
  EXPECT_EQ(sent_, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(counters_.Get(Counter::kNotifications), 3u);
}

TEST_F(KernelNotifierTest, QueueIsBounded) {
  Start(/*blocked=*/true);
  notifier_.Invalidate(Names(1));
  ASSERT_TRUE(Reaches(1)) << "the first is with the kernel";
  notifier_.Invalidate(Names(KernelNotifier::kMaxQueued + 5));
  EXPECT_EQ(counters_.Get(Counter::kNotificationsDropped), 5u);
  Unblock();
  EXPECT_TRUE(Reaches(1 + KernelNotifier::kMaxQueued));
}

TEST_F(KernelNotifierTest, StopDropsTheRestAndLaterOnesDoNothing) {
  Start(/*blocked=*/true);
  notifier_.Invalidate(Names(1));
  ASSERT_TRUE(Reaches(1));
  notifier_.Invalidate(Names(100));
  std::thread stop([this] { notifier_.Stop(); });
  // The stop clears the queue before it waits for the one under way.
  Unblock();
  stop.join();
  const size_t before = sent();
  EXPECT_LE(before, 101u);
  notifier_.Invalidate(Names(10));
  EXPECT_EQ(sent(), before);
  Start(/*blocked=*/false);
  notifier_.Invalidate(Names(1));
  EXPECT_TRUE(Reaches(before + 1)) << "a second session";
}

TEST_F(KernelNotifierTest, WithoutAStartNothingIsQueued) {
  notifier_.Invalidate(Names(3));
  notifier_.Stop();
  EXPECT_EQ(sent(), 0u);
  EXPECT_EQ(counters_.Get(Counter::kNotificationsDropped), 0u);
}

}  // namespace
}  // namespace kvpagefs
