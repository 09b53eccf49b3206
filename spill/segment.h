// The memory region that a node contributes: one mapping, readable and writable, shared, of whole 4 KiB blocks.
//
// Sources: an anonymous memfd (huge pages when asked for and available), a regular file, or a DAX character device
// such as /dev/dax0.0 (CXL memory), mapped with the device's alignment. Bytes of an earlier run are not reused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"

namespace kvpagefs {

enum class HugePages : uint8_t { kAuto, kOn, kOff };

class Segment {
 public:
  struct Options {
    uint64_t bytes = 0;                       // rounded down to 2 MiB; at least 4 MiB
    std::string path = {};                    // empty: memfd
    HugePages huge_pages = HugePages::kAuto;  // memfd only; kOn fails when they cannot be had
  };

  // kInvalid, kNoSpace, kNotPermitted or kUnavailable, with a text that names the option (--memory, --memory-path,
  // --huge-pages), the value and the remedy. A file that did not exist is created (mode 0600) with its blocks
  // reserved on its file system; one that exists must be empty or one that kvpagefs made (it starts with the header
  // magic "KVPSEG1\n" in its last block), so that no foreign file is overwritten. A file in use by another process is
  // refused (owner lock).
  static Result<Segment> Map(const Options& options);

  Segment(Segment&& other) noexcept;
  Segment& operator=(Segment&& other) noexcept;
  ~Segment();

  std::byte* base() const { return base_; }
  uint64_t bytes() const { return bytes_; }
  int fd() const { return fd_; }
  // "memfd", "memfd, 2 MiB pages", "file PATH", "device PATH"
  const std::string& description() const { return description_; }

  // Touches [offset, offset + bytes) so that later writes meet no page fault. Any thread, keeps contents.
  Status Prefault(uint64_t offset, uint64_t bytes) const;

 private:
  Segment() = default;
  void Release();
  Status Populate(uint64_t begin, uint64_t end) const;
  bool Collapse(uint64_t offset) const;
  void Touch(uint64_t offset) const;

  std::byte* base_ = nullptr;
  uint64_t bytes_ = 0;  // usable; what the mapping has beyond is its own business
  uint64_t mapped_bytes_ = 0;
  int fd_ = -1;
  std::string description_;
};

}  // namespace kvpagefs
