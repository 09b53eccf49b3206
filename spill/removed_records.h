// What the removal file says, for whoever reads the regions: which records are no pages any more. Pure.
#pragma once

#include <compare>
#include <cstdint>

#include <absl/container/flat_hash_map.h>

#include "spill/removal_file.h"

namespace kvpagefs {

// The newest removed place of each page.
class RemovedRecords {
 public:
  void Add(const RemovalMark& mark);
  bool Covers(PageId id, uint64_t sequence, uint64_t offset) const;
  // Of any mark.
  uint64_t max_sequence() const { return max_sequence_; }
  // The first offset behind all marks of a region; 0: there are none.
  uint64_t EndIn(uint64_t sequence) const;

 private:
  struct Place {
    uint64_t sequence;
    uint32_t block;
    auto operator<=>(const Place&) const = default;
  };
  absl::flat_hash_map<uint64_t, Place> newest_;
  absl::flat_hash_map<uint64_t, uint32_t> last_block_;  // by region
  uint64_t max_sequence_ = 0;
};

}  // namespace kvpagefs
