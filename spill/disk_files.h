// The files of an SSD directory: the log's region files and small files, listed, made and removed. Private to spill/.
//
// Names: "region-" and 16 hexadecimal digits; small files have lower-case letters, digits, '.', '-' and '_', and end
// neither in ".new" nor are they the directory's own ("identity", "owner.lock"). Other names are kInvalid.
//
// Threads: every method from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "spill/owned_files.h"
#include "spill/ssd_disk.h"

namespace kvpagefs {

inline constexpr std::string_view kIdentityFile = "identity";
inline constexpr std::string_view kOwnerLockFile = "owner.lock";

bool IsRegionName(std::string_view name);
bool IsSmallFileName(std::string_view name);

// A file that is open for transfers; closed when the last transfer lets go.
struct OpenFile {
  OpenFile(std::string path_text, int descriptor) : path(std::move(path_text)), fd(descriptor) {}
  ~OpenFile();
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  const std::string path;  // for texts
  const int fd;
  bool direct = false;
  int32_t slot = -1;  // in the ring's table; only its thread looks
};

class DiskFiles {
 public:
  // Takes the descriptor of the directory. `owner_lock` is kept as long as this object.
  DiskFiles(std::string path, int directory_fd, std::shared_ptr<void> owner_lock);
  ~DiskFiles();
  DiskFiles(const DiskFiles&) = delete;
  DiskFiles& operator=(const DiskFiles&) = delete;

  // See SsdDisk. A region file that is a link, a fifo, another user's or has two names is not listed.
  Result<std::vector<SsdDisk::FileInfo>> List() const;
  // A new file has all its blocks before this returns. Where the file system cannot reserve them (EOPNOTSUPP) zeros are
  // written: slow, but a file with holes would meet a full disk in the middle of a record. An existing file is opened
  // for reading only where the file system has become read-only: its pages stay readable. kInvalid: foreign.
  Result<std::unique_ptr<OpenFile>> Open(std::string_view name, uint64_t bytes_if_new) const;
  Status Remove(std::string_view name) const;
  Status SyncDirectory() const;

  Result<std::vector<std::byte>> ReadSmall(std::string_view name, uint64_t max_bytes) const;
  Status AppendSmall(std::string_view name, std::span<const std::byte> bytes);
  Status SyncSmall(std::string_view name);
  Status ReplaceSmall(std::string_view name, std::span<const std::byte> bytes);

  const std::string& path() const { return path_; }
  // Whether this kind of file system transfers to and from the device directly.
  bool direct() const { return direct_; }

 private:
  DirectoryRef Directory() const { return {.fd = directory_fd_, .path = path_}; }
  Result<std::unique_ptr<OpenFile>> OpenExisting(std::string_view name) const;
  Result<std::unique_ptr<OpenFile>> Make(std::string_view name, uint64_t bytes) const;
  std::unique_ptr<OpenFile> Wrap(std::string_view name, int fd) const;

  const std::string path_;
  const int directory_fd_;
  const std::shared_ptr<void> owner_lock_;
  const bool direct_;
  // An append that fails half way is cut off again, which needs the end of the file to be nobody else's.
  Mutex small_mutex_;
  bool small_file_made_ KVP_GUARDED_BY(small_mutex_) = false;
};

}  // namespace kvpagefs
