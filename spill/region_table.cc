#include "spill/region_table.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace kvpagefs {

Region& RegionTable::Add(std::string name, uint64_t file_bytes) {
  const auto hole = std::ranges::find_if(slots_, [](const auto& region) { return region == nullptr; });
  const auto slot = static_cast<uint32_t>(hole - slots_.begin());
  if (hole == slots_.end()) slots_.emplace_back();
  slots_[slot] = std::make_unique<Region>();
  Region& region = *slots_[slot];
  region.slot = slot;
  region.name = std::move(name);
  region.file_bytes = file_bytes;
  file_bytes_ += file_bytes;
  ++regions_;
  return region;
}

void RegionTable::Erase(uint32_t slot) {
  file_bytes_ -= slots_[slot]->file_bytes;
  --regions_;
  slots_[slot].reset();
}

Region* RegionTable::Find(Region::State state) {
  Region* found = nullptr;
  for (const std::unique_ptr<Region>& region : slots_) {
    if (!region || region->state != state) continue;
    if (found == nullptr || region->key.sequence < found->key.sequence) found = region.get();
  }
  return found;
}

Region* RegionTable::FindReusable() {
  for (const std::unique_ptr<Region>& region : slots_) {
    if (region && region->state == Region::State::kFree && Reusable(*region)) return region.get();
  }
  return nullptr;
}

bool RegionTable::MayCreate() const {
  return !disk_full_ &&
         file_bytes_ + limits_.region_bytes + ReservedBytes(limits_.capacity_bytes) <= limits_.capacity_bytes;
}

bool RegionTable::Over() const { return file_bytes_ + ReservedBytes(limits_.capacity_bytes) > limits_.capacity_bytes; }

uint32_t RegionTable::Available() const {
  uint32_t available = 0;
  uint64_t bytes = file_bytes_ + ReservedBytes(limits_.capacity_bytes);
  ForEach([&](const Region& region) {
    const bool next = region.state == Region::State::kPreparing || region.state == Region::State::kReady;
    if (next || (region.state == Region::State::kFree && Reusable(region))) ++available;
    // Its file makes way for a new one.
    if (region.state == Region::State::kFree && !Reusable(region)) bytes -= region.file_bytes;
  });
  if (!disk_full_ && bytes < limits_.capacity_bytes) {
    available += static_cast<uint32_t>((limits_.capacity_bytes - bytes) / limits_.region_bytes);
  }
  return available;
}

Region* RegionTable::ChooseReclaim() {
  Region* chosen = nullptr;
  for (const std::unique_ptr<Region>& region : slots_) {
    if (!region || region->state != Region::State::kSealed) continue;
    const auto rank = [](const Region& r) { return std::tuple(r.reclaim_failures, r.key.sequence); };
    if (chosen == nullptr || rank(*region) < rank(*chosen)) chosen = region.get();
  }
  return chosen;
}

uint64_t RegionTable::MinSequence() const {
  uint64_t min = UINT64_MAX;
  ForEach([&](const Region& region) {
    if (region.state == Region::State::kFree || region.state == Region::State::kForeign) return;
    min = std::min(min, region.state == Region::State::kUnreadable ? 0 : region.key.sequence);
  });
  return min;
}

}  // namespace kvpagefs
