#include "spill/plain_disk.h"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <chrono>
#include <system_error>
#include <utility>

#include <unistd.h>

#include "base/clock.h"

namespace kvpagefs {
namespace {

constexpr std::chrono::nanoseconds kCheck = std::chrono::seconds(1);

// Bytes, or -errno.
int64_t Ask(const Transfer& transfer) {
  const std::span<const iovec> rest = transfer.Rest();
  const int fd = transfer.file().fd;
  const auto pieces = static_cast<int>(rest.size());
  const auto offset = static_cast<off_t>(transfer.offset());
  int64_t result = 0;
  switch (transfer.kind()) {
    case SsdDisk::IoKind::kRead: result = preadv(fd, rest.data(), pieces, offset); break;
    case SsdDisk::IoKind::kWrite: result = pwritev(fd, rest.data(), pieces, offset); break;
    case SsdDisk::IoKind::kSync: result = fdatasync(fd); break;
  }
  return result < 0 ? -errno : result;
}

Status Perform(Transfer& transfer) {
  std::optional<Status> status = transfer.Early();
  while (!status.has_value()) status = transfer.Advance(Ask(transfer));
  return *std::move(status);
}

}  // namespace

// Shared with the threads, which keep it when they are left behind.
struct PlainDisk::Pool {
  Mutex mutex;
  CondVar work;
  CondVar changed;
  std::deque<std::unique_ptr<Transfer>> queue KVP_GUARDED_BY(mutex);
  std::vector<std::unique_ptr<Transfer>> refused KVP_GUARDED_BY(mutex);
  std::vector<Transfer*> in_kernel KVP_GUARDED_BY(mutex);
  size_t max_queued = 0;
  size_t threads KVP_GUARDED_BY(mutex) = 0;
  bool stopping KVP_GUARDED_BY(mutex) = false;
  bool given_up KVP_GUARDED_BY(mutex) = false;
  std::shared_ptr<void> keep;

  // Null: the end.
  std::unique_ptr<Transfer> Next(bool* is_refused) {
    const MutexLock lock(mutex);
    while (queue.empty() && refused.empty() && !stopping) work.WaitFor(mutex, kCheck);
    *is_refused = !refused.empty();
    std::unique_ptr<Transfer> next;
    if (*is_refused) {
      next = std::move(refused.back());
      refused.pop_back();
    } else if (!queue.empty()) {
      next = std::move(queue.front());
      queue.pop_front();
      in_kernel.push_back(next.get());
    }
    return next;
  }

  // Whether the answer is still wanted.
  bool TakeBack(const Transfer* transfer) {
    const MutexLock lock(mutex);
    if (given_up) return false;
    std::erase(in_kernel, transfer);
    return true;
  }

  void Work() {
    bool is_refused = false;
    while (std::unique_ptr<Transfer> transfer = Next(&is_refused)) {
      if (is_refused) {
        transfer->Finish(Error(ErrorCode::kWouldBlock, "the disk's queue is full"));
        continue;
      }
      const Status status = Perform(*transfer);
      if (TakeBack(transfer.get())) transfer->Finish(status);
    }
    const MutexLock lock(mutex);
    --threads;
    changed.NotifyAll();
  }
};

Result<std::unique_ptr<PlainDisk>> PlainDisk::Create(std::shared_ptr<DiskFiles> files, const Options& options) {
  std::unique_ptr<PlainDisk> disk(new PlainDisk(std::move(files), options));
  for (uint32_t i = 0; i < std::max(1U, options.threads); ++i) {
    {
      const MutexLock lock(disk->pool_->mutex);
      ++disk->pool_->threads;
    }
    try {
      disk->threads_.emplace_back([pool = disk->pool_] { pool->Work(); });
    } catch (const std::system_error& error) {
      const MutexLock lock(disk->pool_->mutex);
      --disk->pool_->threads;
      // With one the rest is only faster.
      if (i == 0) return Error::FromSystem(error.code().value(), "thread for the disk");
      break;
    }
  }
  return disk;
}

PlainDisk::PlainDisk(std::shared_ptr<DiskFiles> files, const Options& options)
    : FileDisk(std::move(files)), options_(options), pool_(std::make_shared<Pool>()) {
  pool_->max_queued = options.max_queued;
  pool_->keep = this->files();
}

PlainDisk::~PlainDisk() {
  const SystemClock clock;
  const int64_t deadline = clock.MonotonicNs() + options_.drain_ns;
  std::vector<std::function<void(const Status&)>> silent;
  bool all_ended = false;
  {
    const MutexLock lock(pool_->mutex);
    pool_->stopping = true;
    pool_->work.NotifyAll();
    while (pool_->threads > 0 && clock.MonotonicNs() < deadline) {
      pool_->changed.WaitFor(pool_->mutex, std::chrono::nanoseconds(deadline - clock.MonotonicNs()));
    }
    all_ended = pool_->threads == 0;
    if (!all_ended) {
      pool_->given_up = true;
      for (Transfer* transfer : pool_->in_kernel) silent.push_back(transfer->TakeDone());
      for (const auto& transfer : pool_->queue) silent.push_back(transfer->TakeDone());
      for (const auto& transfer : pool_->refused) silent.push_back(transfer->TakeDone());
      pool_->queue.clear();
      pool_->refused.clear();
    }
  }
  for (std::thread& thread : threads_) {
    if (all_ended) {
      thread.join();
    } else {
      thread.detach();
    }
  }
  for (const auto& done : silent) Transfer::GiveUp(done);
}

void PlainDisk::Submit(std::vector<Io> batch) {
  std::vector<std::unique_ptr<Transfer>> transfers = MakeTransfers(std::move(batch));
  const MutexLock lock(pool_->mutex);
  for (std::unique_ptr<Transfer>& transfer : transfers) {
    if (pool_->queue.size() < pool_->max_queued) {
      pool_->queue.push_back(std::move(transfer));
    } else {
      pool_->refused.push_back(std::move(transfer));
    }
    pool_->work.NotifyOne();
  }
}

Status PlainDisk::RegisterMemory(std::span<const iovec> /*memory*/) { return {}; }

SsdDisk::Info PlainDisk::GetInfo() const {
  return {.uses_io_uring = false, .direct = IsDirect(), .registered_bytes = 0, .note = options_.note};
}

}  // namespace kvpagefs
