// How the kernel reads an open page: decided per open from what the kernel and libfuse offer (docs/DECISIONS.md).
#pragma once

#include <cstdint>
#include <string>

#include "fs/options.h"

namespace kvpagefs {

struct ReadPathChoice {
  ReadPath wanted = ReadPath::kAuto;
  bool direct_with_mmap = false;  // negotiated: direct I/O files can be mapped shared

  // Reads by direct I/O: no copy into the page cache, less work for a page that is read once. `earlier_reads`: opens
  // for reading before this one.
  bool DirectRead(uint32_t earlier_reads) const {
    if (wanted == ReadPath::kDirect) return true;
    if (wanted == ReadPath::kPageCache || !direct_with_mmap) return false;
    return earlier_reads < kReadsBeforeCaching;
  }
  // Writes by direct I/O, without a copy in the page cache that nobody reads: when such a file can still be mapped, or
  // when its descriptor cannot be mapped at all.
  bool DirectWrite(bool write_only) const {
    if (wanted == ReadPath::kPageCache) return false;
    return direct_with_mmap || write_only;
  }

  std::string Describe() const {
    if (wanted == ReadPath::kPageCache) return "page cache";
    if (wanted == ReadPath::kDirect) return direct_with_mmap ? "direct I/O with mmap" : "direct I/O";
    return direct_with_mmap ? "direct I/O with mmap, page cache for pages read often" : "page cache";
  }

  static constexpr uint32_t kReadsBeforeCaching = 2;
};

}  // namespace kvpagefs
