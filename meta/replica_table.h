// Which session of which node has a copy of which page. Pure: no I/O, no clock, no thread (the caller locks).
//
// A copy is recorded under the slot of a node's session (meta/node_table.h), not under the node's number, so that
// what an earlier session said never counts for a later one. Up to three copies of a page are packed into 8 bytes; the
// few pages with more have a list of their own.
//
// Memory: at most 40 bytes a page (tests/unit/meta/replica_table_test). Tables are sharded, so that growing one never
// stalls the others for more than a millisecond.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/ids.h"
#include "meta/replica.h"

namespace kvpagefs {

// Of a session. 0 is nobody.
using NodeSlot = uint16_t;

class ReplicaTable {
 public:
  struct Copy {
    NodeSlot slot = 0;
    uint8_t tiers = kNoTier;
    bool operator==(const Copy&) const = default;
  };

  ReplicaTable() : shards_(kShards) {}

  // What the session has of the page from now on; kNoTier: nothing. Returns what it had.
  uint8_t Set(PageId page, NodeSlot slot, uint8_t tiers);
  // In no particular order, of sessions that have ended too.
  std::vector<Copy> Of(PageId page) const;
  bool HasAny(PageId page) const;
  bool HasAny(PageId page, const std::function<bool(NodeSlot)>& is_alive) const;
  void Remove(PageId page);

  // Removes the copies of `is_dead` slots in steps of at least `min_pages` (if there are so many left), each at most
  // a shard more; `orphan` is called for each page that loses its last copy. Between steps the table may change. True
  // when that was all: no copy that was there when the sweep began, under a slot that was dead all the time, is left.
  struct SweepPosition {
    size_t shard = 0;
  };
  struct Sweeping {
    std::function<bool(NodeSlot)> is_dead;
    std::function<void(PageId)> orphan;
  };
  bool Sweep(SweepPosition* position, size_t min_pages, const Sweeping& sweeping);

  size_t pages() const { return pages_; }

 private:
  // Three times 18 bits, slot and tiers; kMore: the copies are in more_.
  using Packed = uint64_t;
  using Shard = absl::flat_hash_map<uint64_t, Packed>;
  static constexpr int kShardBits = 12;
  static constexpr size_t kShards = size_t{1} << kShardBits;

  static size_t ShardOf(PageId page) { return (page.value * 0x9E3779B97F4A7C15u) >> (64 - kShardBits); }
  std::vector<Copy> Unpack(uint64_t page, Packed packed) const;
  Packed Pack(uint64_t page, bool had_more, const std::vector<Copy>& copies);

  std::vector<Shard> shards_;
  absl::flat_hash_map<uint64_t, std::vector<Copy>> more_;
  size_t pages_ = 0;
};

}  // namespace kvpagefs
