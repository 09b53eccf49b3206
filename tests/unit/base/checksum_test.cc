#include "base/checksum.h"

#include <vector>

#include <gtest/gtest.h>

namespace kvpagefs {
namespace {

// The published value of XXH3_64bits of nothing with seed 0.
TEST(Checksum, KnownValue) { EXPECT_EQ(Checksum({}), 0x2D06800538D394C2u); }

TEST(Checksum, PiecesGiveTheSameValue) {
  std::vector<std::byte> bytes(1'000'003);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 31 >> 3);
  const std::span<const std::byte> all(bytes);
  StreamingChecksum streaming;
  for (size_t at = 0, step = 1; at < all.size(); at += step, step = step * 3 % 65'537 + 1) {
    streaming.Update(all.subspan(at, std::min(step, all.size() - at)));
  }
  EXPECT_EQ(streaming.Digest(), Checksum(all));
  streaming.Reset();
  EXPECT_EQ(streaming.Digest(), Checksum({}));
}

}  // namespace
}  // namespace kvpagefs
