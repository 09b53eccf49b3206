#include "spill/ssd_index.h"

#include <algorithm>
#include <cassert>

namespace kvpagefs {

SsdIndex::SsdIndex() {
  shards_.reserve(size_t{1} << kShardBits);
  for (int i = 0; i < 1 << kShardBits; ++i) shards_.emplace_back(0, Hash{this}, Equal{this});
}

uint32_t SsdIndex::Slot(PageId id) const {
  const Set& shard = shards_[ShardOf(id)];
  const auto found = shard.find(id);
  return found == shard.end() ? kNone : *found;
}

uint32_t SsdIndex::Take() {
  if (free_ == kNone) {
    const auto first = static_cast<uint32_t>(chunks_.size()) * kChunkEntries;
    chunks_.push_back(std::make_unique<Entry[]>(kChunkEntries));
    for (uint32_t i = 0; i < kChunkEntries; ++i) At(first + i).after = i + 1 < kChunkEntries ? first + i + 1 : kNone;
    free_ = first;
  }
  const uint32_t slot = free_;
  free_ = At(slot).after;
  return slot;
}

bool SsdIndex::Insert(const SsdPage& page) {
  if (Slot(page.id) != kNone) return false;
  assert(page.bytes >> kBytesBits == 0 && page.header_blocks < 64);
  if (page.region >= heads_.size()) heads_.resize(page.region + 1, kNone);
  const uint32_t slot = Take();
  Entry& entry = At(slot);
  entry.id = page.id.value;
  entry.checksum = page.checksum;
  entry.bytes = page.bytes & ((uint64_t{1} << kBytesBits) - 1);
  entry.header_blocks = page.header_blocks & 63;
  entry.failures = 0;
  entry.region = page.region;
  entry.block = page.block;
  entry.before = kNone;
  entry.after = heads_[page.region];
  if (entry.after != kNone) At(entry.after).before = slot;
  heads_[page.region] = slot;
  shards_[ShardOf(page.id)].insert(slot);
  ++size_;
  return true;
}

SsdPage SsdIndex::PageOf(const Entry& entry) {
  return {.id = PageId{entry.id},
          .bytes = entry.bytes,
          .checksum = entry.checksum,
          .region = entry.region,
          .block = entry.block,
          .header_blocks = static_cast<uint32_t>(entry.header_blocks)};
}

std::optional<SsdPage> SsdIndex::Find(PageId id) const {
  const uint32_t slot = Slot(id);
  if (slot == kNone) return std::nullopt;
  return PageOf(At(slot));
}

bool SsdIndex::Erase(PageId id) {
  Set& shard = shards_[ShardOf(id)];
  const auto found = shard.find(id);
  if (found == shard.end()) return false;
  const uint32_t slot = *found;
  shard.erase(found);
  Entry& entry = At(slot);
  if (entry.before != kNone) {
    At(entry.before).after = entry.after;
  } else {
    heads_[entry.region] = entry.after;
  }
  if (entry.after != kNone) At(entry.after).before = entry.before;
  entry.after = free_;
  free_ = slot;
  --size_;
  return true;
}

uint32_t SsdIndex::AddFailure(PageId id) {
  const uint32_t slot = Slot(id);
  if (slot == kNone) return 0;
  Entry& entry = At(slot);
  if (entry.failures < 7) entry.failures = (entry.failures + 1) & 7;
  return entry.failures;
}

std::vector<SsdPage> SsdIndex::InRegion(uint32_t region) const {
  std::vector<SsdPage> pages;
  if (region >= heads_.size()) return pages;
  for (uint32_t slot = heads_[region]; slot != kNone; slot = At(slot).after) pages.push_back(PageOf(At(slot)));
  return pages;
}

uint64_t SsdIndex::memory_bytes() const {
  uint64_t bytes = chunks_.size() * kChunkEntries * sizeof(Entry) + heads_.capacity() * sizeof(uint32_t);
  for (const Set& shard : shards_) bytes += shard.capacity() * (sizeof(uint32_t) + 1);
  return bytes;
}

}  // namespace kvpagefs
