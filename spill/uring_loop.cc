// UringThread on its own thread.
#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>

#include <poll.h>
#include <unistd.h>

#include "spill/uring_thread.h"

namespace kvpagefs {
namespace {

using std::chrono::nanoseconds;

constexpr uint64_t kWakeTag = UINT64_MAX;
constexpr nanoseconds kIdle = std::chrono::seconds(1);
constexpr nanoseconds kSoon = std::chrono::milliseconds(10);  // while another thing than a completion is waited for
constexpr int kMaxFailedEnters = 10'000;                      // a millisecond each
constexpr size_t kReapBatch = 64;

bool IsPassing(int32_t result) { return result >= 0 || result == -EINTR || result == -EAGAIN || result == -ECANCELED; }

}  // namespace

Status UringThread::SetUp() {
  // One entry more for the wake-up.
  Result<std::unique_ptr<UringRing>> ring = UringRing::Create(options_.queue_depth + 1);
  if (!ring.ok()) return ring.error();
  ring_ = std::move(*ring);
  slots_.resize(options_.queue_depth);
  for (uint32_t slot = options_.queue_depth; slot > 0; --slot) free_slots_.push_back(slot - 1);
  ring_->StartWakePoll(eventfd_.get(), kWakeTag);
  return {};
}

void UringThread::Loop() {
  while (!IsOver()) {
    RunCommands();
    TakeWork();
    Enter(TimeToWait());
    RunFinished();
    Reap();
  }
}

void UringThread::RunCommands() {
  std::vector<std::shared_ptr<Command>> commands;
  {
    const MutexLock lock(mutex_);
    commands.swap(commands_);
  }
  for (const std::shared_ptr<Command>& command : commands) {
    Status result = command->call(*ring_);
    command->call = nullptr;
    const MutexLock lock(mutex_);
    command->result = std::move(result);
  }
  if (!commands.empty()) changed_.NotifyAll();
}

void UringThread::TakeWork() {
  std::vector<std::unique_ptr<Transfer>> starting;
  std::vector<std::unique_ptr<Transfer>> refused;
  {
    const MutexLock lock(mutex_);
    if (!commands_.empty()) return;  // They come first.
    while (!queue_.empty() && (given_up_ || starting.size() < free_slots_.size())) {
      starting.push_back(std::move(queue_.front()));
      queue_.pop_front();
    }
    refused.swap(refused_);
  }
  for (std::unique_ptr<Transfer>& transfer : starting) StartTransfer(std::move(transfer));
  for (std::unique_ptr<Transfer>& transfer : refused) {
    finished_.push_back({std::move(transfer), Error(ErrorCode::kWouldBlock, "the disk's queue is full")});
  }
}

void UringThread::StartTransfer(std::unique_ptr<Transfer> transfer) {
  if (given_up_) return Transfer::GiveUp(transfer->TakeDone());
  if (std::optional<Status> early = transfer->Early(); early.has_value()) {
    finished_.push_back({std::move(transfer), *std::move(early)});
    return;
  }
  const uint32_t slot = free_slots_.back();
  free_slots_.pop_back();
  ring_->Start(*transfer, slot);
  slots_[slot] = std::move(transfer);
}

nanoseconds UringThread::TimeToWait() {
  if (!finished_.empty()) return nanoseconds(0);
  const MutexLock lock(mutex_);
  const bool work = !commands_.empty() || !refused_.empty() || (!queue_.empty() && !free_slots_.empty());
  if (work) return nanoseconds(0);
  if (stop_deadline_ns_ != 0 || !wake_works_) return kSoon;
  asleep_ = true;
  return kIdle;
}

void UringThread::Enter(nanoseconds time) {
  const bool entered = ring_->Enter(time);
  if (time == kIdle) {
    const MutexLock lock(mutex_);
    asleep_ = false;
  }
  if (entered) {
    failed_enters_ = 0;
    return;
  }
  // Memory comes back within moments, or something forbids this process to use the ring that it has.
  poll(nullptr, 0, 1);
  if (++failed_enters_ == kMaxFailedEnters) GiveUp();
}

void UringThread::RunFinished() {
  std::vector<Finished> finished;
  finished.swap(finished_);
  for (Finished& one : finished) one.transfer->Finish(one.status);
}

void UringThread::Reap() {
  std::array<UringRing::Completion, kReapBatch> completions;
  size_t count = 0;
  do {
    count = ring_->Reap(completions);
    for (const UringRing::Completion& one : std::span(completions).first(count)) {
      if (one.tag == kWakeTag) {
        OnWake(one.result);
      } else {
        OnCompletion(static_cast<uint32_t>(one.tag), one.result);
      }
    }
  } while (count == completions.size());
}

void UringThread::OnWake(int32_t result) {
  // An eventfd that cannot be read would be asked in a circle: look every few milliseconds instead.
  uint64_t number = 0;
  wake_works_ = IsPassing(result) && (read(eventfd_.get(), &number, sizeof(number)) > 0 || errno == EAGAIN);
  if (wake_works_) ring_->StartWakePoll(eventfd_.get(), kWakeTag);
}

void UringThread::OnCompletion(uint32_t slot, int32_t result) {
  std::unique_ptr<Transfer>& transfer = slots_[slot];
  assert(transfer != nullptr);
  if (!given_up_) {
    std::optional<Status> status = transfer->Advance(result);
    if (!status.has_value()) return ring_->Start(*transfer, slot);
    finished_.push_back({std::move(transfer), *std::move(status)});
  }
  transfer.reset();
  free_slots_.push_back(slot);
}

bool UringThread::IsOver() {
  const bool in_kernel = free_slots_.size() < slots_.size();
  if (!finished_.empty()) return false;
  End end = End::kNotYet;
  {
    const MutexLock lock(mutex_);
    if (stop_deadline_ns_ == 0) return false;
    if (!in_kernel && queue_.empty() && refused_.empty() && commands_.empty()) {
      if (end_ == End::kNotYet) end_ = End::kClean;
      end = end_;
    } else if (clock_.MonotonicNs() < stop_deadline_ns_ || end_ != End::kNotYet) {
      return false;
    }
  }
  if (end != End::kNotYet) {
    changed_.NotifyAll();
    return true;
  }
  GiveUp();
  TakeWork();
  RunFinished();
  const MutexLock lock(mutex_);
  end_ = End::kGivenUp;
  changed_.NotifyAll();
  return false;
}

void UringThread::GiveUp() {
  if (std::exchange(given_up_, true)) return;
  // They stay in their places: the kernel may still write to their pieces.
  for (const std::unique_ptr<Transfer>& transfer : slots_) {
    if (transfer != nullptr) Transfer::GiveUp(transfer->TakeDone());
  }
}

}  // namespace kvpagefs
