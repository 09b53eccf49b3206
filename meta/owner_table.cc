#include "meta/owner_table.h"

#include <cassert>

namespace kvpagefs {

size_t OwnerTable::OwnerHash::operator()(const Ownership& owner) const {
  const uint64_t ids = uint64_t{owner.uid} << 32 | owner.gid;
  uint64_t mixed = (ids ^ uint64_t{owner.mode} << 48) * 0x9E3779B97F4A7C15u;
  mixed ^= mixed >> 32;
  return mixed * 0xD6E8FEB86659FD93u;
}

uint16_t OwnerTable::Acquire(const Ownership& owner, uint64_t object_id) {
  if (const auto found = numbers_.find(owner); found != numbers_.end()) {
    ++rows_[found->second].users;
    return found->second;
  }
  uint16_t number = kPerObject;
  if (!free_.empty()) {
    number = free_.back();
    free_.pop_back();
  } else if (rows_.size() < limit_) {
    number = static_cast<uint16_t>(rows_.size());
    rows_.emplace_back();
  }
  if (number == kPerObject) {
    per_object_[object_id] = owner;
    return kPerObject;
  }
  rows_[number] = {owner, 1};
  numbers_[owner] = number;
  return number;
}

void OwnerTable::Release(uint16_t number, uint64_t object_id) {
  if (number == kPerObject) {
    const size_t erased = per_object_.erase(object_id);
    assert(erased == 1);
    (void)erased;
    return;
  }
  Row& row = rows_[number];
  assert(row.users > 0);
  if (--row.users > 0) return;
  numbers_.erase(row.owner);
  free_.push_back(number);
}

Ownership OwnerTable::Get(uint16_t number, uint64_t object_id) const {
  if (number != kPerObject) return rows_[number].owner;
  const auto found = per_object_.find(object_id);
  assert(found != per_object_.end());
  return found->second;
}

}  // namespace kvpagefs
