// Mutex, lock and condition variable with clang's thread-safety annotations
// (https://clang.llvm.org/docs/ThreadSafetyAnalysis.html). The lock order of the program is in ARCHITECTURE.md.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#if defined(__clang__)
#define KVP_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define KVP_THREAD_ANNOTATION(x)
#endif
#define KVP_CAPABILITY(x) KVP_THREAD_ANNOTATION(capability(x))
#define KVP_SCOPED_CAPABILITY KVP_THREAD_ANNOTATION(scoped_lockable)
#define KVP_GUARDED_BY(x) KVP_THREAD_ANNOTATION(guarded_by(x))
#define KVP_PT_GUARDED_BY(x) KVP_THREAD_ANNOTATION(pt_guarded_by(x))
#define KVP_REQUIRES(...) KVP_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
#define KVP_EXCLUDES(...) KVP_THREAD_ANNOTATION(locks_excluded(__VA_ARGS__))
#define KVP_ACQUIRE(...) KVP_THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))
#define KVP_RELEASE(...) KVP_THREAD_ANNOTATION(release_capability(__VA_ARGS__))
#define KVP_NO_THREAD_SAFETY_ANALYSIS KVP_THREAD_ANNOTATION(no_thread_safety_analysis)

namespace kvpagefs {

class KVP_CAPABILITY("mutex") Mutex {
 public:
  void lock() KVP_ACQUIRE() { mutex_.lock(); }
  void unlock() KVP_RELEASE() { mutex_.unlock(); }

 private:
  friend class CondVar;
  std::mutex mutex_;
};

class KVP_SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) KVP_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~MutexLock() KVP_RELEASE() { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

// Waits always have a deadline; spurious wake-ups happen, so callers loop over their condition.
class CondVar {
 public:
  // False when the time is over.
  bool WaitFor(Mutex& mutex, std::chrono::nanoseconds time) KVP_REQUIRES(mutex) KVP_NO_THREAD_SAFETY_ANALYSIS {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    const bool woken = condition_.wait_for(lock, time) == std::cv_status::no_timeout;
    lock.release();
    return woken;
  }
  void NotifyOne() { condition_.notify_one(); }
  void NotifyAll() { condition_.notify_all(); }

 private:
  std::condition_variable condition_;
};

}  // namespace kvpagefs
