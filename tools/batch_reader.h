// Reads a set of files, open, read, close each, many at a time.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "base/result.h"
#include "tools/micro_environment.h"

namespace kvpagefs {

struct BatchRequest {
  const FileSet* files = nullptr;
  int open_flags = 0;  // O_RDONLY, perhaps O_DIRECT
  // One place after another, one for each file.
  std::span<std::byte> destination;

  std::span<std::byte> Place(size_t file) const { return destination.subspan(file * files->bytes, files->bytes); }
};

// ReadAll returns when all files are read; a short read is an error. One caller at a time.
class BatchReader {
 public:
  virtual ~BatchReader() = default;
  virtual Status ReadAll(const BatchRequest& request) = 0;
};

// `thread_count` threads that wait between batches; each takes the next file that nobody has taken.
std::unique_ptr<BatchReader> MakeThreadedBatch(size_t thread_count);

// One thread and one io_uring: a linked openat, read and close for each file, in a slot of the ring's own file table.
// An error when the kernel offers no io_uring to this process.
Result<std::unique_ptr<BatchReader>> MakeRingBatch(size_t max_files);

}  // namespace kvpagefs
