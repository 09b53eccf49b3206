// What the disks on a real directory have in common: the files. Private to spill/.
//
// Threads: every method from any thread.
#pragma once

#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "spill/disk_files.h"
#include "spill/ssd_disk.h"
#include "spill/transfer.h"

namespace kvpagefs {

class FileDisk : public SsdDisk {
 public:
  // How long a destructor waits for the kernel's answers. A transfer cannot be taken back: the device may still write
  // to the caller's memory, so waiting is right, and a disk that is silent for longer is given up. Then the `done` that
  // are left run with kUnavailable, and what the kernel still uses (threads, descriptors, the directory's owner lock)
  // is left to the end of the process. Memory of such transfers may still change: the caller must not use it again.
  static constexpr int64_t kDrainNs = int64_t{60} * 1'000'000'000;
  // Transfers that wait for their turn; more are refused with kWouldBlock.
  static constexpr size_t kMaxQueued = 65536;

  Result<std::vector<FileInfo>> List() override { return files_->List(); }
  Result<FileId> Open(std::string_view name, uint64_t bytes_if_new) override;
  void Close(FileId file) override;
  Status Remove(std::string_view name) override { return files_->Remove(name); }
  Status SyncDirectory() override { return files_->SyncDirectory(); }

  Result<std::vector<std::byte>> ReadSmall(std::string_view name, uint64_t max_bytes) override;
  Status AppendSmall(std::string_view name, std::span<const std::byte> bytes) override;
  Status SyncSmall(std::string_view name) override { return files_->SyncSmall(name); }
  Status ReplaceSmall(std::string_view name, std::span<const std::byte> bytes) override;

 protected:
  explicit FileDisk(std::shared_ptr<DiskFiles> files) : files_(std::move(files)) {}

  // In the same order.
  std::vector<std::unique_ptr<Transfer>> MakeTransfers(std::vector<Io> batch);
  // Whether all files that were opened by now are transferred directly.
  bool IsDirect() const;
  const std::shared_ptr<DiskFiles>& files() const { return files_; }

  // After the file was opened and before anybody knows its id; before its id is forgotten.
  virtual void OnOpen(const std::shared_ptr<OpenFile>& file) = 0;
  virtual void OnClose(const std::shared_ptr<OpenFile>& file) = 0;

 private:
  const std::shared_ptr<DiskFiles> files_;
  mutable Mutex mutex_;
  std::unordered_map<FileId, std::shared_ptr<OpenFile>> open_ KVP_GUARDED_BY(mutex_);
  FileId last_id_ KVP_GUARDED_BY(mutex_) = 0;
  bool buffered_seen_ KVP_GUARDED_BY(mutex_) = false;
};

}  // namespace kvpagefs
