// A disk that transfers with io_uring. Private to spill/: ssd_directory.h opens it.
//
// Files are in the ring's table; a transfer of one piece that lies in registered memory is a READ_FIXED or WRITE_FIXED,
// others are READV and WRITEV. At most `queue_depth` transfers are in the kernel, the rest waits in order. `done` runs
// on the ring's thread: whoever takes long in it keeps others from starting.
#pragma once

#include <memory>

#include "spill/file_disk.h"

namespace kvpagefs {

class UringThread;

class UringDisk final : public FileDisk {
 public:
  struct Options {
    uint32_t queue_depth = 128;  // up to kMaxQueueDepth
    size_t max_queued = kMaxQueued;
    int64_t drain_ns = kDrainNs;
  };
  static constexpr uint32_t kMaxQueueDepth = 4096;

  // kNotPermitted, kUnavailable, kNotSupported: this process gets no io_uring; `files` may be used otherwise.
  static Result<std::unique_ptr<UringDisk>> Create(std::shared_ptr<DiskFiles> files, const Options& options);
  // See kDrainNs. Not from `done`.
  ~UringDisk() override;

  void Submit(std::vector<Io> batch) override;
  // Pins the memory; a second call replaces what the first one registered. Waits for transfers that are under way.
  Status RegisterMemory(std::span<const iovec> memory) override;
  Info GetInfo() const override;

 private:
  UringDisk(std::shared_ptr<DiskFiles> files, std::shared_ptr<UringThread> thread);
  void OnOpen(const std::shared_ptr<OpenFile>& file) override;
  void OnClose(const std::shared_ptr<OpenFile>& file) override;

  const std::shared_ptr<UringThread> thread_;
  mutable Mutex mutex_;
  uint64_t registered_bytes_ KVP_GUARDED_BY(mutex_) = 0;
  std::string note_ KVP_GUARDED_BY(mutex_);
};

}  // namespace kvpagefs
