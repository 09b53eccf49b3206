#include "spill/uring_disk.h"

#include <algorithm>
#include <utility>

#include "spill/uring_ring.h"
#include "spill/uring_thread.h"

namespace kvpagefs {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;
// Pinning also makes resident: a gigabyte takes about a second with small pages.
constexpr int64_t kRegisterLimitNs = 600 * kSecondNs;

}  // namespace

Result<std::unique_ptr<UringDisk>> UringDisk::Create(std::shared_ptr<DiskFiles> files, const Options& options) {
  Result<std::shared_ptr<UringThread>> thread =
      UringThread::Start({.queue_depth = std::clamp(options.queue_depth, uint32_t{1}, kMaxQueueDepth),
                          .max_queued = options.max_queued,
                          .drain_ns = options.drain_ns,
                          .keep = files});
  if (!thread.ok()) return thread.error();
  return std::unique_ptr<UringDisk>(new UringDisk(std::move(files), *std::move(thread)));
}

UringDisk::UringDisk(std::shared_ptr<DiskFiles> files, std::shared_ptr<UringThread> thread)
    : FileDisk(std::move(files)), thread_(std::move(thread)) {}

UringDisk::~UringDisk() { thread_->Stop(); }

void UringDisk::Submit(std::vector<Io> batch) { thread_->Submit(MakeTransfers(std::move(batch))); }

Status UringDisk::RegisterMemory(std::span<const iovec> memory) {
  uint64_t bytes = 0;
  for (const iovec& piece : memory) bytes += piece.iov_len;
  std::vector<iovec> pieces(memory.begin(), memory.end());
  const Status registered = thread_->Run(
      [pieces = std::move(pieces)](UringRing& ring) { return ring.RegisterMemory(pieces); }, kRegisterLimitNs);
  const MutexLock lock(mutex_);
  registered_bytes_ = registered.ok() ? bytes : 0;
  note_ = registered.ok() ? std::string() : registered.error().Describe();
  return registered;
}

SsdDisk::Info UringDisk::GetInfo() const {
  const bool direct = IsDirect();
  const MutexLock lock(mutex_);
  return {.uses_io_uring = true, .direct = direct, .registered_bytes = registered_bytes_, .note = note_};
}

void UringDisk::OnOpen(const std::shared_ptr<OpenFile>& file) {
  // The ring's thread runs it before the file's first transfer.
  (void)thread_->Run(
      [file](UringRing& ring) {
        file->slot = ring.AddFile(file->fd);
        return Status();
      },
      0);
}

void UringDisk::OnClose(const std::shared_ptr<OpenFile>& file) {
  // After the file's last transfer, and before its place in the table is used again.
  (void)thread_->Run(
      [file](UringRing& ring) {
        if (file->slot >= 0) ring.RemoveFile(std::exchange(file->slot, -1));
        return Status();
      },
      0);
}

}  // namespace kvpagefs
