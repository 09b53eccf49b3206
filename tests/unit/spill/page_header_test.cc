#include "spill/page_header.h"

#include <cstring>

#include <gtest/gtest.h>

namespace kvpagefs {
namespace {

PageHeader Sample() {
  PageHeader header{.magic = kPageHeaderMagic,
                    .version = kPageHeaderVersion,
                    .page_id = PageId::Make(1, 0x0203).value,
                    .bytes = 3 * kBlockBytes - 5,
                    .checksum = 0x1122334455667788,
                    .extent_count = 2,
                    .extents = {{.first = 7, .count = 1}, {.first = 0x0A0B, .count = 2}}};
  SealHeader(&header);
  return header;
}

// What other programs read: change it only together with kPageHeaderVersion.
TEST(PageHeader, GoldenBytes) {
  const PageHeader header = Sample();
  const unsigned char expected[56] = {
      'K',  'V',  'P',  'G',  1,    0,    0,    0,     // magic, version, flags
      0x03, 0x02, 0,    0,    0,    0,    1,    0,     // page id
      0xFB, 0x2F, 0,    0,    0,    0,    0,    0,     // bytes
      0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11,  // checksum
      2,    0,    0,    0,    0,    0,    0,    0,     // extents, reserved
      7,    0,    0,    0,    1,    0,    0,    0,     // extent 0
      0x0B, 0x0A, 0,    0,    2,    0,    0,    0,     // extent 1
  };
  EXPECT_EQ(std::memcmp(&header, expected, sizeof(expected)), 0);
  EXPECT_EQ(header.header_checksum, 0x1DD4B7DCC3CC52E2u);
  EXPECT_TRUE(ValidateHeader(header));
}

TEST(PageHeader, EveryFlippedBitIsFound) {
  for (size_t bit = 0; bit < sizeof(PageHeader) * 8; ++bit) {
    PageHeader header = Sample();
    reinterpret_cast<unsigned char*>(&header)[bit / 8] ^= static_cast<unsigned char>(1u << bit % 8);
    EXPECT_FALSE(ValidateHeader(header)) << "bit " << bit;
  }
}

bool ValidWith(uint64_t bytes, uint32_t extent_count, Extent first, Extent second) {
  PageHeader header = Sample();
  header.bytes = bytes;
  header.extent_count = extent_count;
  header.extents[0] = first;
  header.extents[1] = second;
  SealHeader(&header);
  return ValidateHeader(header);
}

TEST(PageHeader, ExtentsMustFitTheBytes) {
  EXPECT_TRUE(ValidWith(0, 0, {}, {}));
  EXPECT_TRUE(ValidWith(1, 1, {9, 1}, {}));
  EXPECT_TRUE(ValidWith(5 * kBlockBytes, 3, {9, 1}, {20, 3}));
  EXPECT_FALSE(ValidWith(0, 1, {9, 1}, {}));
  EXPECT_FALSE(ValidWith(1, 0, {}, {}));
  EXPECT_FALSE(ValidWith(2 * kBlockBytes, 1, {9, 1}, {}));
  EXPECT_FALSE(ValidWith(2 * kBlockBytes, 2, {9, 2}, {20, 0}));
  EXPECT_FALSE(ValidWith(4 * kBlockBytes, 3, {9, 1}, {20, 3}));
  EXPECT_FALSE(ValidWith(kBlockBytes, 2, {9, 1}, {20, 1}));
}

TEST(PageHeader, AFreeSlotIsNoPage) { EXPECT_FALSE(ValidateHeader(PageHeader{})); }

}  // namespace
}  // namespace kvpagefs
