#include "spill/draft_state.h"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace kvpagefs {
namespace {

// Copied and hashed in turns, so that the hash reads from the processor's cache.
constexpr uint64_t kCopyPieceBytes = 64 << 10;
// A growing draft takes as much again as it has, at most this, so that drafts growing side by side do not cut each
// other into single blocks.
constexpr uint64_t kMaxSlackBlocks = 256;

}  // namespace

Status DraftState::Write(uint64_t offset, std::span<const std::byte> source, TierEvents* events) {
  if (source.empty()) return {};
  const uint64_t limit = tier->options.max_page_bytes;
  if (offset > limit || source.size() > limit - offset) return ErrorCode::kTooLarge;
  const uint64_t end = offset + source.size();
  MutexLock lock(mutex);
  const uint32_t slack = static_cast<uint32_t>(std::min(blocks, kMaxSlackBlocks));
  if (const Status grown = Grow(end, slack, events); !grown.ok()) return grown;
  if (offset > bytes) Zero(bytes, offset);
  Invalidate(offset);
  StreamingChecksum* const hasher = hashed_bytes == offset ? &hash : nullptr;
  ForEachPiece(offset, source.size(), [&source, hasher](std::span<std::byte> piece) {
    while (!piece.empty()) {
      const size_t now = std::min<size_t>(piece.size(), kCopyPieceBytes);
      std::memcpy(piece.data(), source.data(), now);
      if (hasher != nullptr) hasher->Update(piece.first(now));
      piece = piece.subspan(now);
      source = source.subspan(now);
    }
  });
  if (hasher != nullptr) hashed_bytes = end;
  bytes = std::max(bytes, end);
  return {};
}

Status DraftState::Truncate(uint64_t new_bytes, TierEvents* events) {
  if (new_bytes > tier->options.max_page_bytes) return ErrorCode::kTooLarge;
  MutexLock lock(mutex);
  if (new_bytes > bytes) {
    if (const Status grown = Grow(new_bytes, 0, events); !grown.ok()) return grown;
    Zero(bytes, new_bytes);
  } else {
    Invalidate(new_bytes);
    Trim(BlocksFor(new_bytes), events);
  }
  bytes = new_bytes;
  return {};
}

Status DraftState::Reserve(uint64_t reserved_bytes, TierEvents* events) {
  if (reserved_bytes > tier->options.max_page_bytes) return ErrorCode::kTooLarge;
  MutexLock lock(mutex);
  return Grow(reserved_bytes, 0, events);
}

Status DraftState::Prepare(uint64_t new_bytes, TierEvents* events) {
  if (new_bytes > tier->options.max_page_bytes) return ErrorCode::kTooLarge;
  MutexLock lock(mutex);
  Invalidate(0);
  if (const Status grown = Grow(new_bytes, 0, events); !grown.ok()) return grown;
  bytes = new_bytes;
  return {};
}

PageSlot* DraftState::Seal(PageId id, std::optional<uint64_t> checksum, const MemoryTierState::Arrival& arrival,
                           TierEvents* events) {
  MutexLock lock(mutex);
  assert(!sealed);
  Trim(BlocksFor(bytes), events);
  // Whole blocks go to disk: nothing of an earlier page goes with them.
  Zero(bytes, BlocksFor(bytes) * kBlockBytes);
  if (!checksum) HashUpTo(bytes);
  PageHeader header{.magic = kPageHeaderMagic,
                    .version = kPageHeaderVersion,
                    .page_id = id.value,
                    .bytes = bytes,
                    .checksum = checksum ? *checksum : hash.Digest(),
                    .extent_count = static_cast<uint32_t>(extents.size())};
  std::copy_n(extents.begin(), std::min(extents.size(), std::size(header.extents)), header.extents);
  SealHeader(&header);
  PageSlot* const page = tier->AddPage(header, extents, arrival, events);
  if (page == nullptr) return nullptr;
  sealed = true;
  extents.clear();
  blocks = 0;
  bytes = 0;
  return page;
}

Status DraftState::Grow(uint64_t end, uint32_t slack, TierEvents* events) {
  const uint64_t needed = BlocksFor(end);
  if (needed <= blocks) return {};
  if (needed > tier->capacity_blocks) return ErrorCode::kNoSpace;
  const uint32_t taken = tier->TakeDraftBlocks(static_cast<uint32_t>(needed - blocks), slack, &extents, events);
  if (taken == 0) return ErrorCode::kNoSpace;
  blocks += taken;
  return {};
}

void DraftState::Trim(uint64_t keep, TierEvents* events) {
  if (keep >= blocks) return;
  ExtentList surplus;
  while (blocks > keep) {
    Extent& last = extents.back();
    const uint32_t cut = static_cast<uint32_t>(std::min<uint64_t>(last.count, blocks - keep));
    last.count -= cut;
    surplus.push_back({.first = last.first + last.count, .count = cut});
    blocks -= cut;
    if (last.count == 0) extents.pop_back();
  }
  cursor_extent = 0;
  cursor_block = 0;
  tier->GiveDraftBlocks(surplus, events);
}

template <class Visit>
void DraftState::ForEachPiece(uint64_t offset, uint64_t count, Visit visit) {
  if (count == 0) return;
  if (offset < cursor_block * kBlockBytes) cursor_extent = cursor_block = 0;
  for (;;) {
    const Extent extent = extents[cursor_extent];
    const uint64_t begin = cursor_block * kBlockBytes;
    const uint64_t end = begin + uint64_t{extent.count} * kBlockBytes;
    if (offset < end) {
      const uint64_t piece = std::min(count, end - offset);
      std::byte* const data = tier->segment.base() + uint64_t{extent.first} * kBlockBytes + (offset - begin);
      visit(std::span<std::byte>(data, piece));
      offset += piece;
      count -= piece;
      if (count == 0) return;
    }
    cursor_block += extent.count;
    ++cursor_extent;
  }
}

void DraftState::Zero(uint64_t offset, uint64_t end) {
  ForEachPiece(offset, end - offset, [](std::span<std::byte> piece) { std::memset(piece.data(), 0, piece.size()); });
}

void DraftState::Invalidate(uint64_t offset) {
  if (offset >= hashed_bytes) return;
  hash.Reset();
  hashed_bytes = 0;
}

void DraftState::HashUpTo(uint64_t end) {
  ForEachPiece(hashed_bytes, end - hashed_bytes,
               [hasher = &hash](std::span<std::byte> piece) { hasher->Update(piece); });
  hashed_bytes = end;
}

}  // namespace kvpagefs
