#include "spill/memory_tier.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "spill/draft_state.h"
#include "spill/memory_tier_state.h"

namespace kvpagefs {
namespace {

// Pages evicted under one lock: holds the others up for some microseconds at most.
constexpr size_t kEvictBatchPages = 64;

}  // namespace

Result<std::unique_ptr<MemoryTier>> MemoryTier::Create(Segment segment, const Options& options, const Clock* clock,
                                                       Listener* listener) {
  const bool ordered = 0 < options.low_watermark && options.low_watermark <= options.high_watermark;
  if (!ordered || options.high_watermark > 1) {
    return Error(ErrorCode::kInvalid, "watermarks must be 0 < low <= high <= 1");
  }
  return std::unique_ptr<MemoryTier>(
      new MemoryTier(std::make_unique<MemoryTierState>(std::move(segment), options, clock, listener)));
}

MemoryTier::MemoryTier(std::unique_ptr<MemoryTierState> state) : state_(std::move(state)) {}
MemoryTier::~MemoryTier() = default;

std::unique_ptr<Draft> MemoryTier::NewDraft() {
  return std::unique_ptr<Draft>(new Draft(std::make_unique<DraftState>(state_.get())));
}

Result<std::unique_ptr<Draft>> MemoryTier::NewDraft(const PageHold& from) {
  std::unique_ptr<Draft> draft = NewDraft();
  if (const Status reserved = draft->Reserve(from.bytes()); !reserved.ok()) return reserved.error();
  std::vector<iovec> pieces;
  from.Read(0, from.bytes(), &pieces);
  uint64_t offset = 0;
  for (const iovec& piece : pieces) {
    const Status written = draft->Write(offset, {static_cast<const std::byte*>(piece.iov_base), piece.iov_len});
    if (!written.ok()) return written.error();
    offset += piece.iov_len;
  }
  return draft;
}

void MemoryTier::MarkClean(PageId id) {
  TierEvents events;
  {
    MutexLock lock(state_->mutex);
    PageSlot* const page = state_->table.Find(id);
    if (page == nullptr || !page->state.dirty) return;
    state_->LeaveClass(*page);
    page->state.dirty = false;
    state_->EnterOrder(*page);
    state_->EnterClass(*page, &events);
  }
  state_->Notify(events);
}

Result<PageHold> MemoryTier::Adopt(const Arrival& arrival, std::unique_ptr<Draft>& draft) {
  TierEvents events;
  const OrderEntry entry = arrival.welcome == Welcome::kFresh ? OrderEntry::kFresh : OrderEntry::kCold;
  PageSlot* const page =
      draft->state_->Seal(arrival.id, arrival.checksum, {.pin = arrival.pin, .dirty = false, .entry = entry}, &events);
  if (page != nullptr) draft.reset();
  state_->Notify(events);
  if (page == nullptr) return ErrorCode::kNoSpace;
  return PageHold(state_.get(), page);
}

Result<PageHold> MemoryTier::Seal(PageId id, std::unique_ptr<Draft>& draft, Pin pin, Copy copy) {
  TierEvents events;
  PageSlot* const page = draft->state_->Seal(
      id, std::nullopt, {.pin = pin, .dirty = copy == Copy::kDirty, .entry = OrderEntry::kFresh}, &events);
  if (page != nullptr) draft.reset();
  state_->Notify(events);
  if (page == nullptr) return ErrorCode::kNoSpace;
  return PageHold(state_.get(), page);
}

Result<PageHold> MemoryTier::Hold(PageId id, Touch touch, uint32_t reader) {
  const int64_t now_ns = touch != Touch::kNone ? state_->clock->WallNs() : 0;
  TierEvents events;  // stays empty: holding frees nothing
  MutexLock lock(state_->mutex);
  PageSlot* const page = state_->table.Find(id);
  if (page == nullptr) return ErrorCode::kNotFound;
  PageState& state = page->state;
  if (state.holds == 0) {
    state_->LeaveClass(*page);
    ++state.holds;
    state_->EnterClass(*page, &events);
  } else {
    ++state.holds;
  }
  ++state_->holds;
  if (touch == Touch::kRead) {
    state_->LeaveOrder(*page);
    state.entry = OrderEntry::kRead;
  }
  if (touch != Touch::kNone) {
    if (state.reads != UINT32_MAX) ++state.reads;
    state.last_reader = reader;
    state.last_read_ns = now_ns;
  }
  return PageHold(state_.get(), page);
}

Result<PageUse> MemoryTier::Use(PageId id) const {
  MutexLock lock(state_->mutex);
  const PageSlot* const page = state_->table.Find(id);
  if (page == nullptr) return ErrorCode::kNotFound;
  return PageUse{.bytes = page->header.bytes,
                 .checksum = page->header.checksum,
                 .resident_bytes = uint64_t{page->state.link.blocks} * kBlockBytes,
                 .last_read_ns = page->state.last_read_ns,
                 .reads = page->state.reads,
                 .last_reader = page->state.last_reader,
                 .holds = page->state.holds,
                 .pin = page->state.pin,
                 .dirty = page->state.dirty};
}

Status MemoryTier::SetPin(PageId id, Pin pin) {
  TierEvents events;
  {
    MutexLock lock(state_->mutex);
    PageSlot* const page = state_->table.Find(id);
    if (page == nullptr) return ErrorCode::kNotFound;
    if (page->state.pin == pin) return {};
    const bool was_listed = page->state.link.list != OrderList::kNone;
    state_->LeaveOrder(*page);
    state_->LeaveClass(*page);
    if (was_listed) page->state.entry = OrderEntry::kFresh;
    page->state.pin = pin;
    state_->EnterClass(*page, &events);
    state_->EnterOrder(*page);
  }
  state_->Notify(events);
  return {};
}

Status MemoryTier::SetLastRead(PageId id, int64_t last_read_ns) {
  MutexLock lock(state_->mutex);
  PageSlot* const page = state_->table.Find(id);
  if (page == nullptr) return ErrorCode::kNotFound;
  PageState& state = page->state;
  const bool newer = last_read_ns >= std::max(state.last_read_ns, state.sealed_ns);
  state.last_read_ns = last_read_ns;
  state_->LeaveOrder(*page);
  state.entry = newer ? OrderEntry::kRead : OrderEntry::kCold;
  state_->EnterOrder(*page);
  return {};
}

Status MemoryTier::Remove(PageId id) {
  TierEvents events;
  {
    MutexLock lock(state_->mutex);
    PageSlot* const page = state_->table.Find(id);
    if (page == nullptr) return ErrorCode::kNotFound;
    state_->RemovePage(*page, &events);
  }
  state_->Notify(events);
  return {};
}

size_t MemoryTier::EvictToLow(size_t max_pages) {
  size_t evicted = 0;
  for (bool more = true; more && evicted < max_pages;) {
    TierEvents events;
    {
      MutexLock lock(state_->mutex);
      const size_t batch = std::min(max_pages - evicted, kEvictBatchPages);
      while (more && events.evicted.size() < batch) {
        more = state_->UsedBlocks() > state_->low_blocks && state_->EvictOne(&events);
      }
      state_->high_notified = false;
    }
    evicted += events.evicted.size();
    state_->Notify(events);
  }
  return evicted;
}

bool MemoryTier::AboveLow() const {
  MutexLock lock(state_->mutex);
  return state_->UsedBlocks() > state_->low_blocks && state_->Blocks(PageClass::kEvictable) > 0;
}

bool MemoryTier::WaitForSpace(uint64_t bytes) {
  TierEvents events;
  {
    MutexLock lock(state_->mutex);
    const uint64_t needed = BlocksFor(bytes) + 1;  // for the page's header, or an unaligned end
    const uint64_t now = state_->allocator.free_blocks() + state_->Blocks(PageClass::kEvictable);
    if (needed > now + state_->Blocks(PageClass::kHeld) + state_->Blocks(PageClass::kDirty)) return false;
    // The space may have come between the caller's kNoSpace and here.
    if (needed <= now) {
      events.space_freed = true;
    } else {
      state_->waiting = true;
    }
  }
  state_->Notify(events);
  return true;
}

MemoryTier::Stats MemoryTier::GetStats() const {
  const MemoryTierState& state = *state_;
  MutexLock lock(state.mutex);
  const uint64_t held = state.Blocks(PageClass::kHeld) + state.Blocks(PageClass::kHeldPinned);
  return {.capacity_bytes = state.capacity_blocks * kBlockBytes,
          .free_bytes = uint64_t{state.allocator.free_blocks()} * kBlockBytes,
          .header_bytes = uint64_t{state.slots.blocks()} * kBlockBytes,
          .draft_bytes = state.draft_blocks * kBlockBytes,
          .held_bytes = held * kBlockBytes,
          .pinned_bytes = state.Blocks(PageClass::kPinned) * kBlockBytes,
          .dirty_bytes = state.Blocks(PageClass::kDirty) * kBlockBytes,
          .evictable_bytes = state.Blocks(PageClass::kEvictable) * kBlockBytes,
          .pages = state.table.size(),
          .drafts = state.drafts,
          .holds = state.holds,
          .evicted_pages = state.evicted_pages,
          .evicted_bytes = state.evicted_blocks * kBlockBytes,
          .sealed_pages = state.sealed_pages,
          .no_space_errors = state.no_space_errors,
          .free_extents = state.allocator.free_extents(),
          .longest_free_bytes = uint64_t{state.allocator.longest_free_extent()} * kBlockBytes};
}

const Segment& MemoryTier::segment() const { return state_->segment; }
uint64_t MemoryTier::max_page_bytes() const { return state_->options.max_page_bytes; }

}  // namespace kvpagefs
