// Where entries are found: by name, by id, and in the order of their cursors. None owns the entries. Not thread-safe.
//
// The hash tables are cut into many small ones, so that growing one moves a few thousand entries at most.
#pragma once

#include <cassert>
#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_set.h"
#include "meta/entry.h"

namespace kvpagefs {

uint64_t HashName(uint32_t parent, std::string_view packed_name);

inline uint64_t HashId(uint64_t id) {
  uint64_t mixed = id * 0x9E3779B97F4A7C15u;
  mixed ^= mixed >> 32;
  mixed *= 0xD6E8FEB86659FD93u;
  return mixed ^ mixed >> 32;
}

struct NameKey {
  uint32_t parent;
  std::string_view packed_name;
};

struct ByName {
  using is_transparent = void;
  size_t operator()(const Entry* entry) const { return HashName(entry->parent, entry->packed_name()); }
  size_t operator()(const NameKey& key) const { return HashName(key.parent, key.packed_name); }
};
struct SameName {
  using is_transparent = void;
  bool operator()(const Entry* a, const Entry* b) const { return a == b; }
  bool operator()(const Entry* entry, const NameKey& key) const {
    return entry->parent == key.parent && entry->packed_name() == key.packed_name;
  }
  bool operator()(const NameKey& key, const Entry* entry) const { return (*this)(entry, key); }
};

struct ById {
  using is_transparent = void;
  size_t operator()(const Entry* entry) const { return HashId(entry->id); }
  size_t operator()(uint64_t id) const { return HashId(id); }
};
struct SameId {
  using is_transparent = void;
  bool operator()(const Entry* a, const Entry* b) const { return a == b; }
  bool operator()(const Entry* entry, uint64_t id) const { return entry->id == id; }
  bool operator()(uint64_t id, const Entry* entry) const { return entry->id == id; }
};

template <class Hash, class Same>
class EntryIndex {
 public:
  EntryIndex() : shards_(kShards) {}

  // Null when there is none.
  template <class Key>
  Entry* Find(const Key& key) const {
    const size_t hash = Hash{}(key);
    const Shard& shard = shards_[hash >> kShardShift];
    const auto found = shard.find(key, hash);
    return found == shard.end() ? nullptr : *found;
  }
  // The entry's key is not in the index yet.
  void Insert(Entry* entry) {
    const bool inserted = shards_[Hash{}(entry) >> kShardShift].insert(entry).second;
    assert(inserted);
    (void)inserted;
  }
  // Before its key changes.
  void Erase(Entry* entry) {
    const size_t erased = shards_[Hash{}(entry) >> kShardShift].erase(entry);
    assert(erased == 1);
    (void)erased;
  }
  template <class Visit>
  void ForEach(const Visit& visit) const {
    for (const Shard& shard : shards_) {
      for (Entry* entry : shard) visit(entry);
    }
  }

 private:
  using Shard = absl::flat_hash_set<Entry*, Hash, Same>;
  static constexpr int kShardBits = 12;
  static constexpr int kShardShift = 64 - kShardBits;
  static constexpr size_t kShards = size_t{1} << kShardBits;

  std::vector<Shard> shards_;
};

using NameIndex = EntryIndex<ByName, SameName>;
using IdIndex = EntryIndex<ById, SameId>;

struct ByCursor {
  using is_transparent = void;
  bool operator()(const Entry* a, const Entry* b) const { return a->cursor() < b->cursor(); }
  bool operator()(const Entry* entry, uint64_t cursor) const { return entry->cursor() < cursor; }
  bool operator()(uint64_t cursor, const Entry* entry) const { return cursor < entry->cursor(); }
};
using CursorOrder = absl::btree_set<Entry*, ByCursor>;

}  // namespace kvpagefs
