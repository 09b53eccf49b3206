#include "spill/memory_tier_state.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace kvpagefs {
namespace {

// Figures behind the share: docs/DECISIONS.md.
constexpr double kProtectedShare = 0.2;
// Slack is given only while at least this many times as much is free.
constexpr uint32_t kSlackReserve = 16;

uint64_t ShareOf(double share, uint64_t blocks) { return static_cast<uint64_t>(share * static_cast<double>(blocks)); }

}  // namespace

MemoryTierState::MemoryTierState(Segment mapped, const MemoryTier::Options& tier_options, const Clock* tier_clock,
                                 MemoryTier::Listener* tier_listener)
    : options(tier_options),
      clock(tier_clock),
      listener(tier_listener),
      segment(std::move(mapped)),
      capacity_blocks(segment.bytes() / kBlockBytes),
      high_blocks(ShareOf(options.high_watermark, capacity_blocks)),
      low_blocks(ShareOf(options.low_watermark, capacity_blocks)),
      allocator(static_cast<uint32_t>(capacity_blocks)),
      slots(segment.base()),
      table(&slots),
      order(&slots, ShareOf(kProtectedShare, capacity_blocks)) {}

MemoryTierState::~MemoryTierState() {
  assert(holds == 0 && drafts == 0);
  slots.ForEach([](PageSlot& page) { delete[] page.state.more_extents; }, [](uint32_t) {});
}

uint32_t MemoryTierState::TakeDraftBlocks(uint32_t count, uint32_t slack, ExtentList* out, TierEvents* events) {
  MutexLock lock(mutex);
  const uint32_t spare = allocator.free_blocks() - std::min(count, allocator.free_blocks());
  slack = std::min(slack, spare / kSlackReserve);
  if (!TakeBlocks(count + slack, out, events)) return 0;
  draft_blocks += count + slack;
  NoteUse(events);
  return count + slack;
}

void MemoryTierState::GiveDraftBlocks(std::span<const Extent> extents, TierEvents* events) {
  if (extents.empty()) return;
  MutexLock lock(mutex);
  for (const Extent& extent : extents) {
    allocator.Free(extent);
    draft_blocks -= extent.count;
  }
  SpaceFreed(events);
}

void MemoryTierState::CountDraft(int change) {
  MutexLock lock(mutex);
  drafts += static_cast<uint64_t>(change);
}

PageSlot* MemoryTierState::AddPage(const PageHeader& header, std::span<const Extent> extents, const Arrival& arrival,
                                   TierEvents* events) {
  constexpr size_t kInHeader = std::size(decltype(header.extents){});
  Extent* more = nullptr;
  if (extents.size() > kInHeader) {
    more = new Extent[extents.size() - kInHeader];
    std::copy(extents.begin() + kInHeader, extents.end(), more);
  }
  const int64_t now_ns = clock->WallNs();
  uint64_t blocks = 0;
  for (const Extent& extent : extents) blocks += extent.count;

  MutexLock lock(mutex);
  if (!slots.HasFree()) {
    ExtentList block;
    if (!TakeBlocks(1, &block, events)) {
      delete[] more;
      return nullptr;
    }
    // Eviction for it may have emptied a header block.
    if (slots.HasFree()) {
      allocator.Free(block[0]);
    } else {
      slots.AddBlock(block[0].first);
    }
  }
  PageSlot& page = slots.Take();
  page.header = header;
  page.state.link.blocks = static_cast<uint32_t>(blocks);
  page.state.more_extents = more;
  page.state.pin = arrival.pin;
  page.state.dirty = arrival.dirty;
  page.state.entry = arrival.entry;
  page.state.sealed_ns = now_ns;
  page.state.holds = 1;
  const bool is_new = table.Insert(page);
  assert(is_new);
  draft_blocks -= blocks;
  --drafts;
  ++holds;
  ++sealed_pages;
  EnterClass(page, events);
  NoteUse(events);
  return &page;
}

void MemoryTierState::Release(PageSlot& page, TierEvents* events) {
  MutexLock lock(mutex);
  assert(page.state.holds > 0);
  --holds;
  if (page.state.holds > 1) {
    --page.state.holds;
    return;
  }
  LeaveClass(page);
  page.state.holds = 0;
  if (page.state.removed) {
    FreePage(page, events);
  } else {
    EnterOrder(page);
    EnterClass(page, events);
  }
}

