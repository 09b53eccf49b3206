#include "net/address.h"

#include <arpa/inet.h>

#include <charconv>

namespace kvpagefs {
namespace {

Error Malformed(std::string_view text, std::string_view what) {
  return {ErrorCode::kInvalid, "address '" + std::string(text) + "': " + std::string(what)};
}

Result<uint16_t> ParsePort(std::string_view text, std::string_view digits) {
  unsigned port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (error != std::errc() || end != digits.data() + digits.size() || port > UINT16_MAX) {
    return Malformed(text, "the port is a number from 0 to 65535");
  }
  return static_cast<uint16_t>(port);
}

bool IsIpv6(const std::string& host) {
  in6_addr parsed{};
  return inet_pton(AF_INET6, host.c_str(), &parsed) == 1;
}

}  // namespace

std::string Address::ToString() const {
  const bool brackets = host.find(':') != std::string::npos;
  return (brackets ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

Result<Address> ParseAddress(std::string_view text, uint16_t default_port) {
  std::string_view host = text;
  std::string_view after;  // ":7700" or nothing
  if (text.starts_with('[')) {
    const size_t close = text.find(']');
    if (close == std::string_view::npos) return Malformed(text, "']' is missing");
    host = text.substr(1, close - 1);
    after = text.substr(close + 1);
    if (!IsIpv6(std::string(host))) return Malformed(text, "brackets are for IPv6 addresses");
    if (!after.empty() && after.front() != ':') return Malformed(text, "':' and a port come behind ']'");
  } else if (const size_t colon = text.find(':'); colon != std::string_view::npos) {
    if (text.find(':', colon + 1) != std::string_view::npos) {
      return Malformed(text, "an IPv6 address stands in brackets, as in [::1]:7700");
    }
    host = text.substr(0, colon);
    after = text.substr(colon);
  }
  if (host.empty()) return Malformed(text, "a host is needed, as in 10.0.0.1:7700");
  if (host.find_first_of(" \t\r\n,/") != std::string_view::npos) return Malformed(text, "host:port is expected");
  if (after.empty()) {
    if (default_port == 0) return Malformed(text, "a port is needed, as in 10.0.0.1:7700");
    return Address{std::string(host), default_port};
  }
  const Result<uint16_t> port = ParsePort(text, after.substr(1));
  if (!port.ok()) return port.error();
  return Address{std::string(host), *port};
}

Result<std::vector<Address>> ParseAddresses(std::string_view text, uint16_t default_port) {
  std::vector<Address> addresses;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t comma = std::min(text.find(',', begin), text.size());
    Result<Address> address = ParseAddress(text.substr(begin, comma - begin), default_port);
    if (!address.ok()) return address.error();
    addresses.push_back(std::move(*address));
    begin = comma + 1;
  }
  return addresses;
}

bool IsLoopback(const Address& address) {
  if (address.host == "localhost") return true;
  in_addr v4{};
  if (inet_pton(AF_INET, address.host.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == 127;
  in6_addr v6{};
  return inet_pton(AF_INET6, address.host.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

}  // namespace kvpagefs
