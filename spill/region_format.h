// What stands on the disk in a region of the SSD log (spill/FORMAT.md). Pure: bytes in, structures out.
//
// Nothing that a decoder returns exceeds the limits below, whatever the bytes were. All numbers are little-endian.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "spill/aligned_buffer.h"

namespace kvpagefs {

inline constexpr uint16_t kSsdFormatVersion = 1;
inline constexpr uint32_t kRegionMagic = 0x4752564B;  // "KVRG"
inline constexpr uint32_t kRecordMagic = 0x4352564B;  // "KVRC"
inline constexpr uint32_t kIndexMagic = 0x5849564B;   // "KVIX"

inline constexpr uint64_t kMaxRegionBytes = uint64_t{1} << 40;
inline constexpr uint64_t kMinRegionBytes = 4 * uint64_t{kBlockBytes};
inline constexpr uint64_t kMaxRecordDescriptionBytes = uint64_t{96} * 1024;
// Longer ones are not repeated in the index: it would outgrow what it saves.
inline constexpr uint64_t kMaxIndexedDescriptionBytes = 1024;
inline constexpr uint64_t kFirstRecordOffset = kBlockBytes;

struct RegionHeader {
  uint32_t magic = kRegionMagic;
  uint16_t version = kSsdFormatVersion;
  uint16_t in_use = 0;  // 0: nothing in this file is a page any more
  uint64_t region_bytes = 0;
  uint64_t sequence = 0;  // never used twice
  uint64_t node_identity = 0;
  uint64_t salt = 0;      // random: keys the checksums of records and index
  uint64_t checksum = 0;  // of the 40 bytes before
};
static_assert(sizeof(RegionHeader) == 48);

struct RecordHeader {
  uint32_t magic = kRecordMagic;
  uint16_t version = kSsdFormatVersion;
  uint16_t reserved = 0;
  uint64_t record_bytes = 0;  // header with description, and payload; a multiple of 4 KiB
  uint64_t page_id = 0;
  uint64_t page_bytes = 0;
  uint64_t page_checksum = 0;
  uint32_t description_bytes = 0;
  uint32_t reserved2 = 0;
  uint64_t region_sequence = 0;
  uint64_t offset = 0;           // its own, in the region
  uint64_t header_checksum = 0;  // of header and description, with the salt in this field
};
static_assert(sizeof(RecordHeader) == 72);

// Followed by the description when that is short, padded to 8 bytes.
struct IndexEntry {
  uint64_t page_id = 0;
  uint64_t page_bytes = 0;
  uint64_t page_checksum = 0;
  uint32_t offset_blocks = 0;
  uint32_t description_bytes = 0;
};
static_assert(sizeof(IndexEntry) == 32);

// At the start of the region's last block.
struct IndexFooter {
  uint32_t magic = kIndexMagic;
  uint16_t version = kSsdFormatVersion;
  uint16_t reserved = 0;
  uint64_t region_sequence = 0;
  uint64_t index_offset = 0;
  uint64_t index_bytes = 0;
  uint64_t entries = 0;
  uint64_t data_end = 0;         // where records end
  uint64_t index_checksum = 0;   // of the salt and the index
  uint64_t footer_checksum = 0;  // of the footer, with the salt in this field
};
static_assert(sizeof(IndexFooter) == 64);

// "region-" and 16 hex digits.
std::string RegionFileName(uint64_t number);
// Empty: not the name of a region file.
std::optional<uint64_t> RegionFileNumber(std::string_view name);

// Which region, for everything inside it.
struct RegionKey {
  uint64_t region_bytes = 0;
  uint64_t sequence = 0;
  uint64_t salt = 0;
};
inline RegionKey KeyOf(const RegionHeader& header) { return {header.region_bytes, header.sequence, header.salt}; }

// What is stored of a page, besides its bytes and its description.
struct RecordInfo {
  PageId id;
  uint64_t page_bytes = 0;
  uint64_t page_checksum = 0;
  uint32_t description_bytes = 0;
  uint64_t offset = 0;  // of the record in its region
};

constexpr uint64_t HeaderBytesFor(uint64_t description_bytes) {
  return RoundUpToBlock(sizeof(RecordHeader) + description_bytes);
}
constexpr uint64_t RecordBytesFor(uint64_t page_bytes, uint64_t description_bytes) {
  return HeaderBytesFor(description_bytes) + RoundUpToBlock(page_bytes);
}
constexpr uint64_t IndexEntryBytesFor(uint64_t description_bytes) {
  return sizeof(IndexEntry) + (description_bytes > kMaxIndexedDescriptionBytes ? 0 : (description_bytes + 7) / 8 * 8);
}
// What a region of one such record takes at least.
constexpr uint64_t RegionBytesForOne(uint64_t page_bytes, uint64_t description_bytes) {
  return kFirstRecordOffset + RecordBytesFor(page_bytes, description_bytes) +
         RoundUpToBlock(IndexEntryBytesFor(description_bytes)) + kBlockBytes;
}

// Fills checksum and the block's rest.
void EncodeRegionHeader(const RegionHeader& header, std::span<std::byte> block);
// kInvalid: damaged, or never was one. kNotSupported: another version.
Result<RegionHeader> DecodeRegionHeader(std::span<const std::byte> block);

// `header`: HeaderBytesFor(description.size()).
void EncodeRecordHeader(const RegionKey& region, const RecordInfo& record, std::string_view description,
                        std::span<std::byte> header);
// The first block of a header: what it claims, if that could be true of a record at `offset`; its checksum needs all
// HeaderBytesFor(description_bytes) of it.
std::optional<RecordInfo> PeekRecordHeader(const RegionKey& region, uint64_t offset, std::span<const std::byte> block);
// The whole header; also all that Peek does. The description is a part of `header`.
std::optional<RecordInfo> DecodeRecordHeader(const RegionKey& region, uint64_t offset,
                                             std::span<const std::byte> header, std::string_view* description);

class IndexBuilder {
 public:
  void Add(const RecordInfo& record, std::string_view description);
  uint64_t bytes() const { return bytes_.size(); }
  uint64_t entries() const { return entries_; }
  // Index and footer: to be written so that they end with the region. The builder is empty afterwards.
  AlignedBuffer Finish(const RegionKey& region, uint64_t data_end);

 private:
  std::vector<std::byte> bytes_;
  uint64_t entries_ = 0;
};

// Believable as a whole: the index is inside the region, behind data_end.
std::optional<IndexFooter> DecodeIndexFooter(const RegionKey& region, std::span<const std::byte> block);

struct IndexedRecord {
  RecordInfo record;
  std::string_view description;  // empty when it is long: the record's header has it
};
// All of it, by offset, or nothing. `index`: index_bytes.
std::optional<std::vector<IndexedRecord>> DecodeIndex(const RegionKey& region, const IndexFooter& footer,
                                                      std::span<const std::byte> index);

}  // namespace kvpagefs
