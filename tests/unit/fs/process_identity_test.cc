#include "fs/process_identity.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <thread>

#include "fake_kernel/child_process.h"

namespace kvpagefs {
namespace {

// No Linux gives out thread ids as large as this (PID_MAX_LIMIT is 2^22).
constexpr uint32_t kUnknownTid = 1 << 23;

uint32_t Self() { return static_cast<uint32_t>(getpid()); }

// Another thread of this process, as long as it lives.
class OtherThread {
 public:
  OtherThread() : thread_([this] { Run(); }) { tid_ = started_.get_future().get(); }
  ~OtherThread() {
    end_.set_value();
    thread_.join();
  }
  uint32_t tid() const { return tid_; }

 private:
  void Run() {
    started_.set_value(static_cast<uint32_t>(gettid()));
    end_.get_future().wait();
  }
  std::promise<uint32_t> started_;
  std::promise<void> end_;
  std::thread thread_;
  uint32_t tid_ = 0;
};

TEST(ProcessIdentity, OwnThreads) {
  const OtherThread other;
  ASSERT_NE(other.tid(), Self());
  EXPECT_EQ(ProcessOfThread(Self()), Self());
  EXPECT_EQ(ProcessOfThread(other.tid()), Self());
  EXPECT_TRUE(ThreadInProcess(Self(), Self()));
  EXPECT_TRUE(ThreadInProcess(other.tid(), Self()));
}

TEST(ProcessIdentity, OtherProcess) {
  const ChildProcess child;
  EXPECT_EQ(ProcessOfThread(child.tid()), child.tid());
  EXPECT_FALSE(ThreadInProcess(child.tid(), Self()));
  EXPECT_FALSE(ThreadInProcess(Self(), child.tid()));
  EXPECT_FALSE(KilledBySignal(child.tid())) << "it lives";
}

TEST(ProcessIdentity, UnknownThread) {
  EXPECT_EQ(ProcessOfThread(kUnknownTid), 0u);
  EXPECT_FALSE(ThreadInProcess(kUnknownTid, Self()));
  EXPECT_FALSE(KilledBySignal(kUnknownTid));
  EXPECT_EQ(ProcessOfThread(0), 0u);
  EXPECT_FALSE(KilledBySignal(0));
  EXPECT_FALSE(ThreadInProcess(0, Self()));
  EXPECT_FALSE(ThreadInProcess(Self(), 0));
}

TEST(ProcessIdentity, KilledProcess) {
  const ChildProcess child;
  child.Kill();
  EXPECT_TRUE(KilledBySignal(child.tid()));
  EXPECT_TRUE(ThreadInProcess(child.tid(), child.tid()));
}

// What a process calls itself must not be taken for the fields behind its name.
TEST(ProcessIdentity, NameThatLooksLikeFields) {
  for (const char* name : {") R 1 1 1 1", "a) (b", ") ) ) )", "x\ny", "Tgid:\t1"}) {
    const ChildProcess child(name);
    EXPECT_FALSE(KilledBySignal(child.tid())) << name;
    EXPECT_EQ(ProcessOfThread(child.tid()), child.tid()) << name;
    child.Kill();
    EXPECT_TRUE(KilledBySignal(child.tid())) << name;
  }
}

TEST(ProcessIdentity, ProcessThatEndedByItselfWasNotKilled) {
  const pid_t pid = fork();
  ASSERT_GE(pid, 0);
  if (pid == 0) _exit(77);
  siginfo_t info{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT), 0);
  EXPECT_FALSE(KilledBySignal(static_cast<uint32_t>(pid)));
  waitpid(pid, nullptr, 0);
}

}  // namespace
}  // namespace kvpagefs
