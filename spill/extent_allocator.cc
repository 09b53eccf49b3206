#include "spill/extent_allocator.h"

#include <algorithm>
#include <cassert>
#include <iterator>

#include <absl/container/btree_map.h>
#include <absl/container/btree_set.h>

namespace kvpagefs {
namespace {

constexpr uint64_t SizeKey(Extent extent) { return uint64_t{extent.count} << 32 | extent.first; }
constexpr Extent FromSizeKey(uint64_t key) {
  return {.first = static_cast<uint32_t>(key), .count = static_cast<uint32_t>(key >> 32)};
}

void Append(Extent extent, ExtentList* out) {
  if (!out->empty() && out->back().first + out->back().count == extent.first) {
    out->back().count += extent.count;
  } else {
    out->push_back(extent);
  }
}

}  // namespace

// Invariant: both indexes hold the same free extents, which neither overlap nor adjoin; `free` is their sum.
struct ExtentAllocator::State {
  uint32_t total = 0;
  uint32_t free = 0;
  absl::btree_map<uint32_t, uint32_t> by_address;  // first -> count
  absl::btree_set<uint64_t> by_size;               // SizeKey: ties go to the lowest address

  void Insert(Extent extent) {
    by_address.emplace(extent.first, extent.count);
    by_size.insert(SizeKey(extent));
  }
  void Erase(absl::btree_map<uint32_t, uint32_t>::iterator at) {
    by_size.erase(SizeKey({.first = at->first, .count = at->second}));
    by_address.erase(at);
  }
  // The first `count` blocks of a free extent.
  void TakeFront(Extent whole, uint32_t count, ExtentList* out) {
    Erase(by_address.find(whole.first));
    if (whole.count > count) Insert({.first = whole.first + count, .count = whole.count - count});
    free -= count;
    Append({.first = whole.first, .count = count}, out);
  }
};

ExtentAllocator::ExtentAllocator(uint32_t blocks) : state_(std::make_unique<State>()) {
  state_->total = state_->free = blocks;
  if (blocks > 0) state_->Insert({.first = 0, .count = blocks});
}
ExtentAllocator::~ExtentAllocator() = default;
ExtentAllocator::ExtentAllocator(ExtentAllocator&&) noexcept = default;
ExtentAllocator& ExtentAllocator::operator=(ExtentAllocator&&) noexcept = default;

bool ExtentAllocator::Allocate(uint32_t count, ExtentList* out) {
  State& state = *state_;
  if (count > state.free) return false;
  if (count > 0 && !out->empty()) {
    const auto next = state.by_address.find(out->back().first + out->back().count);
    if (next != state.by_address.end()) {
      const uint32_t taken = std::min(count, next->second);
      state.TakeFront({.first = next->first, .count = next->second}, taken, out);
      count -= taken;
    }
  }
  while (count > 0) {
    auto fit = state.by_size.lower_bound(SizeKey({.first = 0, .count = count}));
    if (fit == state.by_size.end()) fit = std::prev(fit);
    const Extent extent = FromSizeKey(*fit);
    const uint32_t taken = std::min(count, extent.count);
    state.TakeFront(extent, taken, out);
    count -= taken;
  }
  return true;
}

void ExtentAllocator::Free(Extent extent) {
  State& state = *state_;
  assert(extent.count > 0 && extent.first < state.total && extent.count <= state.total - extent.first);
  const uint32_t freed = extent.count;
  const auto next = state.by_address.lower_bound(extent.first);
  const bool has_next = next != state.by_address.end();
  assert(!has_next || next->first - extent.first >= extent.count);  // else part of it is free already
  const bool joins_next = has_next && next->first == extent.first + extent.count;
  if (joins_next) extent.count += next->second;
  const uint32_t next_first = joins_next ? next->first : 0;
  if (next != state.by_address.begin()) {
    const auto before = std::prev(next);
    assert(before->first + before->second <= extent.first);
    if (before->first + before->second == extent.first) {
      extent = {.first = before->first, .count = before->second + extent.count};
      state.Erase(before);
    }
  }
  if (joins_next) state.Erase(state.by_address.find(next_first));
  state.Insert(extent);
  state.free += freed;
}

uint32_t ExtentAllocator::total_blocks() const { return state_->total; }
uint32_t ExtentAllocator::free_blocks() const { return state_->free; }
uint32_t ExtentAllocator::free_extents() const { return static_cast<uint32_t>(state_->by_address.size()); }
uint32_t ExtentAllocator::longest_free_extent() const {
  return state_->by_size.empty() ? 0 : FromSizeKey(*state_->by_size.rbegin()).count;
}

bool ExtentAllocator::ForEachFree(const std::function<void(Extent)>& visit) const {
  uint64_t sum = 0;
  uint64_t end_before = 0;
  bool consistent = state_->by_address.size() == state_->by_size.size();
  for (const auto& [first, count] : state_->by_address) {
    const Extent extent{.first = first, .count = count};
    consistent =
        consistent && count > 0 && (sum == 0 || first > end_before) && state_->by_size.contains(SizeKey(extent));
    sum += count;
    end_before = uint64_t{first} + count;
    visit(extent);
  }
  return consistent && sum == state_->free && end_before <= state_->total;
}

}  // namespace kvpagefs
