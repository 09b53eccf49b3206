// send_queue.cc
#include "net/send_queue.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "unit/net/raw_peer.h"

namespace kvpagefs {
namespace {

using net_test::MakeFrame;
using net_test::MakeHeader;

std::string Text(std::mt19937& random, size_t bytes) {
  std::string text(bytes, '\0');
  for (char& byte : text) byte = static_cast<char>(random());
  return text;
}

// Sends at most `step` bytes a turn.
std::string SendAll(SendCursor& cursor, std::mt19937& random, size_t step) {
  std::string sent;
  while (!cursor.done()) {
    iovec room[4];
    const size_t count = cursor.Fill(room);
    size_t left = 1 + random() % step;
    size_t took = 0;
    for (size_t i = 0; i < count && left > 0; ++i) {
      const size_t bytes = std::min(left, room[i].iov_len);
      EXPECT_GT(bytes, 0U);
      sent.append(static_cast<const char*>(room[i].iov_base), bytes);
      took += bytes;
      left -= bytes;
    }
    EXPECT_GT(took, 0U);
    cursor.Advance(took);
  }
  return sent;
}

TEST(SendQueue, BytesInOrder) {
  for (const size_t step : {1, 100, 10'000, 1'000'000}) {
    std::mt19937 random(static_cast<uint32_t>(step));
    SendQueue queue;
    SendCursor cursor;
    for (int round = 0; round < 5; ++round) {
      std::string wanted;
      size_t body_bytes = 0;
      for (uint64_t call = 1; call < (step == 1 ? 10 : 60); ++call) {
        const std::string body = Text(random, random() % 4 == 0 ? random() % 9000 : random() % 50);
        auto memory = std::make_shared<std::string>(Text(random, random() % 3 == 0 ? random() % 5000 : 0));
        const size_t half = memory->size() / 2;
        FrameHeader header = MakeHeader(FrameType::kAnswer, 0, call);
        Payload payload;
        if (!memory->empty()) {
          payload = {{{memory->data(), half}, {nullptr, 0}, {memory->data() + half, memory->size() - half}}, memory};
        }
        queue.Push(header, body, std::move(payload));
        header.payload_bytes = memory->size();
        wanted += MakeFrame(header, body) + *memory;
        body_bytes += kFrameHeaderBytes + body.size();
      }
      EXPECT_EQ(queue.bytes(), body_bytes);
      cursor.Start(queue.Take(cursor.TakeSpare()));
      EXPECT_TRUE(queue.empty());
      EXPECT_EQ(queue.bytes(), body_bytes);
      EXPECT_TRUE(SendAll(cursor, random, step) == wanted) << step;
      queue.Sent(cursor.TakeSpare());
      EXPECT_EQ(queue.bytes(), 0U);
    }
  }
}

TEST(SendQueue, SmallFramesShare) {
  SendQueue queue;
  for (uint64_t call = 1; call <= 1000; ++call) queue.Push(MakeHeader(FrameType::kRequest, 1, call), "small", {});
  EXPECT_EQ(queue.Take({}).size(), 1U);
}

TEST(SendQueue, LargeBodiesAreNotCopied) {
  SendQueue queue;
  std::string body(10'000, 'x');
  const char* const where = body.data();
  queue.Push(MakeHeader(FrameType::kRequest, 1, 1), std::move(body), {});
  const std::vector<SendSegment> segments = queue.Take({});
  ASSERT_EQ(segments.size(), 2U);
  EXPECT_EQ(segments[1].bytes.data(), where);
}

TEST(SendQueue, MemoryIsLetGoWhenSent) {
  auto memory = std::make_shared<std::string>(100, 'x');
  SendQueue queue;
  queue.Push(MakeHeader(FrameType::kAnswer, 0, 1), "", {{{memory->data(), memory->size()}}, memory});
  queue.Push(MakeHeader(FrameType::kAnswer, 0, 2), "", {});
  SendCursor cursor;
  cursor.Start(queue.Take({}));
  cursor.Advance(kFrameHeaderBytes + 99);
  EXPECT_EQ(memory.use_count(), 2);
  cursor.Advance(1);
  EXPECT_EQ(memory.use_count(), 1);
  EXPECT_FALSE(cursor.done());
}

}  // namespace
}  // namespace kvpagefs
