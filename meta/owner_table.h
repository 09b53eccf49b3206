// Owners and modes as 16-bit numbers: a million pages have a handful of different ones. Not thread-safe.
//
// When more different owners are in use than there are numbers, the rest are kept per object; so every number is
// handed back together with the object it was taken for.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "meta/types.h"

namespace kvpagefs {

class OwnerTable {
 public:
  static constexpr uint16_t kPerObject = 0xffff;

  // `limit`: so many different owners get numbers.
  explicit OwnerTable(uint16_t limit = kPerObject) : limit_(limit) {}

  uint16_t Acquire(const Ownership& owner, uint64_t object_id);
  void Release(uint16_t number, uint64_t object_id);
  Ownership Get(uint16_t number, uint64_t object_id) const;

 private:
  struct Row {
    Ownership owner;
    uint64_t users = 0;
  };
  struct OwnerHash {
    size_t operator()(const Ownership& owner) const;
  };

  const uint16_t limit_;
  std::vector<Row> rows_;
  std::vector<uint16_t> free_;
  absl::flat_hash_map<Ownership, uint16_t, OwnerHash> numbers_;
  absl::flat_hash_map<uint64_t, Ownership> per_object_;
};

}  // namespace kvpagefs
