// Requests that need space which is only held at the moment: retried whenever a hold goes, answered with ENOSPC at
// their deadline and with EINTR when their process is interrupted. Nobody waits when everything is pinned.
//
// Invariants:
//  S1 every parked request is answered exactly once, by Retry or AnswerAll.
//  S2 at most kMaxParked are parked; they own copies of at most 1 MiB each.
// Any thread may park, retry or interrupt; answers are given without the lock.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "fs/counters.h"

namespace kvpagefs {

class SpaceWaiters {
 public:
  static constexpr size_t kMaxParked = 64;

  struct Waiter {
    std::function<std::optional<Status>()> attempt;  // nothing: there is still no room, but waiting makes sense
    std::function<void(const Status&)> answer;       // exactly once
    std::function<void()> last_resort;               // at the deadline, before a last attempt; may be empty
    int64_t deadline_ns = 0;                         // monotonic
    uint64_t ticket = 0;                             // for Interrupt; unique
    bool interrupted = false;
  };

  explicit SpaceWaiters(Counters* counters) : counters_(counters) {}

  // False when too many wait already; the waiter is then untouched.
  bool Park(Waiter& waiter);
  // Marks; the next Retry answers. A ticket that is not parked yet is marked for its Park. True when it was parked.
  bool Interrupt(uint64_t ticket);
  // Attempts all in order of arrival, answers those that are done, interrupted or too late.
  void Retry(int64_t now_ns);
  // Answers everything that still waits, also what a Retry of another thread has in hand (shutdown).
  void AnswerAll(const Status& status);
  // The nearest deadline; 0 when nobody waits.
  int64_t NextDeadline() const;
  size_t size() const;

 private:
  Counters* const counters_;
  mutable Mutex mutex_;
  std::vector<Waiter> parked_ KVP_GUARDED_BY(mutex_);
  // While Retry works on waiters outside of the lock, their tickets can still be interrupted.
  std::vector<uint64_t> interrupted_ KVP_GUARDED_BY(mutex_);
  std::vector<uint64_t> in_retry_ KVP_GUARDED_BY(mutex_);
  CondVar retried_;
};

}  // namespace kvpagefs
