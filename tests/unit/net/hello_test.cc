// hello.cc; the example of PROTOCOL.md
#include "net/hello.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "unit/net/raw_peer.h"

namespace kvpagefs {
namespace {

using net_test::MakeHello;

std::string Hex(const std::string& bytes) {
  std::string text;
  for (const char byte : bytes) {
    char digits[4];
    snprintf(digits, sizeof(digits), "%02x", static_cast<unsigned char>(byte));
    text += digits;
  }
  return text;
}

TEST(Hello, GoldenBytes) {
  EXPECT_EQ(Hex(EncodeHello(MakeHello("meta", true))),
            "4b565048"
            "0100"
            "0100"
            "01"
            "04"
            "0000"
            "0707070707070707070707070707070707070707070707070707070707070707"
            "6d657461");
}

TEST(Hello, GoldenProof) {
  const std::string client = EncodeHello(MakeHello("meta", true));
  Hello other = MakeHello("meta", true);
  other.nonce.fill(9);
  const std::string server = EncodeHello(other);
  const std::string proof = MakeProof("s3cret", Role::kClient, client, server);
  EXPECT_EQ(Hex(proof), "7f43fae3c2588e2dd52a479ebf871f4ad9da8b4c3583b20ebc2246b633927685");
  EXPECT_TRUE(SameProof(proof, MakeProof("s3cret", Role::kClient, client, server)));
  EXPECT_FALSE(SameProof(proof, MakeProof("s3cret", Role::kServer, client, server)));
  EXPECT_FALSE(SameProof(proof, MakeProof("s3creT", Role::kClient, client, server)));
  EXPECT_FALSE(SameProof(proof, MakeProof("s3cret", Role::kClient, server, client)));
  EXPECT_FALSE(SameProof(proof, proof.substr(1)));
  EXPECT_FALSE(SameProof("", ""));
}

TEST(Hello, ComesBack) {
  for (const std::string& service : {std::string(), std::string("peer"), std::string(kMaxServiceBytes, 's')}) {
    const Hello hello = MakeHello(service, service.empty());
    const std::string bytes = EncodeHello(hello);
    EXPECT_EQ(*HelloServiceBytes(bytes), service.size());
    EXPECT_EQ(*DecodeHello(bytes), hello);
    EXPECT_FALSE(DecodeHello(bytes + "x").ok());
    EXPECT_FALSE(DecodeHello(bytes.substr(0, bytes.size() - 1)).ok());
  }
}

TEST(Hello, Checks) {
  const Hello ours = MakeHello("meta", true);
  EXPECT_TRUE(CheckHello(ours, MakeHello("meta", true)).ok());
  const Status service = CheckHello(ours, MakeHello("pe\ner", true));
  ASSERT_FALSE(service.ok());
  EXPECT_EQ(service.error().text(), "wrong service 'pe?er', 'meta' is needed");
  const Status secret = CheckHello(ours, MakeHello("meta", false));
  ASSERT_FALSE(secret.ok());
  EXPECT_EQ(secret.error().code(), ErrorCode::kNotPermitted);
  EXPECT_EQ(secret.error().text(), "the other end has no secret, this one has");
  Hello later = MakeHello("meta", true);
  later.max_version = 9;
  EXPECT_TRUE(CheckHello(ours, later).ok());
  later.min_version = 2;
  const Status version = CheckHello(ours, later);
  ASSERT_FALSE(version.ok());
  EXPECT_EQ(version.error().code(), ErrorCode::kNotSupported);
  EXPECT_EQ(version.error().text(), "the other end speaks version 2 to 9 of the protocol, this one version 1");
}

TEST(Hello, MutatedAndRandomBytes) {
  std::mt19937 random(1);
  size_t taken = 0;
  for (int round = 0; round < 100'000; ++round) {
    std::string bytes = EncodeHello(MakeHello("service", true));
    for (uint32_t i = 0; i < random() % 4; ++i) bytes[random() % bytes.size()] = static_cast<char>(random());
    bytes.resize(random() % 4 == 0 ? random() % 150 : bytes.size(), 'x');
    if (round % 10 == 0) {
      for (char& byte : bytes) byte = static_cast<char>(random());
    }
    const Result<Hello> hello = DecodeHello(bytes);
    if (!hello.ok()) continue;
    ++taken;
    ASSERT_LE(hello->service.size(), kMaxServiceBytes);
    ASSERT_LE(hello->min_version, hello->max_version);
  }
  EXPECT_GT(taken, 0U);
}

}  // namespace
}  // namespace kvpagefs
