// The messages with which a connection starts: net/PROTOCOL.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace kvpagefs {

inline constexpr size_t kNonceBytes = 32;
inline constexpr size_t kProofBytes = 32;
inline constexpr size_t kHelloFixedBytes = 44;  // then the service's name
inline constexpr size_t kMaxServiceBytes = 64;

struct Hello {
  uint16_t min_version = 0;
  uint16_t max_version = 0;
  bool has_secret = false;
  std::array<uint8_t, kNonceBytes> nonce{};
  std::string service;
  bool operator==(const Hello&) const = default;
};

std::string EncodeHello(const Hello& hello);
// Of the fixed part: how many bytes of the service's name follow. kInvalid: the other end speaks something else.
Result<size_t> HelloServiceBytes(std::string_view fixed);
// Of all of it. kInvalid as above.
Result<Hello> DecodeHello(std::string_view bytes);
// Whether a link may be made of the two; the error tells the side of `ours` why not.
Status CheckHello(const Hello& ours, const Hello& theirs);

enum class Role : char { kClient = 'C', kServer = 'S' };

// What `role` sends to prove that it knows the secret.
std::string MakeProof(std::string_view secret, Role role, std::string_view client_hello, std::string_view server_hello);
// In the same time whatever differs.
bool SameProof(std::string_view a, std::string_view b);

}  // namespace kvpagefs
