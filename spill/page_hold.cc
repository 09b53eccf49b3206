#include <cassert>
#include <utility>

#include "spill/memory_tier.h"
#include "spill/memory_tier_state.h"

// The header of a held page does not change, so it is read without the lock.
namespace kvpagefs {

PageHold::PageHold(PageHold&& other) noexcept
    : tier_(std::exchange(other.tier_, nullptr)), page_(std::exchange(other.page_, nullptr)) {}

PageHold& PageHold::operator=(PageHold&& other) noexcept {
  PageHold old(std::move(*this));
  tier_ = std::exchange(other.tier_, nullptr);
  page_ = std::exchange(other.page_, nullptr);
  return *this;
}

PageHold::~PageHold() {
  if (tier_ == nullptr) return;
  TierEvents events;
  tier_->Release(*page_, &events);
  tier_->Notify(events);
}

PageId PageHold::id() const { return page_->id(); }
uint64_t PageHold::bytes() const { return page_->header.bytes; }
uint64_t PageHold::checksum() const { return page_->header.checksum; }

uint64_t PageHold::Read(uint64_t offset, uint64_t bytes, std::vector<iovec>* out) const {
  return MapPieces(
      {.base = tier_->segment.base(), .page_bytes = page_->header.bytes, .offset = offset, .bytes = bytes},
      [page = page_](uint32_t i) { return page->extent(i); }, out);
}

void PageHold::Blocks(std::vector<iovec>* out) const {
  const uint64_t bytes = BlocksFor(page_->header.bytes) * kBlockBytes;
  MapPieces(
      {.base = tier_->segment.base(), .page_bytes = bytes, .offset = 0, .bytes = bytes},
      [page = page_](uint32_t i) { return page->extent(i); }, out);
}

PageHold PageHold::Clone() const {
  assert(tier_ != nullptr);
  MutexLock lock(tier_->mutex);
  ++page_->state.holds;
  ++tier_->holds;
  return {tier_, page_};
}

}  // namespace kvpagefs
