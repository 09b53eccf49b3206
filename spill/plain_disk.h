// A disk that transfers with preadv and pwritev on a few threads, where io_uring is not to be had. Private to spill/.
//
// The transfers that are in the kernel are as many as there are threads; the rest waits in order.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "spill/file_disk.h"

namespace kvpagefs {

class PlainDisk final : public FileDisk {
 public:
  struct Options {
    uint32_t threads = 8;
    size_t max_queued = kMaxQueued;
    int64_t drain_ns = kDrainNs;
    std::string note;  // why io_uring is not used
  };

  // kUnavailable: not one thread.
  static Result<std::unique_ptr<PlainDisk>> Create(std::shared_ptr<DiskFiles> files, const Options& options);
  // See kDrainNs. Not from `done`.
  ~PlainDisk() override;

  void Submit(std::vector<Io> batch) override;
  // There is nothing to make faster: success, and nothing is registered.
  Status RegisterMemory(std::span<const iovec> memory) override;
  Info GetInfo() const override;

 private:
  struct Pool;
  PlainDisk(std::shared_ptr<DiskFiles> files, const Options& options);
  void OnOpen(const std::shared_ptr<OpenFile>& /*file*/) override {}
  void OnClose(const std::shared_ptr<OpenFile>& /*file*/) override {}

  const Options options_;
  const std::shared_ptr<Pool> pool_;
  std::vector<std::thread> threads_;
};

}  // namespace kvpagefs
