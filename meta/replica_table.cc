#include "meta/replica_table.h"

#include <algorithm>
#include <cassert>

namespace kvpagefs {
namespace {

constexpr int kTierBits = 2;
constexpr int kCopyBits = 16 + kTierBits;
constexpr size_t kPackedCopies = 3;
constexpr uint64_t kCopyMask = (uint64_t{1} << kCopyBits) - 1;
constexpr uint64_t kMore = uint64_t{1} << 63;

}  // namespace

std::vector<ReplicaTable::Copy> ReplicaTable::Unpack(uint64_t page, Packed packed) const {
  if ((packed & kMore) != 0) return more_.at(page);
  std::vector<Copy> copies;
  for (; packed != 0; packed >>= kCopyBits) {
    const uint64_t one = packed & kCopyMask;
    copies.push_back({static_cast<NodeSlot>(one >> kTierBits), static_cast<uint8_t>(one & kBothTiers)});
  }
  return copies;
}

ReplicaTable::Packed ReplicaTable::Pack(uint64_t page, bool had_more, const std::vector<Copy>& copies) {
  if (copies.size() > kPackedCopies) {
    more_[page] = copies;
    return kMore;
  }
  if (had_more) more_.erase(page);
  Packed packed = 0;
  for (size_t i = 0; i < copies.size(); ++i) {
    packed |= (uint64_t{copies[i].slot} << kTierBits | copies[i].tiers) << (kCopyBits * i);
  }
  return packed;
}

uint8_t ReplicaTable::Set(PageId page, NodeSlot slot, uint8_t tiers) {
  assert(slot != 0 && tiers <= kBothTiers);
  Shard& shard = shards_[ShardOf(page)];
  const auto found = shard.find(page.value);
  if (found == shard.end()) {
    if (tiers != kNoTier) {
      shard.emplace(page.value, Pack(page.value, false, {{slot, tiers}}));
      ++pages_;
    }
    return kNoTier;
  }
  std::vector<Copy> copies = Unpack(page.value, found->second);
  const auto mine = std::find_if(copies.begin(), copies.end(), [slot](const Copy& copy) { return copy.slot == slot; });
  const uint8_t before = mine == copies.end() ? uint8_t{kNoTier} : mine->tiers;
  if (mine == copies.end()) {
    if (tiers != kNoTier) copies.push_back({slot, tiers});
  } else if (tiers != kNoTier) {
    mine->tiers = tiers;
  } else {
    copies.erase(mine);
  }
  found->second = Pack(page.value, (found->second & kMore) != 0, copies);
  if (copies.empty()) {
    shard.erase(found);
    --pages_;
  }
  return before;
}

std::vector<ReplicaTable::Copy> ReplicaTable::Of(PageId page) const {
  const Shard& shard = shards_[ShardOf(page)];
  const auto found = shard.find(page.value);
  return found == shard.end() ? std::vector<Copy>() : Unpack(page.value, found->second);
}

bool ReplicaTable::HasAny(PageId page) const { return shards_[ShardOf(page)].contains(page.value); }

bool ReplicaTable::HasAny(PageId page, const std::function<bool(NodeSlot)>& is_alive) const {
  const std::vector<Copy> copies = Of(page);
  return std::any_of(copies.begin(), copies.end(), [&](const Copy& copy) { return is_alive(copy.slot); });
}

void ReplicaTable::Remove(PageId page) {
  Shard& shard = shards_[ShardOf(page)];
  const auto found = shard.find(page.value);
  if (found == shard.end()) return;
  if ((found->second & kMore) != 0) more_.erase(page.value);
  shard.erase(found);
  --pages_;
}

bool ReplicaTable::Sweep(SweepPosition* position, size_t min_pages, const Sweeping& sweeping) {
  for (size_t seen = 0; position->shard < kShards && seen < min_pages; ++position->shard) {
    Shard& shard = shards_[position->shard];
    seen += shard.size();
    for (auto at = shard.begin(); at != shard.end();) {
      const uint64_t page = at->first;
      std::vector<Copy> copies = Unpack(page, at->second);
      const size_t gone = std::erase_if(copies, [&](const Copy& copy) { return sweeping.is_dead(copy.slot); });
      if (gone == 0) {
        ++at;
        continue;
      }
      at->second = Pack(page, (at->second & kMore) != 0, copies);
      if (!copies.empty()) {
        ++at;
        continue;
      }
      shard.erase(at++);
      --pages_;
      sweeping.orphan(PageId{page});
    }
  }
  return position->shard == kShards;
}

}  // namespace kvpagefs
