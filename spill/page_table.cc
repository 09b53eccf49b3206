#include "spill/page_table.h"

namespace kvpagefs {

PageTable::PageTable(const HeaderSlots* slots) : slots_(slots) {
  shards_.reserve(size_t{1} << kShardBits);
  for (int i = 0; i < 1 << kShardBits; ++i) shards_.emplace_back(0, Hash{slots}, Equal{slots});
}

PageSlot* PageTable::Find(PageId id) const {
  const Set& shard = shards_[ShardOf(id)];
  const auto found = shard.find(id);
  return found == shard.end() ? nullptr : &slots_->At(*found);
}

bool PageTable::Insert(const PageSlot& slot) {
  // By id first: two slots are never equal to the set, but two pages with one id must be.
  if (Find(slot.id()) != nullptr) return false;
  shards_[ShardOf(slot.id())].insert(slot.state.slot);
  ++size_;
  return true;
}

bool PageTable::Erase(PageId id) {
  Set& shard = shards_[ShardOf(id)];
  const auto found = shard.find(id);
  if (found == shard.end()) return false;
  shard.erase(found);
  --size_;
  return true;
}

}  // namespace kvpagefs
