// The slots of page headers in the segment, and what this node keeps of a page next to its header. The caller locks.
//
// A slot is named by a 32-bit number: index of its header block * 32 + place in the block. Header blocks come from the
// segment's allocator, one at a time, and go back to it when all their slots are free; one empty block is kept as a
// spare, so that a page that comes and goes at the edge costs nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/pin.h"
#include "spill/eviction_order.h"
#include "spill/extent.h"
#include "spill/page_header.h"

namespace kvpagefs {

struct PageState {
  OrderLink link;  // link.blocks: the page's blocks in the segment
  uint32_t slot = 0;
  uint32_t holds = 0;
  uint32_t reads = 0;
  uint32_t last_reader = 0;
  int64_t last_read_ns = 0;
  int64_t sealed_ns = 0;
  Extent* more_extents = nullptr;  // owned array: extents from the third on
  Pin pin = Pin::kNone;
  OrderEntry entry = OrderEntry::kFresh;  // how it enters the eviction order when the last hold goes
  bool in_use = false;
  bool removed = false;  // not in the table; lives until the last hold goes
  bool dirty = false;    // this is its only copy, and it is to get another one
};

struct PageSlot {
  PageHeader header;
  PageState state;

  PageId id() const { return PageId{header.page_id}; }
  uint32_t extent_count() const { return header.extent_count; }
  Extent extent(uint32_t index) const {
    constexpr uint32_t kInHeader = sizeof(header.extents) / sizeof(Extent);
    return index < kInHeader ? header.extents[index] : state.more_extents[index - kInHeader];
  }
};
static_assert(sizeof(PageState) == 64);
static_assert(sizeof(PageSlot) == 128);

inline constexpr uint32_t kSlotsPerBlock = kBlockBytes / sizeof(PageSlot);
static_assert(kSlotsPerBlock == 32);

class HeaderSlots final : public OrderLinks {
 public:
  // `base`: of the segment.
  explicit HeaderSlots(std::byte* base) : base_(base) {}
  HeaderSlots(const HeaderSlots&) = delete;
  HeaderSlots& operator=(const HeaderSlots&) = delete;

  // False: AddBlock first.
  bool HasFree() const { return partial_ != kNoBlock || spare_ != kNoBlock; }
  void AddBlock(uint32_t block);
  // A slot in its initial state, marked as used.
  PageSlot& Take();
  // Clears it. Returns a block that has become surplus and is the caller's again.
  std::optional<uint32_t> Give(PageSlot& slot);
  // Gives the spare block to the caller, if there is one.
  std::optional<uint32_t> TakeSpare();

  PageSlot& At(uint32_t slot) const { return Slots(slot / kSlotsPerBlock)[slot % kSlotsPerBlock]; }
  OrderLink& Link(uint32_t item) override { return At(item).state.link; }

  uint32_t blocks() const { return static_cast<uint32_t>(infos_.size() - free_infos_.size()); }
  uint32_t spare_blocks() const { return spare_ == kNoBlock ? 0 : 1; }
  // Every used slot, and every header block: for checks.
  template <class VisitSlot, class VisitBlock>
  void ForEach(VisitSlot visit_slot, VisitBlock visit_block) const {
    for (uint32_t index = 0; index < infos_.size(); ++index) {
      if (infos_[index].block == kNoBlock) continue;
      visit_block(infos_[index].block);
      for (uint32_t i = 0; i < kSlotsPerBlock; ++i) {
        if ((infos_[index].free_mask >> i & 1) == 0) visit_slot(Slots(index)[i]);
      }
    }
  }

 private:
  static constexpr uint32_t kNoBlock = UINT32_MAX;
  static constexpr uint32_t kAllFree = UINT32_MAX;
  // Half a byte of ordinary memory a page.
  struct BlockInfo {
    uint32_t block = kNoBlock;
    uint32_t free_mask = kAllFree;
    uint32_t before = kNoBlock;  // in the list of partly used blocks
    uint32_t after = kNoBlock;
  };

  PageSlot* Slots(uint32_t index) const {
    return reinterpret_cast<PageSlot*>(base_ + uint64_t{infos_[index].block} * kBlockBytes);
  }
  void LinkPartial(uint32_t index);
  void UnlinkPartial(uint32_t index);
  uint32_t Drop(uint32_t index);

  std::byte* base_;
  std::vector<BlockInfo> infos_;
  std::vector<uint32_t> free_infos_;
  uint32_t partial_ = kNoBlock;
  uint32_t spare_ = kNoBlock;
};

}  // namespace kvpagefs
