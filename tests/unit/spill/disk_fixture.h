// Disks, memory and transfers for the tests of the disks.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include "base/mutex.h"
#include "spill/disk_files.h"
#include "spill/extent.h"
#include "spill/file_disk.h"
#include "spill/plain_disk.h"
#include "spill/uring_disk.h"
#include "unit/spill/disk_places.h"

namespace kvpagefs::disk_test {

// 64 bits wide, unlike kBlockBytes.
constexpr uint64_t kBlock = kBlockBytes;

// Zeros at a block's boundary.
class Memory {
 public:
  explicit Memory(uint64_t bytes) : bytes_(bytes) {
    void* const base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED) std::abort();
    data_ = static_cast<std::byte*>(base);
  }
  ~Memory() { munmap(data_, bytes_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  std::span<std::byte> bytes() { return {data_, bytes_}; }
  iovec Piece(uint64_t offset, uint64_t bytes) { return {.iov_base = data_ + offset, .iov_len = bytes}; }
  iovec Whole() { return Piece(0, bytes_); }
  // Every block differs from every other and from those of another seed.
  void Fill(uint32_t seed) {
    uint32_t word = seed * 2654435761U + 1;
    for (uint64_t at = 0; at < bytes_; at += sizeof(word)) {
      word = word * 1664525U + 1013904223U;
      std::memcpy(data_ + at, &word, sizeof(word));
    }
  }
  bool operator==(Memory& other) { return std::ranges::equal(bytes(), other.bytes()); }

 private:
  std::byte* data_ = nullptr;
  uint64_t bytes_;
};

// Counts the answers of transfers, and waits for them with a deadline.
class Answers {
 public:
  // For the `done` of one transfer.
  std::function<void(const Status&)> Expect() {
    const MutexLock lock(mutex_);
    ++expected_;
    return [this](const Status& status) {
      const MutexLock inner(mutex_);
      answers_.push_back(status);
      changed_.NotifyAll();
    };
  }
  // For all; false when a minute has passed, or one came twice.
  bool Wait() {
    const MutexLock lock(mutex_);
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (answers_.size() < expected_ && std::chrono::steady_clock::now() < deadline) {
      changed_.WaitFor(mutex_, std::chrono::seconds(1));
    }
    return answers_.size() == expected_;
  }
  size_t Successes() {
    const MutexLock lock(mutex_);
    return static_cast<size_t>(std::ranges::count_if(answers_, [](const Status& status) { return status.ok(); }));
  }
  size_t Failures(ErrorCode code) {
    const MutexLock lock(mutex_);
    return static_cast<size_t>(std::ranges::count_if(
        answers_, [code](const Status& status) { return !status.ok() && status.code() == code; }));
  }
  Status Last() {
    const MutexLock lock(mutex_);
    return answers_.back();
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  size_t expected_ KVP_GUARDED_BY(mutex_) = 0;
  std::vector<Status> answers_ KVP_GUARDED_BY(mutex_);
};

struct Place {
  SsdDisk::FileId file = 0;
  uint64_t offset = 0;
};

inline SsdDisk::Io MakeIo(SsdDisk::IoKind kind, const Place& place, std::vector<iovec> pieces) {
  return {.kind = kind, .file = place.file, .offset = place.offset, .pieces = std::move(pieces), .done = nullptr};
}

// Starts them together; the answers go to `answers`.
inline void SubmitAll(SsdDisk& disk, std::vector<SsdDisk::Io> batch, Answers& answers) {
  for (SsdDisk::Io& io : batch) {
    if (io.done == nullptr) io.done = answers.Expect();
  }
  disk.Submit(std::move(batch));
}

// One transfer from start to end.
inline Status Perform(SsdDisk& disk, SsdDisk::Io io) {
  Answers answers;
  std::vector<SsdDisk::Io> batch;
  batch.push_back(std::move(io));
  SubmitAll(disk, std::move(batch), answers);
  if (!answers.Wait()) std::abort();  // `answers` must outlive the transfer
  return answers.Last();
}
inline Status Read(SsdDisk& disk, const Place& place, std::vector<iovec> pieces) {
  return Perform(disk, MakeIo(SsdDisk::IoKind::kRead, place, std::move(pieces)));
}
inline Status Write(SsdDisk& disk, const Place& place, std::vector<iovec> pieces) {
  return Perform(disk, MakeIo(SsdDisk::IoKind::kWrite, place, std::move(pieces)));
}
inline Status Sync(SsdDisk& disk, SsdDisk::FileId file) {
  return Perform(disk, MakeIo(SsdDisk::IoKind::kSync, {.file = file}, {}));
}

enum class DiskKind : uint8_t { kUring, kPlain };

struct DiskSettings {
  uint32_t depth = 8;  // of the ring, or the number of threads
  size_t max_queued = FileDisk::kMaxQueued;
  int64_t drain_ns = FileDisk::kDrainNs;
};

inline std::shared_ptr<DiskFiles> FilesOf(const std::string& path) {
  return std::make_shared<DiskFiles>(path, open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC), nullptr);
}

// Null: no io_uring here.
inline std::unique_ptr<SsdDisk> MakeDisk(DiskKind kind, const std::string& path, const DiskSettings& settings = {}) {
  if (kind == DiskKind::kPlain) {
    Result<std::unique_ptr<PlainDisk>> plain = PlainDisk::Create(
        FilesOf(path),
        {.threads = settings.depth, .max_queued = settings.max_queued, .drain_ns = settings.drain_ns, .note = "plain"});
    return plain.ok() ? *std::move(plain) : nullptr;
  }
  Result<std::unique_ptr<UringDisk>> ring = UringDisk::Create(
      FilesOf(path), {.queue_depth = settings.depth, .max_queued = settings.max_queued, .drain_ns = settings.drain_ns});
  return ring.ok() ? *std::move(ring) : nullptr;
}

}  // namespace kvpagefs::disk_test
