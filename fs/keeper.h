// The node's background thread: evicts from the high to the low watermark in small steps, retries requests that wait
// for space, and runs a periodic chore.
#pragma once

#include <cstdint>
#include <functional>
#include <thread>

#include "base/mutex.h"

namespace kvpagefs {

class Keeper {
 public:
  struct Work {
    std::function<bool()> evict_step;  // true: there is more to evict
    std::function<void()> retry_waiters;
    std::function<int64_t()> next_deadline_ns;  // monotonic; 0: none
    std::function<void()> chore;                // about once a second
    std::function<int64_t()> now_ns;            // monotonic
  };

  ~Keeper() { Stop(); }
  void Start(Work work);
  void Stop();

  // Any thread; return at once.
  void RequestEviction();
  void RequestRetry();

 private:
  void Run();
  // What woke the thread up.
  struct Reasons {
    bool stop = false;
    bool evict = false;
    bool retry = false;
  };
  Reasons WaitForWork();

  Work work_;
  Mutex mutex_;
  CondVar wake_;
  bool running_ KVP_GUARDED_BY(mutex_) = false;
  bool evict_ KVP_GUARDED_BY(mutex_) = false;
  bool retry_ KVP_GUARDED_BY(mutex_) = false;
  int64_t next_chore_ns_ = 0;
  std::thread thread_;
};

}  // namespace kvpagefs
