#include "spill/removed_records.h"

#include <algorithm>

#include "spill/extent.h"

namespace kvpagefs {

void RemovedRecords::Add(const RemovalMark& mark) {
  const Place place{mark.sequence, mark.block};
  const auto [it, added] = newest_.try_emplace(mark.id.value, place);
  if (!added) it->second = std::max(it->second, place);
  uint32_t& last = last_block_[mark.sequence];
  last = std::max(last, mark.block);
  max_sequence_ = std::max(max_sequence_, mark.sequence);
}

bool RemovedRecords::Covers(PageId id, uint64_t sequence, uint64_t offset) const {
  const auto found = newest_.find(id.value);
  if (found == newest_.end()) return false;
  return Place{sequence, static_cast<uint32_t>(offset / kBlockBytes)} <= found->second;
}

uint64_t RemovedRecords::EndIn(uint64_t sequence) const {
  const auto found = last_block_.find(sequence);
  return found == last_block_.end() ? 0 : (uint64_t{found->second} + 1) * kBlockBytes;
}

}  // namespace kvpagefs
