// Tells the kernel that a name is gone, from a thread of its own: such a notification waits for the directory's lock in
// the kernel, which may be held by the very operation that caused it.
//
// The queue is bounded; what does not fit is left to the entry time-out, which is always safe, because open is decided
// here and not in the kernel. Any thread.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <span>
#include <thread>

#include "base/mutex.h"
#include "fs/counters.h"
#include "meta/types.h"

namespace kvpagefs {

class KernelNotifier {
 public:
  static constexpr size_t kMaxQueued = 65'536;
  using Send = std::function<void(const NameRef&)>;

  explicit KernelNotifier(Counters* counters) : counters_(counters) {}
  ~KernelNotifier() { Stop(); }

  void Start(Send send);
  // Returns when the thread is gone; later Invalidate calls do nothing.
  void Stop();
  void Invalidate(std::span<const NameRef> names);

 private:
  void Run(const Send& send);

  Counters* const counters_;
  Mutex mutex_;
  CondVar wake_;
  std::deque<NameRef> queue_ KVP_GUARDED_BY(mutex_);
  bool running_ KVP_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace kvpagefs
