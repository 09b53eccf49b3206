#include "fs/keeper.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace kvpagefs {
namespace {
constexpr int64_t kChoreIntervalNs = 1'000'000'000;
}

void Keeper::Start(Work work) {
  work_ = std::move(work);
  next_chore_ns_ = work_.now_ns() + kChoreIntervalNs;
  {
    MutexLock lock(mutex_);
    running_ = true;
  }
  thread_ = std::thread([this] { Run(); });
}

void Keeper::Stop() {
  {
    MutexLock lock(mutex_);
    running_ = false;
  }
  wake_.NotifyAll();
  if (thread_.joinable()) thread_.join();
}

void Keeper::RequestEviction() {
  MutexLock lock(mutex_);
  evict_ = true;
  wake_.NotifyOne();
}

void Keeper::RequestRetry() {
  MutexLock lock(mutex_);
  retry_ = true;
  wake_.NotifyOne();
}

Keeper::Reasons Keeper::WaitForWork() {
  const int64_t deadline_ns = work_.next_deadline_ns();
  const int64_t until_ns = deadline_ns == 0 ? next_chore_ns_ : std::min(next_chore_ns_, deadline_ns);
  MutexLock lock(mutex_);
  while (running_ && !evict_ && !retry_) {
    const int64_t now_ns = work_.now_ns();
    if (now_ns >= until_ns) break;
    wake_.WaitFor(mutex_, std::chrono::nanoseconds(until_ns - now_ns));
  }
  const bool timed_out = deadline_ns != 0 && work_.now_ns() >= deadline_ns;
  return Reasons{!running_, std::exchange(evict_, false), std::exchange(retry_, false) || timed_out};
}

void Keeper::Run() {
  for (;;) {
    const Reasons reasons = WaitForWork();
    if (reasons.stop) return;
    if (reasons.retry) work_.retry_waiters();
    if (reasons.evict && work_.evict_step()) RequestEviction();
    if (work_.now_ns() >= next_chore_ns_) {
      work_.chore();
      next_chore_ns_ = work_.now_ns() + kChoreIntervalNs;
    }
  }
}

}  // namespace kvpagefs
