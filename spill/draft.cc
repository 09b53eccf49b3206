#include <span>
#include <utility>

#include "spill/draft_state.h"
#include "spill/memory_tier.h"

namespace kvpagefs {

Draft::Draft(std::unique_ptr<DraftState> state) : state_(std::move(state)) { state_->tier->CountDraft(1); }

Draft::~Draft() {
  TierEvents events;
  {
    MutexLock lock(state_->mutex);
    if (!state_->sealed) {
      state_->Trim(0, &events);
      state_->tier->CountDraft(-1);
    }
  }
  state_->tier->Notify(events);
}

Status Draft::Write(uint64_t offset, std::span<const std::byte> bytes) {
  TierEvents events;
  Status status = state_->Write(offset, bytes, &events);
  state_->tier->Notify(events);
  return status;
}

Status Draft::Truncate(uint64_t bytes) {
  TierEvents events;
  Status status = state_->Truncate(bytes, &events);
  state_->tier->Notify(events);
  return status;
}

Status Draft::Reserve(uint64_t bytes) {
  TierEvents events;
  Status status = state_->Reserve(bytes, &events);
  state_->tier->Notify(events);
  return status;
}

Status Draft::Prepare(uint64_t bytes, std::vector<iovec>* blocks) {
  TierEvents events;
  Status status = state_->Prepare(bytes, &events);
  state_->tier->Notify(events);
  if (!status.ok()) return status;
  MutexLock lock(state_->mutex);
  const std::span<const Extent> extents = state_->extents;
  const uint64_t block_bytes = BlocksFor(bytes) * kBlockBytes;
  MapPieces(
      {.base = state_->tier->segment.base(), .page_bytes = block_bytes, .offset = 0, .bytes = block_bytes},
      [extents](uint32_t i) { return extents[i]; }, blocks);
  return {};
}

uint64_t Draft::Read(uint64_t offset, uint64_t bytes, std::vector<iovec>* out) const {
  const DraftState& state = *state_;
  MutexLock lock(state.mutex);
  const std::span<const Extent> extents = state.extents;
  return MapPieces(
      {.base = state.tier->segment.base(), .page_bytes = state.bytes, .offset = offset, .bytes = bytes},
      [extents](uint32_t i) { return extents[i]; }, out);
}

uint64_t Draft::bytes() const {
  MutexLock lock(state_->mutex);
  return state_->bytes;
}

uint64_t Draft::allocated_bytes() const {
  MutexLock lock(state_->mutex);
  return state_->blocks * kBlockBytes;
}

}  // namespace kvpagefs
