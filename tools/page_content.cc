#include "tools/page_content.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/checksum.h"

namespace kvpagefs {
namespace {

static_assert(std::endian::native == std::endian::little);

// Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators (2014); any index without the ones before it.
uint64_t Word(uint64_t seed, uint64_t index) {
  uint64_t z = seed + (index + 1) * 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

}  // namespace

uint64_t ContentSeed(std::string_view file_name) { return Checksum(std::as_bytes(std::span(file_name))); }

void FillContent(uint64_t seed, std::span<std::byte> bytes) {
  uint64_t index = 0;
  for (; bytes.size() >= sizeof(uint64_t); ++index) {
    const uint64_t word = Word(seed, index);
    std::memcpy(bytes.data(), &word, sizeof word);
    bytes = bytes.subspan(sizeof word);
  }
  if (bytes.empty()) return;
  const uint64_t word = Word(seed, index);
  std::memcpy(bytes.data(), &word, bytes.size());
}

std::optional<size_t> FindWrongByte(uint64_t seed, std::span<const std::byte> bytes) {
  for (size_t offset = 0; offset < bytes.size(); offset += sizeof(uint64_t)) {
    const uint64_t want = Word(seed, offset / sizeof(uint64_t));
    const size_t length = std::min(sizeof want, bytes.size() - offset);
    if (std::memcmp(bytes.data() + offset, &want, length) == 0) continue;
    const auto want_bytes = std::as_bytes(std::span(&want, 1));
    size_t wrong = 0;
    while (bytes[offset + wrong] == want_bytes[wrong]) ++wrong;
    return offset + wrong;
  }
  return std::nullopt;
}

}  // namespace kvpagefs
