// The thread that owns the ring: takes transfers from a queue, starts as many as the depth allows, and finishes them.
// Private to spill/.
//
// One round: start what is queued, one system call that hands over and waits, run the `done` of the round before, reap.
// So the device has its next transfers before the `done` of the last ones take their time.
//
// Threads: Submit, Run and Stop from any; the rest on the ring's thread. `done` and calls run without locks.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/result.h"
#include "spill/segment_source.h"
#include "spill/transfer.h"
#include "spill/uring_ring.h"

namespace kvpagefs {

class UringThread : public std::enable_shared_from_this<UringThread> {
 public:
  using Call = std::function<Status(UringRing&)>;

  struct Options {
    uint32_t queue_depth = 128;
    size_t max_queued = 0;
    int64_t drain_ns = 0;
    std::shared_ptr<void> keep;  // as long as the kernel may use something of this disk
  };
  // The ring's errors, and kUnavailable for a thread that cannot be had.
  static Result<std::shared_ptr<UringThread>> Start(Options options);
  ~UringThread() = default;
  UringThread(const UringThread&) = delete;
  UringThread& operator=(const UringThread&) = delete;

  void Submit(std::vector<std::unique_ptr<Transfer>> batch);
  // Runs the call on the ring's thread before every transfer that is submitted later, and waits up to `limit_ns` for
  // its end (kUnavailable; it still runs). 0: does not wait.
  Status Run(Call call, int64_t limit_ns);
  // Once, from another thread: ends when everything has its answer, see FileDisk::kDrainNs.
  void Stop();

 private:
  struct Command {
    Call call;
    std::optional<Status> result;  // guarded by mutex_
  };
  struct Finished {
    std::unique_ptr<Transfer> transfer;
    Status status;
  };

  enum class End : uint8_t {
    kNotYet,
    kClean,    // the kernel has answered everything
    kGivenUp,  // every transfer has its answer, but not from the kernel
  };

  UringThread(Options options, int eventfd);
  void Main();
  Status SetUp();
  void Loop();
  void TakeWork();
  void RunCommands();
  void StartTransfer(std::unique_ptr<Transfer> transfer);
  std::chrono::nanoseconds TimeToWait();
  void Enter(std::chrono::nanoseconds time);
  void RunFinished();
  void Reap();
  void OnWake(int32_t result);
  void OnCompletion(uint32_t slot, int32_t result);
  bool IsOver();
  void GiveUp();
  void Wake();

  const Options options_;
  const OwnedFd eventfd_;
  const SystemClock clock_;
  std::thread thread_;

  Mutex mutex_;
  CondVar changed_;
  std::deque<std::unique_ptr<Transfer>> queue_ KVP_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<Transfer>> refused_ KVP_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<Command>> commands_ KVP_GUARDED_BY(mutex_);
  std::optional<Status> set_up_ KVP_GUARDED_BY(mutex_);
  bool asleep_ KVP_GUARDED_BY(mutex_) = false;  // a wake-up is needed
  End end_ KVP_GUARDED_BY(mutex_) = End::kNotYet;
  int64_t stop_deadline_ns_ KVP_GUARDED_BY(mutex_) = 0;  // 0: not stopping

  // Of the ring's thread.
  std::unique_ptr<UringRing> ring_;
  std::vector<std::unique_ptr<Transfer>> slots_;  // in the kernel; the tag is the place
  std::vector<uint32_t> free_slots_;
  std::vector<Finished> finished_;
  bool wake_works_ = true;
  bool given_up_ = false;
  int failed_enters_ = 0;
};

}  // namespace kvpagefs
