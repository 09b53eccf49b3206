// Page names of SGLang: a chain of SHA-256 over token ids, so that equal prefixes have equal names.
//
// key[0] = sha256(tokens of page 0), key[i] = sha256(key[i-1] as 32 bytes || tokens of page i); token ids are 4 bytes,
// little-endian. Only full pages have a key.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace kvpagefs {

using PageKey = std::array<std::byte, 32>;

PageKey Sha256(std::span<const std::byte> bytes);

// 64 lower-case hexadecimal digits.
std::string ToHex(const PageKey& key);

// Keys of all full pages of `tokens`, in order. page_tokens > 0.
std::vector<PageKey> ChainKeys(std::span<const uint32_t> tokens, size_t page_tokens);

}  // namespace kvpagefs
