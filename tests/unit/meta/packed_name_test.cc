#include "meta/packed_name.h"

#include <gtest/gtest.h>

#include <random>

namespace kvpagefs {
namespace {

void ExpectRoundTrip(const std::string& name) {
  const PackedName packed(name);
  ASSERT_LE(packed.view().size(), kMaxPackedNameBytes);
  ASSERT_EQ(UnpackName(packed.view()), name);
  ASSERT_EQ(UnpackedBytes(packed.view()), name.size());
}

TEST(PackedName, HexRunsTakeHalf) {
  const std::string hash(64, 'a');
  EXPECT_EQ(PackedName(hash).view().size(), 1 + 32u);
  EXPECT_EQ(PackedName(hash + "_model.bin").view().size(), 1 + 32 + 1 + 10u);
  EXPECT_EQ(PackedName("name").view(), std::string_view("\x03name"));
  EXPECT_EQ(PackedName("01234567").view(), std::string_view("\x83\x01\x23\x45\x67"));
}

TEST(PackedName, EdgesComeBack) {
  for (const size_t size : {0, 1, 7, 8, 9, 127, 128, 129, 255, 256, 257, 511, 512, 513, 1022, 1023}) {
    ExpectRoundTrip(std::string(size, 'f'));
    ExpectRoundTrip(std::string(size, 'F'));
    ExpectRoundTrip(std::string(size, '\xff'));
    ExpectRoundTrip(std::string(size / 2, '0') + std::string(size - size / 2, 'z'));
  }
}

TEST(PackedName, OnlyEqualNamesHaveEqualForms) {
  // Names that differ in one byte, around every boundary between digits and others.
  const std::string name = "abcdef0123456789xx0123456789abcde_0_8.bin";
  for (size_t i = 0; i < name.size(); ++i) {
    for (const char c : {'0', 'f', 'g', 'F', '\x01', '\xff'}) {
      std::string other = name;
      if (other[i] == c) continue;
      other[i] = c;
      EXPECT_NE(PackedName(other).view(), PackedName(name).view()) << other;
    }
  }
}

TEST(PackedName, RandomBytesComeBack) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (int round = 0; round < 5'000; ++round) {
    std::string name;
    const size_t size = random() % (kMaxNameBytes + 1);
    // Pieces of digits and of any bytes, most of them around the lengths where forms change.
    while (name.size() < size) {
      const bool digits = random() % 2 == 0;
      for (size_t left = random() % (random() % 4 == 0 ? 300 : 12); left > 0 && name.size() < size; --left) {
        name.push_back(digits ? kDigits[random() % 16] : static_cast<char>(random()));
      }
    }
    ExpectRoundTrip(name);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace kvpagefs
