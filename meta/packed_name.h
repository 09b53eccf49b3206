// A shorter form of a name for keeping in memory: runs of lower-case hex digits, which page names consist of mostly,
// as binary. Pure, reversible for any bytes, and equal names have equal forms, so packed forms can be hashed and
// compared.
//
// A sequence of parts, each a control byte and its bytes:
//   0x00-0x7f  control + 1 bytes as they are (1-128)
//   0x80-0xff  control - 0x7f bytes that stand for two hex digits each (2-256 digits)
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "meta/types.h"

namespace kvpagefs {

inline constexpr size_t kMaxPackedPart = 128;
// A name without long runs grows by one byte per part.
inline constexpr size_t kMaxPackedNameBytes = kMaxNameBytes + (kMaxNameBytes + kMaxPackedPart - 1) / kMaxPackedPart;

// On the stack of one operation.
class PackedName {
 public:
  // `name` is at most kMaxNameBytes long.
  explicit PackedName(std::string_view name);
  std::string_view view() const { return {bytes_.data(), size_}; }

 private:
  void AddPlain(std::string_view part);
  void AddHex(std::string_view digits);

  std::array<char, kMaxPackedNameBytes> bytes_;
  size_t size_ = 0;
};

// `packed` comes from PackedName.
std::string UnpackName(std::string_view packed);
// The length UnpackName would give.
size_t UnpackedBytes(std::string_view packed);

}  // namespace kvpagefs
