#include "spill/header_slots.h"

#include <bit>
#include <cassert>
#include <new>
#include <utility>

namespace kvpagefs {

void HeaderSlots::AddBlock(uint32_t block) {
  assert(spare_ == kNoBlock);
  uint32_t index = static_cast<uint32_t>(infos_.size());
  if (free_infos_.empty()) {
    assert(index < UINT32_MAX / kSlotsPerBlock);
    infos_.emplace_back();
  } else {
    index = free_infos_.back();
    free_infos_.pop_back();
  }
  infos_[index] = BlockInfo{.block = block};
  for (uint32_t i = 0; i < kSlotsPerBlock; ++i) new (Slots(index) + i) PageSlot();
  spare_ = index;
}

PageSlot& HeaderSlots::Take() {
  assert(HasFree());
  uint32_t index = partial_;
  if (index == kNoBlock) {
    index = std::exchange(spare_, kNoBlock);
    LinkPartial(index);
  }
  BlockInfo& info = infos_[index];
  const int place = std::countr_zero(info.free_mask);
  info.free_mask &= info.free_mask - 1;
  if (info.free_mask == 0) UnlinkPartial(index);
  PageSlot& slot = Slots(index)[place];
  assert(!slot.state.in_use);
  slot.state.in_use = true;
  slot.state.slot = index * kSlotsPerBlock + static_cast<uint32_t>(place);
  return slot;
}

std::optional<uint32_t> HeaderSlots::Give(PageSlot& slot) {
  assert(slot.state.in_use && slot.state.link.list == OrderList::kNone);
  const uint32_t number = slot.state.slot;
  const uint32_t index = number / kSlotsPerBlock;
  delete[] slot.state.more_extents;
  new (&slot) PageSlot();
  BlockInfo& info = infos_[index];
  if (info.free_mask == 0) LinkPartial(index);
  info.free_mask |= 1u << number % kSlotsPerBlock;
  if (info.free_mask != kAllFree) return std::nullopt;
  UnlinkPartial(index);
  if (spare_ != kNoBlock) return Drop(index);
  spare_ = index;
  return std::nullopt;
}

std::optional<uint32_t> HeaderSlots::TakeSpare() {
  if (spare_ == kNoBlock) return std::nullopt;
  return Drop(std::exchange(spare_, kNoBlock));
}

void HeaderSlots::LinkPartial(uint32_t index) {
  infos_[index].before = kNoBlock;
  infos_[index].after = partial_;
  if (partial_ != kNoBlock) infos_[partial_].before = index;
  partial_ = index;
}

void HeaderSlots::UnlinkPartial(uint32_t index) {
  const BlockInfo& info = infos_[index];
  (info.before == kNoBlock ? partial_ : infos_[info.before].after) = info.after;
  if (info.after != kNoBlock) infos_[info.after].before = info.before;
}

uint32_t HeaderSlots::Drop(uint32_t index) {
  free_infos_.push_back(index);
  return std::exchange(infos_[index].block, kNoBlock);
}

}  // namespace kvpagefs
