#include "spill/io_loop.h"

namespace kvpagefs {

void IoLoop::Start(IoTask task) {
  task.Resume();
  if (!task.done()) tasks_.push_back(std::move(task));
}

bool IoLoop::RunReady() {
  std::vector<std::coroutine_handle<>> ready;
  {
    MutexLock lock(mutex_);
    ready.swap(ready_);
  }
  for (size_t i = 0; i < waiting_.size();) {
    if ((*waiting_[i].condition)()) {
      ready.push_back(waiting_[i].handle);
      waiting_.erase(waiting_.begin() + static_cast<ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
  for (const std::coroutine_handle<> handle : ready) handle.resume();
  std::erase_if(tasks_, [](const IoTask& task) { return task.done(); });
  return !ready.empty();
}

void IoLoop::Ready(std::coroutine_handle<> handle) {
  {
    MutexLock lock(mutex_);
    ready_.push_back(handle);
  }
  wake_();
}

void IoLoop::TransferAwaiter::await_suspend(std::coroutine_handle<> handle) {
  io_.done = [this, handle](const Status& status) {
    status_ = status;
    loop_->Ready(handle);
  };
  std::vector<SsdDisk::Io> batch;
  batch.push_back(std::move(io_));
  loop_->disk_->Submit(std::move(batch));
}

IoLoop::TransferAwaiter IoLoop::Transfer(SsdDisk::IoKind kind, SsdDisk::FileId file, uint64_t offset, iovec piece) {
  return {this, SsdDisk::Io{.kind = kind, .file = file, .offset = offset, .pieces = {piece}, .done = nullptr}};
}

IoLoop::TransferAwaiter IoLoop::Sync(SsdDisk::FileId file) {
  return {this, SsdDisk::Io{.kind = SsdDisk::IoKind::kSync, .file = file, .offset = 0, .pieces = {}, .done = nullptr}};
}

}  // namespace kvpagefs
