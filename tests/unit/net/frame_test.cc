// frame.cc; the example of PROTOCOL.md
#include "net/frame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "net/rpc.h"
#include "unit/net/raw_peer.h"

namespace kvpagefs {
namespace {

using net_test::MakeFrame;
using net_test::MakeHeader;

std::string Hex(const std::string& bytes) {
  std::string text;
  for (const char byte : bytes) {
    char digits[4];
    snprintf(digits, sizeof(digits), "%02x", static_cast<unsigned char>(byte));
    text += digits;
  }
  return text;
}

TEST(Frame, GoldenBytes) {
  EXPECT_EQ(Hex(MakeFrame(MakeHeader(FrameType::kRequest, 10, 65'536), "hi")),
            "4b565052"
            "01"
            "01"
            "0a00"
            "0000010000000000"
            "02000000"
            "00000000"
            "0000000000000000"
            "6869");
  EXPECT_EQ(Hex(MakeFrame(MakeHeader(FrameType::kAnswer, 0, 65'536, 4096), "ok")),
            "4b565052"
            "01"
            "02"
            "0000"
            "0000010000000000"
            "02000000"
            "00000000"
            "0010000000000000"
            "6f6b");
  EXPECT_EQ(Hex(MakeFrame(MakeHeader(FrameType::kError, ToWireNumber(ErrorCode::kStale), 65'537))),
            "4b565052"
            "01"
            "03"
            "0e00"
            "0100010000000000"
            "00000000"
            "00000000"
            "0000000000000000");
}

TEST(Frame, ComesBack) {
  FrameHeader header = MakeHeader(FrameType::kAnswer, 7, UINT64_MAX, kMaxPayloadBytes);
  header.body_bytes = kMaxBodyBytes;
  char bytes[kFrameHeaderBytes];
  EncodeFrame(header, bytes);
  const Result<FrameHeader> decoded = DecodeFrame(bytes);
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(*decoded, header);
}

TEST(Frame, Refuses) {
  struct Case {
    size_t at;
    std::string bytes;
    const char* why;
  };
  const Case cases[] = {
      {0, "X", "wrong magic"},
      {4, "\x02", "version 2"},
      {5, std::string(1, '\0'), "type 0"},
      {5, "\x04", "type 4"},
      {20, "\x01", "reserved"},
      {16, std::string("\x01\x00\x40\x00", 4), "body of 4194305 bytes"},
      {24, std::string("\x01\x00\x00\x40", 4), "payload of 1073741825 bytes"},
      {31, "\x80", "payload of 9223372036854775808 bytes"},
      {24, "\x01", "payload outside an answer"},
  };
  for (const Case& bad : cases) {
    std::string frame = MakeFrame(MakeHeader(FrameType::kRequest, 1, 1));
    frame.replace(bad.at, bad.bytes.size(), bad.bytes);
    const Result<FrameHeader> decoded = DecodeFrame(frame.data());
    ASSERT_FALSE(decoded.ok()) << bad.why;
    EXPECT_EQ(decoded.code(), ErrorCode::kInvalid);
    EXPECT_THAT(decoded.error().text(), ::testing::HasSubstr(bad.why));
  }
}

// What is taken is within the limits, and says what its bytes say.
TEST(Frame, MutatedHeaders) {
  std::mt19937_64 random(1);
  size_t taken = 0;
  for (int round = 0; round < 200'000; ++round) {
    std::string frame = MakeFrame(MakeHeader(static_cast<FrameType>(1 + round % 3), 1, random()));
    for (uint64_t i = 0; i < random() % 4; ++i) frame[random() % frame.size()] = static_cast<char>(random());
    const Result<FrameHeader> decoded = DecodeFrame(frame.data());
    if (!decoded.ok()) continue;
    ++taken;
    ASSERT_LE(decoded->body_bytes, kMaxBodyBytes);
    ASSERT_LE(decoded->payload_bytes, kMaxPayloadBytes);
    char again[kFrameHeaderBytes];
    EncodeFrame(*decoded, again);
    ASSERT_EQ(std::string(again, sizeof(again)), frame);
  }
  EXPECT_GT(taken, 0U);
}

TEST(Frame, ErrorNumbers) {
  std::set<uint16_t> numbers;
  for (int code = 0; code <= static_cast<int>(ErrorCode::kDeadlock); ++code) {
    const uint16_t number = ToWireNumber(static_cast<ErrorCode>(code));
    EXPECT_EQ(FromWireNumber(number), static_cast<ErrorCode>(code));
    numbers.insert(number);
  }
  EXPECT_EQ(numbers.size(), static_cast<size_t>(ErrorCode::kDeadlock) + 1);
  EXPECT_EQ(FromWireNumber(0), ErrorCode::kUnavailable);
  EXPECT_EQ(FromWireNumber(65'535), ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace kvpagefs
