#include "fs/kernel_notifier.h"

#include <chrono>
#include <utility>

namespace kvpagefs {

void KernelNotifier::Start(Send send) {
  {
    MutexLock lock(mutex_);
    running_ = true;
  }
  thread_ = std::thread([this, send = std::move(send)] { Run(send); });
}

void KernelNotifier::Stop() {
  {
    MutexLock lock(mutex_);
    running_ = false;
    queue_.clear();
  }
  wake_.NotifyAll();
  if (thread_.joinable()) thread_.join();
}

void KernelNotifier::Invalidate(std::span<const NameRef> names) {
  MutexLock lock(mutex_);
  if (!running_) return;
  for (const NameRef& name : names) {
    if (queue_.size() >= kMaxQueued) {
      counters_->Add(Counter::kNotificationsDropped);
      continue;
    }
    queue_.push_back(name);
  }
  wake_.NotifyOne();
}

void KernelNotifier::Run(const Send& send) {
  for (;;) {
    NameRef name;
    {
      MutexLock lock(mutex_);
      while (running_ && queue_.empty()) wake_.WaitFor(mutex_, std::chrono::seconds(1));
      if (!running_) return;
      name = std::move(queue_.front());
      queue_.pop_front();
    }
    send(name);
    counters_->Add(Counter::kNotifications);
  }
}

}  // namespace kvpagefs
