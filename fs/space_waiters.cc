#include "fs/space_waiters.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace kvpagefs {
namespace {

bool Contains(const std::vector<uint64_t>& tickets, uint64_t ticket) {
  return std::find(tickets.begin(), tickets.end(), ticket) != tickets.end();
}

}  // namespace

bool SpaceWaiters::Park(Waiter& waiter) {
  MutexLock lock(mutex_);
  if (parked_.size() + in_retry_.size() >= kMaxParked) return false;
  if (std::erase(interrupted_, waiter.ticket) > 0) waiter.interrupted = true;
  parked_.push_back(std::move(waiter));
  counters_->Add(Counter::kSpaceWaits);
  return true;
}

bool SpaceWaiters::Interrupt(uint64_t ticket) {
  MutexLock lock(mutex_);
  for (Waiter& waiter : parked_) {
    if (waiter.ticket != ticket) continue;
    waiter.interrupted = true;
    return true;
  }
  interrupted_.push_back(ticket);
  return Contains(in_retry_, ticket);
}

void SpaceWaiters::Retry(int64_t now_ns) {
  std::vector<Waiter> work;
  {
    MutexLock lock(mutex_);
    if (!in_retry_.empty()) return;  // another thread is at it
    work = std::exchange(parked_, {});
    for (const Waiter& waiter : work) in_retry_.push_back(waiter.ticket);
  }
  std::vector<Waiter> still;
  for (Waiter& waiter : work) {
    if (waiter.interrupted) {
      counters_->Add(Counter::kInterrupted);
      waiter.answer(ErrorCode::kInterrupted);
      continue;
    }
    std::optional<Status> status = waiter.attempt();
    if (!status && waiter.deadline_ns <= now_ns && waiter.last_resort) {
      waiter.last_resort();
      status = waiter.attempt();
    }
    if (status) {
      waiter.answer(*status);
    } else if (waiter.deadline_ns <= now_ns) {
      counters_->Add(Counter::kSpaceWaitTimeouts);
      waiter.answer(ErrorCode::kNoSpace);
    } else {
      still.push_back(std::move(waiter));
    }
  }
  MutexLock lock(mutex_);
  for (const uint64_t ticket : in_retry_) {
    const bool waits =
        std::any_of(still.begin(), still.end(), [ticket](const Waiter& waiter) { return waiter.ticket == ticket; });
    if (!waits) std::erase(interrupted_, ticket);
  }
  for (Waiter& waiter : still) waiter.interrupted = std::erase(interrupted_, waiter.ticket) > 0;
  parked_.insert(parked_.begin(), std::make_move_iterator(still.begin()), std::make_move_iterator(still.end()));
  in_retry_.clear();
  retried_.NotifyAll();
}

void SpaceWaiters::AnswerAll(const Status& status) {
  std::vector<Waiter> work;
  {
    MutexLock lock(mutex_);
    while (!in_retry_.empty()) retried_.WaitFor(mutex_, std::chrono::seconds(1));
    work = std::exchange(parked_, {});
  }
  for (Waiter& waiter : work) waiter.answer(status);
}

int64_t SpaceWaiters::NextDeadline() const {
  MutexLock lock(mutex_);
  int64_t nearest = 0;
  for (const Waiter& waiter : parked_) {
    if (waiter.interrupted) return 1;
    if (nearest == 0 || waiter.deadline_ns < nearest) nearest = waiter.deadline_ns;
  }
  return nearest;
}

size_t SpaceWaiters::size() const {
  MutexLock lock(mutex_);
  return parked_.size() + in_retry_.size();
}

}  // namespace kvpagefs
