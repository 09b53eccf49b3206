// Where a page's bytes are inside a segment: runs of 4 KiB blocks.
#pragma once

#include <cstdint>

#include <absl/container/inlined_vector.h>

namespace kvpagefs {

inline constexpr uint32_t kBlockBytes = 4096;

constexpr uint64_t BlocksFor(uint64_t bytes) { return (bytes + kBlockBytes - 1) / kBlockBytes; }

// Blocks [first, first + count). 32-bit block numbers: segments up to 16 TiB.
struct Extent {
  uint32_t first = 0;
  uint32_t count = 0;
  bool operator==(const Extent&) const = default;
};

// In the order of the page's bytes.
using ExtentList = absl::InlinedVector<Extent, 2>;

}  // namespace kvpagefs
