// Identities. All are 64-bit and never used twice, so a number also tells which object was meant after it is gone.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace kvpagefs {

// High 16 bits of an id: who gave it out. 0 is the metadata service (directories), nodes count from 1 (pages).
inline constexpr int kIdCounterBits = 48;
inline constexpr uint64_t kIdCounterMask = (uint64_t{1} << kIdCounterBits) - 1;

// One sealed content: node number and counter.
struct PageId {
  uint64_t value = 0;
  static constexpr PageId Make(uint16_t node, uint64_t counter) {
    return PageId{(uint64_t{node} << kIdCounterBits) | (counter & kIdCounterMask)};
  }
  constexpr uint16_t node() const { return static_cast<uint16_t>(value >> kIdCounterBits); }
  constexpr bool valid() const { return node() != 0; }
  auto operator<=>(const PageId&) const = default;
};

// One directory. Node number 0. The root is 1, as it is for FUSE.
struct DirId {
  uint64_t value = 0;
  constexpr bool valid() const { return value != 0 && (value >> kIdCounterBits) == 0; }
  auto operator<=>(const DirId&) const = default;
};
inline constexpr DirId kRootDir{1};
// Ids below this one are for virtual directories and files of the node daemon.
inline constexpr uint64_t kFirstFreeDirId = 64;

inline constexpr bool IsDirectoryId(uint64_t value) { return (value >> kIdCounterBits) == 0; }

}  // namespace kvpagefs

template <>
struct std::hash<kvpagefs::PageId> {
  size_t operator()(kvpagefs::PageId id) const noexcept {
    return std::hash<uint64_t>{}(id.value * 0x9E3779B97F4A7C15u);
  }
};
template <>
struct std::hash<kvpagefs::DirId> {
  size_t operator()(kvpagefs::DirId id) const noexcept { return std::hash<uint64_t>{}(id.value * 0x9E3779B97F4A7C15u); }
};
