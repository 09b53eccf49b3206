#include "tools/chain_hash.h"

#include <openssl/evp.h>

#include <cassert>

namespace kvpagefs {

PageKey Sha256(std::span<const std::byte> bytes) {
  PageKey key{};
  unsigned int length = 0;
  const int ok = EVP_Digest(bytes.data(), bytes.size(), reinterpret_cast<unsigned char*>(key.data()), &length,
                            EVP_sha256(), nullptr);
  assert(ok == 1 && length == key.size());
  return key;
}

std::string ToHex(const PageKey& key) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  hex.reserve(key.size() * 2);
  for (const std::byte byte : key) {
    hex += kDigits[std::to_integer<size_t>(byte >> 4)];
    hex += kDigits[std::to_integer<size_t>(byte & std::byte{15})];
  }
  return hex;
}

std::vector<PageKey> ChainKeys(std::span<const uint32_t> tokens, size_t page_tokens) {
  assert(page_tokens > 0);
  std::vector<PageKey> keys;
  std::vector<std::byte> input;
  for (size_t start = 0; start + page_tokens <= tokens.size(); start += page_tokens) {
    input.clear();
    if (!keys.empty()) input.insert(input.end(), keys.back().begin(), keys.back().end());
    for (const uint32_t token : tokens.subspan(start, page_tokens)) {
      for (int shift = 0; shift < 32; shift += 8) input.push_back(static_cast<std::byte>(token >> shift));
    }
    keys.push_back(Sha256(input));
  }
  return keys;
}

}  // namespace kvpagefs
