// The inside of Draft. Private to spill/.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/checksum.h"
#include "base/mutex.h"
#include "spill/extent.h"
#include "spill/memory_tier_state.h"

namespace kvpagefs {

struct DraftState {
  explicit DraftState(MemoryTierState* tier_state) : tier(tier_state) {}
  DraftState(const DraftState&) = delete;
  DraftState& operator=(const DraftState&) = delete;

  Status Write(uint64_t offset, std::span<const std::byte> source, TierEvents* events) KVP_EXCLUDES(mutex);
  Status Truncate(uint64_t new_bytes, TierEvents* events) KVP_EXCLUDES(mutex);
  Status Reserve(uint64_t reserved_bytes, TierEvents* events) KVP_EXCLUDES(mutex);
  // Null: no space. Otherwise the blocks are the page's, and this draft is empty. `checksum`: known already.
  PageSlot* Seal(PageId id, std::optional<uint64_t> checksum, const MemoryTierState::Arrival& arrival,
                 TierEvents* events) KVP_EXCLUDES(mutex);
  // Blocks for `new_bytes`, whose contents somebody else will fill in.
  Status Prepare(uint64_t new_bytes, TierEvents* events) KVP_EXCLUDES(mutex);

  // Blocks for [0, end).
  Status Grow(uint64_t end, uint32_t slack, TierEvents* events) KVP_REQUIRES(mutex);
  // Gives back the blocks from the `keep`th on.
  void Trim(uint64_t keep, TierEvents* events) KVP_REQUIRES(mutex);
  // Calls `visit` with each contiguous piece of the segment for [offset, offset + count).
  template <class Visit>
  void ForEachPiece(uint64_t offset, uint64_t count, Visit visit) KVP_REQUIRES(mutex);
  void Zero(uint64_t offset, uint64_t end) KVP_REQUIRES(mutex);
  // Bytes from `offset` on are about to change.
  void Invalidate(uint64_t offset) KVP_REQUIRES(mutex);
  void HashUpTo(uint64_t end) KVP_REQUIRES(mutex);

  MemoryTierState* const tier;
  mutable Mutex mutex;
  ExtentList extents KVP_GUARDED_BY(mutex);
  uint64_t blocks KVP_GUARDED_BY(mutex) = 0;  // in `extents`; those behind `bytes` hold garbage
  uint64_t bytes KVP_GUARDED_BY(mutex) = 0;
  bool sealed KVP_GUARDED_BY(mutex) = false;
  // Where the last access was, so that a stream of small writes does not walk the extents from the start each time.
  size_t cursor_extent KVP_GUARDED_BY(mutex) = 0;
  uint64_t cursor_block KVP_GUARDED_BY(mutex) = 0;  // of the draft, where that extent begins
  // Of the first `hashed_bytes` bytes.
  StreamingChecksum hash KVP_GUARDED_BY(mutex);
  uint64_t hashed_bytes KVP_GUARDED_BY(mutex) = 0;
};

}  // namespace kvpagefs
