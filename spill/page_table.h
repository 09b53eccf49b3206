// Finds a sealed page's slot by its id. The caller locks.
//
// Stores slot numbers only and compares with the id in the slot: at most 12 bytes of ordinary memory a page. 64 sets,
// so that growing stops the tier for a 64th of a rehash.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <absl/container/flat_hash_set.h>

#include "base/ids.h"
#include "spill/header_slots.h"

namespace kvpagefs {

class PageTable {
 public:
  // `slots` outlives the table.
  explicit PageTable(const HeaderSlots* slots);

  // Null when there is none.
  PageSlot* Find(PageId id) const;
  // False when the id is there already. The id must stand in the slot's header.
  bool Insert(const PageSlot& slot);
  // False when it was not there.
  bool Erase(PageId id);
  size_t size() const { return size_; }

 private:
  struct Hash {
    using is_transparent = void;
    const HeaderSlots* slots;
    size_t operator()(PageId id) const { return Mix(id); }
    size_t operator()(uint32_t slot) const { return Mix(slots->At(slot).id()); }
  };
  struct Equal {
    using is_transparent = void;
    const HeaderSlots* slots;
    bool operator()(uint32_t a, uint32_t b) const { return a == b; }
    bool operator()(uint32_t slot, PageId id) const { return slots->At(slot).id() == id; }
    bool operator()(PageId id, uint32_t slot) const { return slots->At(slot).id() == id; }
  };
  using Set = absl::flat_hash_set<uint32_t, Hash, Equal>;
  static constexpr int kShardBits = 6;

  // The sets use the hash as it is.
  static size_t Mix(PageId id) {
    uint64_t value = id.value * 0x9E3779B97F4A7C15u;
    value ^= value >> 32;
    value *= 0xD6E8FEB86659FD93u;
    return value ^ value >> 32;
  }
  static size_t ShardOf(PageId id) { return Mix(id) >> (64 - kShardBits); }

  const HeaderSlots* slots_;
  std::vector<Set> shards_;
  size_t size_ = 0;
};

}  // namespace kvpagefs
