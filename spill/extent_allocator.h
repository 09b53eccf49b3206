// Gives out the blocks of a segment. Pure: no I/O, no clock, no thread; the caller locks.
//
// A request is served from as few extents as the free space allows, and from any free blocks at all when it must: a
// request fails only when fewer blocks are free than it asks for, so fragmentation never makes space unusable. To keep
// extents few and long, it prefers (1) the blocks right behind the last extent of `out`, (2) the tightest free extent
// that fits whole, (3) the largest free extents, one after the other.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "spill/extent.h"

namespace kvpagefs {

class ExtentAllocator {
 public:
  explicit ExtentAllocator(uint32_t blocks);
  ~ExtentAllocator();
  ExtentAllocator(ExtentAllocator&&) noexcept;
  ExtentAllocator& operator=(ExtentAllocator&&) noexcept;

  // Appends exactly `count` blocks to `out` (merging with its last extent where they adjoin), or takes nothing and
  // says false.
  [[nodiscard]] bool Allocate(uint32_t count, ExtentList* out);

  // Every block of the extent must be allocated: anything else is a bug and aborts.
  void Free(Extent extent);

  uint32_t total_blocks() const;
  uint32_t free_blocks() const;
  // For tests and status: how many free extents there are, and the longest.
  uint32_t free_extents() const;
  uint32_t longest_free_extent() const;
  // Every free extent, by address. False when the indexes disagree with each other: for tests.
  bool ForEachFree(const std::function<void(Extent)>& visit) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace kvpagefs
