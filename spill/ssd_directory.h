// A directory of the SSD tier: made or found, checked, owned by this process, and its disk.
//
// In it: "identity" (which node's pages these are), "owner.lock" (which process has it), "region-" files and the log's
// small files. Everything else, and whatever has such a name without being a plain file of this process's user with
// this one name, is foreign: never opened, followed or removed. The path itself may be a symbolic link; nothing in the
// directory is followed.
//
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "spill/ssd_disk.h"

namespace kvpagefs {

class DiskFiles;

class SsdDirectory {
 public:
  struct Options {
    std::string path;
    std::string owner_text;  // one line for people who meet the lock, such as "kvpagefs /mnt/kv"
    bool allow_io_uring = true;
    uint32_t queue_depth = 128;
  };

  // Makes the last component when it is missing (mode 0700). The texts name the path and the remedy. kNotFound: no
  // parent; kNotDirectory; kNotPermitted; kUnavailable: another process has it ("DIR is in use by process 1234 (...)"),
  // or the file system is read-only; kNoSpace: no room for the small files; kInvalid: damaged identity, or something
  // foreign in the place of a file of ours.
  static Result<SsdDirectory> Open(const Options& options);
  ~SsdDirectory();
  SsdDirectory(SsdDirectory&&) noexcept;
  SsdDirectory& operator=(SsdDirectory&&) noexcept;

  // Random, made with the directory, never 0.
  uint64_t identity() const { return identity_; }
  // Once. The owner lock goes over to the disk and lasts as long as it. Where io_uring is refused the disk works
  // without it, and Info::note says why. kUnavailable: no threads.
  Result<std::unique_ptr<SsdDisk>> TakeDisk();

 private:
  SsdDirectory(Options options, std::shared_ptr<DiskFiles> files, uint64_t identity);

  Options options_;
  std::shared_ptr<DiskFiles> files_;
  uint64_t identity_;
};

}  // namespace kvpagefs
