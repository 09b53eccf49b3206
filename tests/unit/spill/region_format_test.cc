#include "spill/region_format.h"

#include <cstring>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/checksum.h"
#include "unit/spill/tier_fixture.h"

namespace kvpagefs {
namespace {

constexpr RegionKey kKey{.region_bytes = 16 * uint64_t{kBlockBytes}, .sequence = 42, .salt = 0x0123456789ABCDEF};
constexpr RegionHeader kHeader{.in_use = 1,
                               .region_bytes = 16 * uint64_t{kBlockBytes},
                               .sequence = 42,
                               .node_identity = 0x1122334455667788,
                               .salt = 0x0123456789ABCDEF};

RecordInfo Info(uint32_t description_bytes = 5) {
  return {.id = PageId::Make(1, 0x0203),
          .page_bytes = 5000,
          .page_checksum = 0xAABBCCDDEEFF0011,
          .description_bytes = description_bytes,
          .offset = 2 * uint64_t{kBlockBytes}};
}

Bytes EncodeRecord(const std::string& description = "hello") {
  Bytes out(HeaderBytesFor(description.size()));
  EncodeRecordHeader(kKey, Info(static_cast<uint32_t>(description.size())), description, out);
  return out;
}

std::string Hex(std::span<const std::byte> bytes) {
  std::string out;
  for (const std::byte b : bytes) out += fmt::format("{:02x}", static_cast<int>(b));
  return out;
}

bool DecodesRecord(const RegionKey& key, uint64_t offset, std::span<const std::byte> bytes) {
  std::string_view description;
  return DecodeRecordHeader(key, offset, bytes, &description).has_value();
}

// What other versions read: change them only together with kSsdFormatVersion. FORMAT.md shows them.
TEST(RegionFormat, GoldenRegionHeader) {
  Bytes block(kBlockBytes);
  EncodeRegionHeader(kHeader, block);
  EXPECT_EQ(Hex(std::span(block).first(48)),
            "4b56524701000100"
            "0000010000000000"
            "2a00000000000000"
            "8877665544332211"
            "efcdab8967452301"
            "40ac33d5adad189b");
}

TEST(RegionFormat, GoldenRecordHeader) {
  const Bytes record = EncodeRecord();
  EXPECT_EQ(Hex(std::span<const std::byte>(record).first(80)),
            "4b56524301000000"
            "0030000000000000"
            "0302000000000100"
            "8813000000000000"
            "1100ffeeddccbbaa"
            "0500000000000000"
            "2a00000000000000"
            "0020000000000000"
            "45a08d5764c10188"
            "68656c6c6f000000");
}

TEST(RegionFormat, GoldenIndex) {
  IndexBuilder builder;
  builder.Add(Info(), "hello");
  const AlignedBuffer index = builder.Finish(kKey, uint64_t{5} * kBlockBytes);
  ASSERT_EQ(index.size(), 2 * kBlockBytes);
  EXPECT_EQ(Hex(index.bytes().first(40)),
            "0302000000000100"
            "8813000000000000"
            "1100ffeeddccbbaa"
            "0200000005000000"
            "68656c6c6f000000");
  EXPECT_EQ(Hex(index.bytes().subspan(kBlockBytes, 64)),
            "4b56495801000000"
            "2a00000000000000"
            "00e0000000000000"
            "2800000000000000"
            "0100000000000000"
            "0050000000000000"
            "75dbeefbe2030a08"
            "e1fd7afd78eb4e28");
}

TEST(RegionFormat, WhatIsEncodedIsDecoded) {
  Bytes block(kBlockBytes);
  EncodeRegionHeader(kHeader, block);
  const Result<RegionHeader> header = DecodeRegionHeader(block);
  ASSERT_TRUE(header.ok());
  EXPECT_EQ(header->sequence, 42u);
  EXPECT_EQ(header->salt, kHeader.salt);
  for (const size_t bytes : {size_t{0}, size_t{5}, size_t{4024}, size_t{4025}, size_t{20'000}}) {
    const std::string text(bytes, 't');
    const Bytes record = EncodeRecord(text);
    std::string_view description;
    const auto decoded = DecodeRecordHeader(kKey, Info().offset, record, &description);
    ASSERT_TRUE(decoded.has_value()) << bytes;
    EXPECT_EQ(description, text);
    EXPECT_EQ(decoded->id, Info().id);
    EXPECT_EQ(decoded->page_bytes, 5000u);
  }
}

TEST(RegionFormat, AnotherVersionIsToldApart) {
  RegionHeader newer = kHeader;
  newer.version = 2;
  Bytes block(kBlockBytes);
  EncodeRegionHeader(newer, block);
  EXPECT_EQ(DecodeRegionHeader(block).code(), ErrorCode::kNotSupported);
}

TEST(RegionFormat, EveryFlippedBitOfARegionHeaderIsFound) {
  Bytes block(kBlockBytes);
  EncodeRegionHeader(kHeader, block);
  for (size_t bit = 0; bit < sizeof(RegionHeader) * 8; ++bit) {
    Bytes flipped = block;
    flipped[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
    EXPECT_FALSE(DecodeRegionHeader(flipped).ok()) << bit;
  }
}

TEST(RegionFormat, EveryFlippedBitOfARecordHeaderIsFound) {
  const Bytes record = EncodeRecord();
  for (size_t bit = 0; bit < (sizeof(RecordHeader) + 5) * 8; ++bit) {
    Bytes flipped = record;
    flipped[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
    EXPECT_FALSE(DecodesRecord(kKey, Info().offset, flipped)) << bit;
  }
}

// A page whose bytes are a record, an old life of the same file, a block that was written elsewhere.
TEST(RegionFormat, ARecordIsBelievedOnlyInItsPlace) {
  const Bytes record = EncodeRecord();
  EXPECT_TRUE(DecodesRecord(kKey, Info().offset, record));
  EXPECT_FALSE(DecodesRecord(kKey, Info().offset + kBlockBytes, record));
  EXPECT_FALSE(DecodesRecord({kKey.region_bytes, kKey.sequence + 1, kKey.salt}, Info().offset, record));
  EXPECT_FALSE(DecodesRecord({kKey.region_bytes, kKey.sequence, kKey.salt + 1}, Info().offset, record));
  EXPECT_FALSE(DecodesRecord({5 * uint64_t{kBlockBytes}, kKey.sequence, kKey.salt}, Info().offset, record));
}

TEST(RegionFormat, EveryFlippedBitOfAnIndexIsFound) {
  IndexBuilder builder;
  builder.Add(Info(), "hello");
  builder.Add({.id = PageId::Make(2, 9), .page_bytes = 1, .page_checksum = 3, .description_bytes = 0, .offset = 20480},
              "");
  const AlignedBuffer index = builder.Finish(kKey, uint64_t{7} * kBlockBytes);
  const auto decodes = [&](std::span<const std::byte> bytes) {
    const auto footer = DecodeIndexFooter(kKey, bytes.subspan(kBlockBytes));
    return footer && DecodeIndex(kKey, *footer, bytes.first(footer->index_bytes)).has_value();
  };
  ASSERT_TRUE(decodes(index.bytes()));
  for (size_t bit = 0; bit < index.size() * 8; ++bit) {
    const size_t at = bit / 8;
    const bool meaningful = at < 72 || (at >= kBlockBytes && at < kBlockBytes + sizeof(IndexFooter));
    if (!meaningful) continue;
    Bytes flipped(index.bytes().begin(), index.bytes().end());
    flipped[at] ^= static_cast<std::byte>(1u << bit % 8);
    EXPECT_FALSE(decodes(flipped)) << bit;
  }
}

// Right checksums around lengths that cannot be: nothing is taken for them.
TEST(RegionFormat, LengthsAreCheckedBeforeMemoryIsTaken) {
  const auto accepts = [](RecordInfo record) {
    Bytes block(kBlockBytes);
    RecordHeader header{.record_bytes = RecordBytesFor(record.page_bytes, record.description_bytes),
                        .page_id = record.id.value,
                        .page_bytes = record.page_bytes,
                        .description_bytes = record.description_bytes,
                        .region_sequence = kKey.sequence,
                        .offset = record.offset};
    std::memcpy(block.data(), &header, sizeof(header));
    return PeekRecordHeader(kKey, record.offset, block).has_value();
  };
  RecordInfo record = Info();
  EXPECT_TRUE(accepts(record));
  record.page_bytes = 12 * uint64_t{kBlockBytes};
  EXPECT_TRUE(accepts(record));
  record.page_bytes += 1;
  EXPECT_FALSE(accepts(record));
  record.page_bytes = UINT64_MAX;
  EXPECT_FALSE(accepts(record));
  record.page_bytes = 0;
  record.description_bytes = kMaxRecordDescriptionBytes + 1;
  EXPECT_FALSE(accepts(record));
}

TEST(RegionFormat, RandomBytesAreNothing) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 20'000; ++round) {
    Bytes block = Pattern(256, random());
    // Past the magic, version and place, so that the deeper checks see it.
    if (round % 2 == 0) {
      const RecordHeader header{.region_sequence = kKey.sequence, .offset = kBlockBytes};
      std::memcpy(block.data(), &header, 8);
      std::memcpy(block.data() + 48, &header.region_sequence, 16);
    }
    EXPECT_FALSE(DecodesRecord(kKey, kBlockBytes, block));
    EXPECT_FALSE(DecodeRegionHeader(block).ok());
    EXPECT_FALSE(DecodeIndexFooter(kKey, block).has_value());
    const IndexFooter footer{.index_bytes = block.size(), .entries = random() % 9, .index_checksum = 0};
    EXPECT_FALSE(DecodeIndex(kKey, footer, block).has_value());
  }
}

TEST(RegionFormat, FileNames) {
  EXPECT_EQ(RegionFileName(42), "region-000000000000002a");
  EXPECT_EQ(RegionFileNumber("region-000000000000002a"), 42u);
  for (const char* name : {"", "region-", "region-2a", "region-000000000000002g", "xegion-000000000000002a",
                           "region-000000000000002a0", "region--00000000000002a"}) {
    EXPECT_FALSE(RegionFileNumber(name).has_value()) << name;
  }
}

}  // namespace
}  // namespace kvpagefs
