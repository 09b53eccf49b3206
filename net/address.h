// host:port, as options and messages spell it: "10.0.0.1:7700", "[::1]:7700", "kv1.example:7700".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace kvpagefs {

inline constexpr uint16_t kDefaultMetaPort = 7700;  // of kvpagemetad

struct Address {
  std::string host;
  uint16_t port = 0;
  std::string ToString() const;  // IPv6 literals in brackets
  bool operator==(const Address&) const = default;
};

// kInvalid names the input and what is expected. Without a port: `default_port`; that being 0, a port is needed.
Result<Address> ParseAddress(std::string_view text, uint16_t default_port);
// Comma-separated, at least one.
Result<std::vector<Address>> ParseAddresses(std::string_view text, uint16_t default_port);
// True for 127.0.0.0/8, ::1 and "localhost".
bool IsLoopback(const Address& address);

}  // namespace kvpagefs
