// The two sides of `kvpagebench pool`: pages in a directory, or blocks of one plain file.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "tools/pool_options.h"

namespace kvpagefs {

// Any thread may read; one writes.
class PoolSide {
 public:
  virtual ~PoolSide() = default;
  virtual Status Write(uint64_t page, std::span<const std::byte> bytes) = 0;
  // Everything that was written is on the disk.
  virtual Status Sync() = 0;
  // Not from the kernel's page cache.
  virtual Status Read(uint64_t page, std::span<std::byte> bytes) = 0;
};

// Files "pool-<page>" in a directory of their own, removed at the end. `options` outlives the side.
Result<std::unique_ptr<PoolSide>> MakePageSide(const PoolOptions& options);
// One preallocated file, written and read with O_DIRECT, removed at once.
Result<std::unique_ptr<PoolSide>> MakeFileSide(const PoolOptions& options);

// The seed of a page's contents.
uint64_t PoolContentSeed(const PoolOptions& options, uint64_t page);

}  // namespace kvpagefs
