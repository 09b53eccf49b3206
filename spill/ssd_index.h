// Which pages the SSD log has, and where: in memory, by page id and by region. The caller locks.
//
// 40 bytes a page in chunks of fixed size, and a hash set of 32-bit numbers of them: 45 to 52 bytes a page in all. A
// hash map of the entries themselves would take 40 / 0.44 right after each doubling. 64 sets, so that growing stops the
// log for a 64th of a rehash.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <absl/container/flat_hash_set.h>

#include "base/ids.h"

namespace kvpagefs {

struct SsdPage {
  PageId id;
  uint64_t bytes = 0;  // below 2^40
  uint64_t checksum = 0;
  uint32_t region = 0;         // slot in the region table
  uint32_t block = 0;          // of the record, in its region
  uint32_t header_blocks = 0;  // below 64
};

class SsdIndex {
 public:
  SsdIndex();
  SsdIndex(const SsdIndex&) = delete;
  SsdIndex& operator=(const SsdIndex&) = delete;

  // False when the id is there already.
  bool Insert(const SsdPage& page);
  std::optional<SsdPage> Find(PageId id) const;
  bool Contains(PageId id) const { return Slot(id) != kNone; }
  // False when it was not there.
  bool Erase(PageId id);
  // One more failed read of this page; how many there were, at most 7. 0: no such page.
  uint32_t AddFailure(PageId id);
  // All pages of a region, in no order.
  std::vector<SsdPage> InRegion(uint32_t region) const;
  uint64_t size() const { return size_; }
  uint64_t memory_bytes() const;

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr int kShardBits = 6;
  static constexpr uint32_t kChunkEntries = 4096;
  static constexpr int kBytesBits = 40;

  struct Entry {
    uint64_t id;
    uint64_t checksum;
    uint64_t bytes : kBytesBits;
    uint64_t header_blocks : 6;
    uint64_t failures : 3;
    uint32_t region;
    uint32_t block;
    uint32_t before;  // in the list of the region
    uint32_t after;   // in the list of the region, or of free entries
  };
  static_assert(sizeof(Entry) == 40);

  struct Hash {
    using is_transparent = void;  // NOLINT(readability-identifier-naming): the library's name
    const SsdIndex* index;
    size_t operator()(PageId id) const { return Mix(id.value); }
    size_t operator()(uint32_t slot) const { return Mix(index->At(slot).id); }
  };
  struct Equal {
    using is_transparent = void;  // NOLINT(readability-identifier-naming): the library's name
    const SsdIndex* index;
    bool operator()(uint32_t a, uint32_t b) const { return a == b; }
    bool operator()(uint32_t slot, PageId id) const { return index->At(slot).id == id.value; }
    bool operator()(PageId id, uint32_t slot) const { return index->At(slot).id == id.value; }
  };
  using Set = absl::flat_hash_set<uint32_t, Hash, Equal>;

  static size_t Mix(uint64_t value) {
    value *= 0x9E3779B97F4A7C15u;
    value ^= value >> 32;
    value *= 0xD6E8FEB86659FD93u;
    return value ^ value >> 32;
  }
  static size_t ShardOf(PageId id) { return Mix(id.value) >> (64 - kShardBits); }

  Entry& At(uint32_t slot) const { return chunks_[slot / kChunkEntries][slot % kChunkEntries]; }
  uint32_t Slot(PageId id) const;
  uint32_t Take();
  static SsdPage PageOf(const Entry& entry);

  std::vector<std::unique_ptr<Entry[]>> chunks_;
  std::vector<Set> shards_;
  std::vector<uint32_t> heads_;  // by region
  uint32_t free_ = kNone;
  uint64_t size_ = 0;
};

}  // namespace kvpagefs
