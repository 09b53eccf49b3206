// frame_reader.cc
#include "net/frame_reader.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <random>

#include "net/rpc.h"
#include "unit/net/raw_peer.h"

namespace kvpagefs {
namespace {

using net_test::MakeFrame;
using net_test::MakeHeader;

// Takes payloads of calls with an odd id in pieces, and throws the others away.
struct Collector : FrameReader::Events {
  Result<FrameReader::Place> OnPayload(const FrameHeader& header) override {
    if (header.payload_bytes > max_payload) return Error(ErrorCode::kInvalid);
    FrameReader::Place place;
    place.discard = header.call % 2 == 0;
    if (place.discard) return place;
    payload.assign(header.payload_bytes, '#');
    for (size_t at = 0; at < payload.size(); at += 777) {
      place.into.push_back({payload.data() + at, std::min<size_t>(777, payload.size() - at)});
      place.into.push_back({nullptr, 0});
    }
    return place;
  }
  Status OnFrame(const FrameHeader& header, std::string body) override {
    headers.push_back(header);
    bodies.push_back(std::move(body));
    payloads.push_back(std::exchange(payload, {}));
    return {};
  }
  uint64_t max_payload = kMaxPayloadBytes;
  std::string payload;
  std::vector<FrameHeader> headers;
  std::vector<std::string> bodies;
  std::vector<std::string> payloads;
};

// Hands the stream over in steps, into the room that is offered.
Status Feed(FrameReader& reader, std::string_view stream, std::mt19937& random, size_t max_step) {
  while (!stream.empty()) {
    iovec room[5];
    const size_t pieces = reader.Room(room, random() % 2 == 0 ? 4096 : FrameReader::kBufferBytes);
    size_t step = std::min(stream.size(), 1 + random() % max_step);
    size_t filled = 0;
    for (size_t i = 0; i < pieces && step > 0; ++i) {
      const size_t bytes = std::min(step, room[i].iov_len);
      if (bytes > 0) std::memcpy(room[i].iov_base, stream.data() + filled, bytes);
      filled += bytes;
      step -= bytes;
    }
    EXPECT_GT(filled, 0U);
    if (Status status = reader.Received(filled); !status.ok()) return status;
    stream.remove_prefix(filled);
  }
  return {};
}

std::string RandomText(std::mt19937& random, size_t bytes) {
  std::string text(bytes, '\0');
  for (char& byte : text) byte = static_cast<char>(random());
  return text;
}

TEST(FrameReader, AnySteps) {
  for (const size_t max_step : {1, 40, 3000, 200'000}) {
    std::mt19937 random(static_cast<uint32_t>(max_step));
    std::string stream;
    std::vector<std::string> bodies;
    std::vector<std::string> payloads;
    for (uint64_t call = 1; call <= (max_step == 1 ? 20 : 100); ++call) {
      bodies.push_back(RandomText(random, random() % 3 == 0 ? random() % 20'000 : random() % 30));
      const std::string payload = random() % 2 == 0 ? RandomText(random, random() % 100'000) : "";
      payloads.push_back(call % 2 == 0 ? "" : payload);
      stream += MakeFrame(MakeHeader(FrameType::kAnswer, 0, call, payload.size()), bodies.back()) + payload;
    }
    Collector collector;
    FrameReader reader(&collector);
    ASSERT_TRUE(Feed(reader, stream, random, max_step).ok());
    EXPECT_FALSE(reader.InFrame());
    EXPECT_TRUE(collector.bodies == bodies) << max_step;
    EXPECT_TRUE(collector.payloads == payloads) << max_step;
  }
}

TEST(FrameReader, KnowsTheMiddleOfAFrame) {
  const std::string frame = MakeFrame(MakeHeader(FrameType::kAnswer, 0, 1, 3), "ab") + "xyz";
  std::mt19937 random(1);
  for (size_t cut = 0; cut <= frame.size(); ++cut) {
    Collector collector;
    FrameReader reader(&collector);
    ASSERT_TRUE(Feed(reader, frame.substr(0, cut), random, 100).ok());
    EXPECT_EQ(reader.InFrame(), cut != 0 && cut != frame.size()) << cut;
  }
}

// L3: the length is refused before memory is taken for it.
TEST(FrameReader, MutatedStreams) {
  for (uint32_t seed = 0; seed < 3000; ++seed) {
    std::mt19937 random(seed);
    std::string stream;
    for (int i = 0; i < 5; ++i) {
      const std::string payload = i % 2 == 0 ? RandomText(random, random() % 2000) : "";
      stream +=
          MakeFrame(MakeHeader(payload.empty() ? FrameType::kRequest : FrameType::kAnswer, 1, random(), payload.size()),
                    RandomText(random, random() % 100)) +
          payload;
    }
    for (int i = 0; i < 3; ++i) stream[random() % stream.size()] ^= static_cast<char>(1 << random() % 8);
    Collector collector;
    collector.max_payload = 10'000;
    FrameReader reader(&collector);
    static_cast<void>(Feed(reader, stream, random, 500));
    for (const std::string& body : collector.bodies) ASSERT_LE(body.size(), kMaxBodyBytes);
  }
}

TEST(FrameReader, RandomBytes) {
  std::mt19937 random(1);
  for (int round = 0; round < 1000; ++round) {
    Collector collector;
    FrameReader reader(&collector);
    EXPECT_FALSE(Feed(reader, RandomText(random, 200), random, 50).ok());
    EXPECT_TRUE(collector.headers.empty());
  }
}

}  // namespace
}  // namespace kvpagefs