void MemoryTierState::Notify(const TierEvents& events) {
  if (listener == nullptr) return;
  if (!events.evicted.empty()) listener->OnEvicted(events.evicted);
  if (events.high_watermark) listener->OnHighWatermark();
  if (events.space_freed) listener->OnSpaceFreed();
}

bool MemoryTierState::TakeBlocks(uint32_t count, ExtentList* out, TierEvents* events) {
  // Nothing is evicted for a request that cannot be met. How many header blocks eviction would empty is not known, so
  // all count: empty pages have nothing else to give.
  bool possible = count <= allocator.free_blocks() + Blocks(PageClass::kEvictable) + slots.blocks();
  while (possible && allocator.free_blocks() < count) possible = GiveSpareHeader() || EvictOne(events);
  if (possible) return allocator.Allocate(count, out);
  ++no_space_errors;
  return false;
}

bool MemoryTierState::EvictOne(TierEvents* events) {
  for (uint32_t item = order.Coldest(); item != kNoItem; item = order.Coldest()) {
    PageSlot& page = slots.At(item);
    if (page.state.holds > 0) {
      order.Leave(item);
      page.state.entry = OrderEntry::kCold;
      continue;
    }
    ++evicted_pages;
    evicted_blocks += page.state.link.blocks;
    events->evicted.push_back(page.id());
    RemovePage(page, events);
    return true;
  }
  return false;
}

bool MemoryTierState::GiveSpareHeader() {
  const std::optional<uint32_t> block = slots.TakeSpare();
  if (block.has_value()) allocator.Free({.first = *block, .count = 1});
  return block.has_value();
}

void MemoryTierState::FreePage(PageSlot& page, TierEvents* events) {
  for (uint32_t i = 0; i < page.extent_count(); ++i) allocator.Free(page.extent(i));
  const std::optional<uint32_t> surplus = slots.Give(page);
  if (surplus.has_value()) allocator.Free({.first = *surplus, .count = 1});
  SpaceFreed(events);
}

void MemoryTierState::RemovePage(PageSlot& page, TierEvents* events) {
  const bool was_there = table.Erase(page.id());
  assert(was_there);
  LeaveOrder(page);
  LeaveClass(page);
  page.state.removed = true;
  if (page.state.holds == 0) {
    FreePage(page, events);
  } else {
    EnterClass(page, events);
  }
}

PageClass MemoryTierState::ClassOf(const PageSlot& page) {
  const bool stays = page.state.pin == Pin::kHard && !page.state.removed;
  if (page.state.holds > 0) return stays ? PageClass::kHeldPinned : PageClass::kHeld;
  if (stays) return PageClass::kPinned;
  return page.state.dirty ? PageClass::kDirty : PageClass::kEvictable;
}

void MemoryTierState::LeaveClass(const PageSlot& page) { Blocks(ClassOf(page)) -= page.state.link.blocks; }

void MemoryTierState::EnterClass(const PageSlot& page, TierEvents* events) {
  const PageClass page_class = ClassOf(page);
  Blocks(page_class) += page.state.link.blocks;
  if (page_class == PageClass::kEvictable) SpaceFreed(events);
}

void MemoryTierState::SpaceFreed(TierEvents* events) {
  if (std::exchange(waiting, false)) events->space_freed = true;
}

void MemoryTierState::LeaveOrder(const PageSlot& page) {
  if (page.state.link.list != OrderList::kNone) order.Leave(page.state.slot);
}

void MemoryTierState::EnterOrder(PageSlot& page) {
  if (page.state.holds > 0 || page.state.removed || page.state.dirty || page.state.pin == Pin::kHard) return;
  if (page.state.link.list != OrderList::kNone) return;
  order.Enter(page.state.slot, page.state.entry, page.state.pin == Pin::kSoft);
}

void MemoryTierState::NoteUse(TierEvents* events) {
  if (UsedBlocks() <= high_blocks) {
    high_notified = false;
  } else if (!std::exchange(high_notified, true)) {
    events->high_watermark = true;
  }
}

}  // namespace kvpagefs
