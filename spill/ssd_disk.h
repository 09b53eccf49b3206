// What the SSD log needs of a disk: one directory of files, asynchronous reads and writes, and syncs. Implementations:
// UringDisk and PlainDisk (spill/ssd_directory.h opens either), and the simulated disk of the tests.
//
// Files are named by the log ("region-000000000000002a"); a disk refuses names with '/' and never follows a symbolic
// link. Transfers bypass the page cache (O_DIRECT): offsets, lengths and addresses are multiples of kBlockBytes, except
// for AppendSmall. Any thread may call; `done` runs exactly once, on a thread of the disk, without locks, and must not
// wait.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sys/uio.h>

#include "base/result.h"

namespace kvpagefs {

class SsdDisk {
 public:
  using FileId = uint32_t;

  struct FileInfo {
    std::string name;
    uint64_t bytes = 0;
    uint64_t allocated_bytes = 0;
  };

  enum class IoKind : uint8_t { kRead, kWrite, kSync };

  // One transfer. The bytes that `pieces` points to are the caller's until `done`; the vector is moved in.
  struct Io {
    IoKind kind = IoKind::kRead;
    FileId file = 0;
    uint64_t offset = 0;
    std::vector<iovec> pieces;  // empty for kSync
    // All bytes, or an error: short transfers are continued by the disk, and a read that meets the end of the file is
    // kLost. kSync: everything whose `done` ran before this was submitted is durable, with the file's size.
    std::function<void(const Status&)> done;
  };

  virtual ~SsdDisk() = default;

  // Every file of the directory that is a plain file with a name of the log's; others are not looked at.
  virtual Result<std::vector<FileInfo>> List() = 0;
  // Opens, or makes it with exactly `bytes` allocated (kNoSpace leaves no file behind). An existing file keeps its
  // size.
  virtual Result<FileId> Open(std::string_view name, uint64_t bytes_if_new) = 0;
  // No transfer of this file is under way.
  virtual void Close(FileId file) = 0;
  // Removes a file that is closed. kNotFound is success.
  virtual Status Remove(std::string_view name) = 0;
  // Removals and creations so far are durable. Waits.
  virtual Status SyncDirectory() = 0;

  // Starts all of them; in order of submission where the disk's queue is full. Never waits for the transfers.
  virtual void Submit(std::vector<Io> batch) = 0;
  // Memory that transfers use often (the segment): speeds them up where the disk can. A failure changes nothing else.
  virtual Status RegisterMemory(std::span<const iovec> memory) = 0;

  // Small files that are only appended to and survive a killed process with every append that returned (page cache);
  // a machine's crash with every append before the last SyncSmall.
  virtual Result<std::vector<std::byte>> ReadSmall(std::string_view name, uint64_t max_bytes) = 0;  // kNotFound
  virtual Status AppendSmall(std::string_view name, std::span<const std::byte> bytes) = 0;
  virtual Status SyncSmall(std::string_view name) = 0;
  // Atomically, durably.
  virtual Status ReplaceSmall(std::string_view name, std::span<const std::byte> bytes) = 0;

  struct Info {
    bool uses_io_uring = false;
    bool direct = false;  // O_DIRECT; false where the file system does not offer it (tmpfs)
    uint64_t registered_bytes = 0;
    std::string note;  // why not the best, for status; empty: nothing to say
  };
  virtual Info GetInfo() const = 0;
};

}  // namespace kvpagefs
