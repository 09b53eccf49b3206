// address.cc
#include "net/address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kvpagefs {
namespace {

TEST(Address, Parses) {
  const std::pair<const char*, Address> good[] = {
      {"10.0.0.1:7700", {"10.0.0.1", 7700}},
      {"[::1]:7700", {"::1", 7700}},
      {"kv1.example:65535", {"kv1.example", 65535}},
      {"kv1", {"kv1", 9}},
      {"[fe80::2]", {"fe80::2", 9}},
      {"0.0.0.0:0", {"0.0.0.0", 0}},
  };
  for (const auto& [text, wanted] : good) {
    const Result<Address> address = ParseAddress(text, 9);
    ASSERT_TRUE(address.ok()) << text << ": " << address.error().text();
    EXPECT_EQ(*address, wanted) << text;
    EXPECT_EQ(*ParseAddress(address->ToString(), 0), wanted);
  }
}

TEST(Address, RefusesWithTheRemedy) {
  const std::pair<const char*, const char*> bad[] = {
      {"", "a host is needed"},
      {":7700", "a host is needed"},
      {"::1", "in brackets"},
      {"[::1", "']' is missing"},
      {"[kv1]:1", "for IPv6"},
      {"[::1]7700", "':' and a port"},
      {"kv1:", "the port is a number"},
      {"kv1:65536", "from 0 to 65535"},
      {"kv1:7a", "the port is a number"},
      {"kv1:-1", "the port is a number"},
      {"a b:1", "host:port is expected"},
      {"tcp//kv1:1", "host:port is expected"},
      {"kv1", "a port is needed"},
      {"[::1]", "a port is needed"},
  };
  for (const auto& [text, remedy] : bad) {
    const Result<Address> address = ParseAddress(text, 0);
    ASSERT_FALSE(address.ok()) << text;
    EXPECT_EQ(address.code(), ErrorCode::kInvalid);
    EXPECT_THAT(address.error().text(), ::testing::HasSubstr("'" + std::string(text) + "'"));
    EXPECT_THAT(address.error().text(), ::testing::HasSubstr(remedy));
  }
}

TEST(Address, Lists) {
  EXPECT_EQ(*ParseAddresses("a:1,[::1],c", 5), (std::vector<Address>{{"a", 1}, {"::1", 5}, {"c", 5}}));
  for (const char* bad : {"", ",", "a:1,", "a:1,,b:2"}) EXPECT_FALSE(ParseAddresses(bad, 5).ok()) << bad;
}

TEST(Address, Loopback) {
  for (const char* host : {"127.0.0.1", "127.9.9.9", "::1", "localhost"}) EXPECT_TRUE(IsLoopback({host, 1})) << host;
  for (const char* host : {"128.0.0.1", "::", "::2", "0.0.0.0", "local", ""})
    EXPECT_FALSE(IsLoopback({host, 1})) << host;
}

}  // namespace
}  // namespace kvpagefs
