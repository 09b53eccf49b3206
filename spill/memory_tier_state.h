// The inside of MemoryTier: everything under its one lock. Private to spill/.
//
// Lock order: a draft's mutex, then the tier's. Listener calls are collected in TierEvents while locks are held and
// made by Notify when none is.
//
// Invariants (CheckInvariants):
//   1. every block is in exactly one of: free extents, header blocks, drafts, pages' extents
//   2. class_blocks are the sums over the pages of each class
//   3. a page is in the table exactly when it is not removed; a removed page is held
//   4. a page is in the eviction order when it is evictable; hard-pinned, dirty and removed pages are in none. A held
//   page may
//      still be in it, at the place it had before (Touch::kNone): eviction takes it out when it comes across it
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/mutex.h"
#include "spill/eviction_order.h"
#include "spill/extent_allocator.h"
#include "spill/header_slots.h"
#include "spill/memory_tier.h"
#include "spill/page_table.h"

namespace kvpagefs {

struct TierEvents {
  std::vector<PageId> evicted;
  bool high_watermark = false;
  bool space_freed = false;
};

enum class PageClass : uint8_t {
  kHeld,        // evictable, or gone, as soon as it is let go
  kHeldPinned,  // hard-pinned, so letting it go makes no room
  kPinned,
  kDirty,  // evictable as soon as it is clean
  kEvictable,
};
inline constexpr int kPageClasses = 5;

struct MemoryTierState {
  MemoryTierState(Segment mapped, const MemoryTier::Options& tier_options, const Clock* tier_clock,
                  MemoryTier::Listener* tier_listener);
  ~MemoryTierState();
  MemoryTierState(const MemoryTierState&) = delete;
  MemoryTierState& operator=(const MemoryTierState&) = delete;

  // For drafts; `count` > 0. Returns how many were taken: 0, there is no space; when much is free, up to `slack` more
  // than asked for.
  uint32_t TakeDraftBlocks(uint32_t count, uint32_t slack, ExtentList* out, TierEvents* events) KVP_EXCLUDES(mutex);
  void GiveDraftBlocks(std::span<const Extent> extents, TierEvents* events) KVP_EXCLUDES(mutex);
  void CountDraft(int change) KVP_EXCLUDES(mutex);
  // How a page comes into the tier.
  struct Arrival {
    Pin pin = Pin::kNone;
    bool dirty = false;
    OrderEntry entry = OrderEntry::kFresh;
  };
  // Makes a draft's extents a held page. Null: no space for its header, or (bug of the caller) aborts on a known id.
  // `header` is complete.
  PageSlot* AddPage(const PageHeader& header, std::span<const Extent> extents, const Arrival& arrival,
                    TierEvents* events) KVP_EXCLUDES(mutex);
  void Release(PageSlot& page, TierEvents* events) KVP_EXCLUDES(mutex);
  void Notify(const TierEvents& events) KVP_EXCLUDES(mutex);

  // Evicts what it must. The blocks are in no class yet.
  bool TakeBlocks(uint32_t count, ExtentList* out, TierEvents* events) KVP_REQUIRES(mutex);
  // False: nothing is evictable.
  bool EvictOne(TierEvents* events) KVP_REQUIRES(mutex);
  bool GiveSpareHeader() KVP_REQUIRES(mutex);
  // Frees blocks, slot and all. The page is in no class, table or order any more.
  void FreePage(PageSlot& page, TierEvents* events) KVP_REQUIRES(mutex);
  // Out of the table; freed now, or when the last hold goes.
  void RemovePage(PageSlot& page, TierEvents* events) KVP_REQUIRES(mutex);
  // Changes of holds, pin or removed stand between these two.
  void LeaveClass(const PageSlot& page) KVP_REQUIRES(mutex);
  void EnterClass(const PageSlot& page, TierEvents* events) KVP_REQUIRES(mutex);
  void SpaceFreed(TierEvents* events) KVP_REQUIRES(mutex);
  void LeaveOrder(const PageSlot& page) KVP_REQUIRES(mutex);
  // If it is to be in it and is not.
  void EnterOrder(PageSlot& page) KVP_REQUIRES(mutex);
  void NoteUse(TierEvents* events) KVP_REQUIRES(mutex);

  uint64_t UsedBlocks() const KVP_REQUIRES(mutex) { return capacity_blocks - allocator.free_blocks(); }
  uint64_t& Blocks(PageClass page_class) KVP_REQUIRES(mutex) { return class_blocks[static_cast<int>(page_class)]; }
  uint64_t Blocks(PageClass page_class) const KVP_REQUIRES(mutex) { return class_blocks[static_cast<int>(page_class)]; }
  static PageClass ClassOf(const PageSlot& page);

  const MemoryTier::Options options;
  const Clock* const clock;
  MemoryTier::Listener* const listener;
  const Segment segment;
  const uint64_t capacity_blocks;
  const uint64_t high_blocks;
  const uint64_t low_blocks;

  mutable Mutex mutex;
  ExtentAllocator allocator KVP_GUARDED_BY(mutex);
  HeaderSlots slots KVP_GUARDED_BY(mutex);
  PageTable table KVP_GUARDED_BY(mutex);
  EvictionOrder order KVP_GUARDED_BY(mutex);
  uint64_t draft_blocks KVP_GUARDED_BY(mutex) = 0;
  uint64_t class_blocks[kPageClasses] KVP_GUARDED_BY(mutex) = {};
  uint64_t drafts KVP_GUARDED_BY(mutex) = 0;
  uint64_t holds KVP_GUARDED_BY(mutex) = 0;
  uint64_t evicted_pages KVP_GUARDED_BY(mutex) = 0;
  uint64_t evicted_blocks KVP_GUARDED_BY(mutex) = 0;
  uint64_t sealed_pages KVP_GUARDED_BY(mutex) = 0;
  uint64_t no_space_errors KVP_GUARDED_BY(mutex) = 0;
  bool waiting KVP_GUARDED_BY(mutex) = false;        // somebody wants OnSpaceFreed
  bool high_notified KVP_GUARDED_BY(mutex) = false;  // until below it, or EvictToLow
};

struct PieceRange {
  std::byte* base;      // of the segment
  uint64_t page_bytes;  // where the page ends
  uint64_t offset;
  uint64_t bytes;
};

// Appends the pieces of the range, cut at the end of the page, to `out`; returns the bytes covered. `extent_at(i)`
// gives the page's extents.
template <class ExtentAt>
uint64_t MapPieces(PieceRange range, ExtentAt extent_at, std::vector<iovec>* out) {
  if (range.offset >= range.page_bytes) return 0;
  const uint64_t covered = std::min(range.bytes, range.page_bytes - range.offset);
  uint64_t left = covered;
  uint64_t skip = range.offset;
  for (uint32_t i = 0; left > 0; ++i) {
    const Extent extent = extent_at(i);
    const uint64_t extent_bytes = uint64_t{extent.count} * kBlockBytes;
    if (skip >= extent_bytes) {
      skip -= extent_bytes;
      continue;
    }
    const uint64_t piece = std::min(left, extent_bytes - skip);
    out->push_back({.iov_base = range.base + uint64_t{extent.first} * kBlockBytes + skip, .iov_len = piece});
    left -= piece;
    skip = 0;
  }
  return covered;
}

}  // namespace kvpagefs
