// Page bytes that follow from the page's name: whoever knows the name can check every byte, and bytes of another page
// are never taken for right.
//
// The 64-bit little-endian word at index i is SplitMix64(seed + i); the last word may be cut.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace kvpagefs {

uint64_t ContentSeed(std::string_view file_name);

void FillContent(uint64_t seed, std::span<std::byte> bytes);

// Offset of the first byte that differs from what FillContent writes.
std::optional<size_t> FindWrongByte(uint64_t seed, std::span<const std::byte> bytes);

}  // namespace kvpagefs
