// One name in memory: the facts of a page or directory and the packed name behind them in one allocation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "meta/packed_name.h"

namespace kvpagefs {

inline constexpr int kSplitBits = 48;  // cursors and page sizes
inline constexpr uint64_t kSplitMax = (uint64_t{1} << kSplitBits) - 1;

// Packed, because eight bytes of padding would be eight bytes a page.
struct __attribute__((packed, aligned(4))) Entry {
  uint64_t id;
  uint64_t checksum_or_slot;  // a page's checksum, a directory's place in the table of directories
  int64_t mtime_ns;
  uint32_t parent;  // slot of the directory
  uint32_t cursor_low;
  uint32_t bytes_low;
  uint16_t cursor_high;
  uint16_t bytes_high;
  uint16_t owner;  // number in the OwnerTable
  uint16_t name_bytes : 11;
  uint16_t is_directory : 1;
  uint16_t pin : 2;
  uint16_t has_xattrs : 1;

  uint64_t cursor() const { return uint64_t{cursor_high} << 32 | cursor_low; }
  void set_cursor(uint64_t cursor) {
    cursor_low = static_cast<uint32_t>(cursor);
    cursor_high = static_cast<uint16_t>(cursor >> 32);
  }
  uint64_t bytes() const { return uint64_t{bytes_high} << 32 | bytes_low; }
  void set_bytes(uint64_t bytes) {
    bytes_low = static_cast<uint32_t>(bytes);
    bytes_high = static_cast<uint16_t>(bytes >> 32);
  }
  uint32_t slot() const { return static_cast<uint32_t>(checksum_or_slot); }
  std::string_view packed_name() const { return {reinterpret_cast<const char*>(this + 1), name_bytes}; }
};
static_assert(sizeof(Entry) == 44);
static_assert(kMaxPackedNameBytes < (1 << 11));

// All facts zero. Free with FreeEntry.
Entry* NewEntry(uint32_t parent, std::string_view packed_name, uint64_t id);
void FreeEntry(Entry* entry);

}  // namespace kvpagefs
