#include "meta/packed_name.h"

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <cstring>

namespace kvpagefs {
namespace {

// Shorter runs would not pay for their control bytes.
constexpr size_t kMinDigits = 8;
constexpr size_t kMaxDigits = 2 * kMaxPackedPart;
constexpr uint8_t kHexFlag = 0x80;

constexpr std::array<int8_t, 256> MakeDigitTable() {
  std::array<int8_t, 256> table{};
  for (int8_t& value : table) value = -1;
  for (size_t i = 0; i < 10; ++i) table[size_t{'0'} + i] = static_cast<int8_t>(i);
  for (size_t i = 0; i < 6; ++i) table[size_t{'a'} + i] = static_cast<int8_t>(10 + i);
  return table;
}
constexpr std::array<int8_t, 256> kDigit = MakeDigitTable();

int DigitOf(char c) { return kDigit[static_cast<uint8_t>(c)]; }

size_t RunOfDigits(std::string_view text, size_t start) {
  const size_t limit = std::min(text.size(), start + kMaxDigits);
  size_t end = start;
  while (end < limit && DigitOf(text[end]) >= 0) ++end;
  return end - start;
}

}  // namespace

PackedName::PackedName(std::string_view name) {
  assert(name.size() <= kMaxNameBytes);
  size_t plain_start = 0;
  size_t at = 0;
  while (at < name.size()) {
    const size_t run = RunOfDigits(name, at);
    const size_t even = run & ~size_t{1};
    if (even < kMinDigits) {
      at += run + (run == 0 ? 1 : 0);
      continue;
    }
    AddPlain(name.substr(plain_start, at - plain_start));
    AddHex(name.substr(at, even));
    at += even;
    plain_start = at;
  }
  AddPlain(name.substr(plain_start));
}

void PackedName::AddPlain(std::string_view part) {
  while (!part.empty()) {
    const size_t bytes = std::min(part.size(), kMaxPackedPart);
    assert(size_ + 1 + bytes <= bytes_.size());
    bytes_[size_++] = static_cast<char>(bytes - 1);
    std::memcpy(bytes_.data() + size_, part.data(), bytes);
    size_ += bytes;
    part.remove_prefix(bytes);
  }
}

void PackedName::AddHex(std::string_view digits) {
  const size_t bytes = digits.size() / 2;
  assert(bytes >= 1 && bytes <= kMaxPackedPart && size_ + 1 + bytes <= bytes_.size());
  bytes_[size_++] = static_cast<char>(kHexFlag | (bytes - 1));
  for (size_t i = 0; i < bytes; ++i) {
    bytes_[size_++] = static_cast<char>(DigitOf(digits[2 * i]) << 4 | DigitOf(digits[2 * i + 1]));
  }
}

std::string UnpackName(std::string_view packed) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string name;
  name.reserve(UnpackedBytes(packed));
  while (!packed.empty()) {
    const auto control = static_cast<uint8_t>(packed[0]);
    const size_t bytes = (control & ~kHexFlag) + size_t{1};
    const std::string_view part = packed.substr(1, bytes);
    if ((control & kHexFlag) == 0) {
      name.append(part);
    } else {
      for (const char c : part) {
        name.push_back(kDigits[static_cast<uint8_t>(c) >> 4]);
        name.push_back(kDigits[static_cast<uint8_t>(c) & 15]);
      }
    }
    packed.remove_prefix(1 + bytes);
  }
  return name;
}

size_t UnpackedBytes(std::string_view packed) {
  size_t total = 0;
  while (!packed.empty()) {
    const auto control = static_cast<uint8_t>(packed[0]);
    const size_t bytes = (control & ~kHexFlag) + size_t{1};
    assert(packed.size() >= 1 + bytes);
    total += (control & kHexFlag) != 0 ? 2 * bytes : bytes;
    packed.remove_prefix(1 + bytes);
  }
  return total;
}

}  // namespace kvpagefs
