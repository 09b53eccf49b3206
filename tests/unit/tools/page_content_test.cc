#include "tools/page_content.h"

#include <cstring>
#include <vector>

#include <gtest/gtest.h>

namespace kvpagefs {
namespace {

std::vector<std::byte> Content(uint64_t seed, size_t bytes) {
  std::vector<std::byte> content(bytes);
  FillContent(seed, content);
  return content;
}

// The published SplitMix64 sequence for seed 1234567.
TEST(PageContent, IsSplitMix64) {
  const std::vector<std::byte> content = Content(1234567, 16);
  uint64_t words[2];
  std::memcpy(words, content.data(), sizeof words);
  EXPECT_EQ(words[0], 6457827717110365317u);
  EXPECT_EQ(words[1], 3203168211198807973u);
}

TEST(PageContent, OddTailIsPrefixOfLonger) {
  const std::vector<std::byte> longer = Content(7, 64);
  for (size_t bytes = 0; bytes <= 33; ++bytes) {
    const std::vector<std::byte> content = Content(7, bytes);
    EXPECT_TRUE(std::equal(content.begin(), content.end(), longer.begin())) << bytes;
    EXPECT_EQ(FindWrongByte(7, content), std::nullopt) << bytes;
  }
}

TEST(PageContent, EveryFlippedByteIsFoundAtItsOffset) {
  std::vector<std::byte> content = Content(42, 1029);
  for (size_t offset = 0; offset < content.size(); ++offset) {
    content[offset] ^= std::byte{0x10};
    EXPECT_EQ(FindWrongByte(42, content), offset);
    content[offset] ^= std::byte{0x10};
  }
}

TEST(PageContent, FirstOfSeveralWrongBytes) {
  std::vector<std::byte> content = Content(42, 100);
  content[13] ^= std::byte{1};
  content[90] ^= std::byte{1};
  EXPECT_EQ(FindWrongByte(42, content), 13u);
}

TEST(PageContent, OtherNameOtherContent) {
  EXPECT_NE(ContentSeed("a_0_1.bin"), ContentSeed("a_0_2.bin"));
  EXPECT_EQ(FindWrongByte(ContentSeed("b"), Content(ContentSeed("a"), 4096)).has_value(), true);
}

TEST(PageContent, MovedBytesAreWrong) {
  const std::vector<std::byte> content = Content(5, 4096 + 8);
  EXPECT_TRUE(FindWrongByte(5, std::span(content).subspan(8)).has_value());
}

}  // namespace
}  // namespace kvpagefs
