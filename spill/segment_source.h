// Where a segment's memory comes from. Private to spill/.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "spill/segment.h"

namespace kvpagefs {

inline constexpr uint64_t kHugePageBytes = uint64_t{2} << 20;

// A mapping and its descriptor. The receiver owns both.
struct MappedMemory {
  std::byte* base = nullptr;
  uint64_t mapped_bytes = 0;
  int fd = -1;
  std::string description;
};

// Closes what it has unless it was released.
class OwnedFd {
 public:
  explicit OwnedFd(int fd) : fd_(fd) {}
  ~OwnedFd();
  OwnedFd(const OwnedFd&) = delete;
  OwnedFd& operator=(const OwnedFd&) = delete;
  int get() const { return fd_; }
  int Release();

 private:
  int fd_;
};

// `bytes` is a multiple of 2 MiB everywhere.
Result<MappedMemory> MapMemfd(uint64_t bytes, HugePages huge_pages);
Result<MappedMemory> MapFile(const std::string& path, uint64_t bytes);
Result<MappedMemory> MapDevice(const std::string& path, uint64_t bytes);

// mmap, shared, readable and writable, not in core dumps. The error names `option`.
Result<MappedMemory> MapDescriptor(OwnedFd& fd, uint64_t bytes, const std::string& option);

// One owner at a time; kUnavailable otherwise.
Status LockDescriptor(int fd, const std::string& path);

}  // namespace kvpagefs
