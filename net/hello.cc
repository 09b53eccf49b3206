#include "net/hello.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <cassert>
#include <climits>
#include <cstring>

#include "net/wire_bytes.h"

namespace kvpagefs {
namespace {

constexpr uint32_t kHelloMagic = 0x4850564B;  // "KVPH"
constexpr uint8_t kHasSecret = 1;

// A peer's text in a message of ours.
std::string Printable(std::string_view text) {
  std::string shown(text);
  std::replace_if(shown.begin(), shown.end(), [](unsigned char c) { return c < ' ' || c > '~'; }, '?');
  return shown;
}

std::string Versions(const Hello& hello) {
  const std::string low = std::to_string(hello.min_version);
  return hello.min_version == hello.max_version ? low : low + " to " + std::to_string(hello.max_version);
}

}  // namespace

std::string EncodeHello(const Hello& hello) {
  assert(hello.service.size() <= kMaxServiceBytes);
  std::string bytes(kHelloFixedBytes, '\0');
  PutNumber<uint32_t>(bytes.data(), kHelloMagic);
  PutNumber<uint16_t>(bytes.data() + 4, hello.min_version);
  PutNumber<uint16_t>(bytes.data() + 6, hello.max_version);
  PutNumber<uint8_t>(bytes.data() + 8, hello.has_secret ? kHasSecret : 0);
  PutNumber<uint8_t>(bytes.data() + 9, static_cast<uint8_t>(hello.service.size()));
  std::memcpy(bytes.data() + 12, hello.nonce.data(), kNonceBytes);
  return bytes + hello.service;
}

Result<size_t> HelloServiceBytes(std::string_view fixed) {
  const char* const at = fixed.data();
  if (fixed.size() < kHelloFixedBytes || GetNumber<uint32_t>(at) != kHelloMagic) {
    return Error(ErrorCode::kInvalid, "the other end does not speak the protocol of kvpagefs");
  }
  const size_t bytes = GetNumber<uint8_t>(at + 9);
  if (bytes > kMaxServiceBytes) return Error(ErrorCode::kInvalid, "malformed hello: the service's name is too long");
  return bytes;
}

Result<Hello> DecodeHello(std::string_view bytes) {
  const Result<size_t> service = HelloServiceBytes(bytes);
  if (!service.ok()) return service.error();
  if (bytes.size() != kHelloFixedBytes + *service) return Error(ErrorCode::kInvalid, "malformed hello: wrong length");
  Hello hello;
  hello.min_version = GetNumber<uint16_t>(bytes.data() + 4);
  hello.max_version = GetNumber<uint16_t>(bytes.data() + 6);
  if (hello.min_version > hello.max_version) return Error(ErrorCode::kInvalid, "malformed hello: versions");
  // Other flags are of later versions, and of no meaning to this one.
  hello.has_secret = (GetNumber<uint8_t>(bytes.data() + 8) & kHasSecret) != 0;
  std::memcpy(hello.nonce.data(), bytes.data() + 12, kNonceBytes);
  hello.service = bytes.substr(kHelloFixedBytes);
  return hello;
}

Status CheckHello(const Hello& ours, const Hello& theirs) {
  if (ours.service != theirs.service) {
    return Error(ErrorCode::kInvalid,
                 "wrong service '" + Printable(theirs.service) + "', '" + ours.service + "' is needed");
  }
  if (theirs.max_version < ours.min_version || theirs.min_version > ours.max_version) {
    return Error(ErrorCode::kNotSupported, "the other end speaks version " + Versions(theirs) +
                                               " of the protocol, this one version " + Versions(ours));
  }
  if (ours.has_secret != theirs.has_secret) {
    return Error(ErrorCode::kNotPermitted, ours.has_secret ? "the other end has no secret, this one has"
                                                           : "the other end has a secret, this one has none");
  }
  return {};
}

std::string MakeProof(std::string_view secret, Role role, std::string_view client_hello,
                      std::string_view server_hello) {
  assert(secret.size() <= INT_MAX);
  std::string text(1, static_cast<char>(role));
  text.append(client_hello).append(server_hello);
  std::string proof(kProofBytes, '\0');
  unsigned bytes = 0;
  const unsigned char* done = HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
                                   reinterpret_cast<const unsigned char*>(text.data()), text.size(),
                                   reinterpret_cast<unsigned char*>(proof.data()), &bytes);
  assert(done != nullptr && bytes == kProofBytes);
  static_cast<void>(done);
  return proof;
}

bool SameProof(std::string_view a, std::string_view b) {
  return a.size() == kProofBytes && b.size() == kProofBytes && CRYPTO_memcmp(a.data(), b.data(), kProofBytes) == 0;
}

}  // namespace kvpagefs
