// The kernel's ring, its table of files and its registered memory. Private to spill/; liburing stays in the .cc file.
//
// Threads: one makes it and is the only one that uses it. So SINGLE_ISSUER and DEFER_TASKRUN (Linux 6.1) are true: the
// kernel finishes transfers when this thread asks for them, instead of interrupting whoever started them. It also keeps
// transfers from being cancelled with the thread that started them.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <sys/uio.h>

#include "base/result.h"
#include "spill/transfer.h"

namespace kvpagefs {

class UringRing {
 public:
  struct Completion {
    uint64_t tag = 0;
    int32_t result = 0;  // bytes, or -errno
  };

  // `entries`: started and not yet reaped. The text says what the kernel refused.
  static Result<std::unique_ptr<UringRing>> Create(uint32_t entries);
  // Nothing may be in the kernel.
  ~UringRing();

  // A place in the table, or -1: the descriptor is used as it is, which works as well.
  int32_t AddFile(int fd);
  void RemoveFile(int32_t slot);
  // Pins the memory, in slices of at most 1 GiB, instead of what was registered before; with no piece: of none.
  Status RegisterMemory(std::span<const iovec> memory);

  // The next part of a transfer. It stays where it is until its completion.
  void Start(const Transfer& transfer, uint64_t tag);
  // Completes once when the eventfd can be read.
  void StartWakePoll(int eventfd, uint64_t tag);

  // One system call: hands over what was started and waits up to `time` (0: not at all) for a completion.
  // False: the kernel did not take everything because it lacks memory, and will be asked again by the next Enter.
  bool Enter(std::chrono::nanoseconds time);
  // Up to `out` of the completions that have arrived.
  size_t Reap(std::span<Completion> out);

 private:
  struct State;
  explicit UringRing(std::unique_ptr<State> state);
  // Which registered slice has all of the piece; -1: none.
  int32_t SliceOf(const iovec& piece) const;
  std::unique_ptr<State> state_;
};

}  // namespace kvpagefs
