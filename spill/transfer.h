// One transfer on its way: how far it is, and what an answer of the kernel means for it. Private to spill/.
//
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include <sys/uio.h>

#include "spill/disk_files.h"
#include "spill/ssd_disk.h"

namespace kvpagefs {

class Transfer {
 public:
  // Tries without progress before the disk counts as failing.
  static constexpr int kMaxTries = 16;

  // `file` null: there is no such file; Refused tells. Aborts when the transfer is not made of whole aligned blocks.
  Transfer(SsdDisk::Io io, std::shared_ptr<const OpenFile> file);

  // An answer without the kernel: the file is not open, or there is nothing to transfer.
  std::optional<Status> Early() const;

  SsdDisk::IoKind kind() const { return io_.kind; }
  const OpenFile& file() const { return *file_; }
  uint64_t offset() const { return io_.offset + moved_bytes_; }
  // What is missing, at most as many pieces as one system call takes.
  std::span<const iovec> Rest() const;

  // Takes the answer to Rest(): bytes, or -errno. A status when the transfer is over; otherwise it is to be continued.
  // Interrupted, cancelled (by the end of a thread) and refused "for the moment" are tried again kMaxTries times.
  std::optional<Status> Advance(int64_t result);

  // Ends the transfer. At most once, without locks.
  void Finish(const Status& status);
  // In place of Finish, when the kernel does not answer: what GiveUp is called with. No other method runs afterwards.
  std::function<void(const Status&)> TakeDone();
  static void GiveUp(const std::function<void(const Status&)>& done);

 private:
  std::optional<Status> TryAgain(int errno_value);
  void Skip(uint64_t bytes);
  std::string Describe() const;

  SsdDisk::Io io_;
  std::shared_ptr<const OpenFile> file_;
  uint64_t total_bytes_ = 0;
  uint64_t moved_bytes_ = 0;
  size_t first_piece_ = 0;  // with something left
  int tries_ = 0;
};

}  // namespace kvpagefs
