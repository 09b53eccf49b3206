#include "spill/region_format.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <charconv>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "base/checksum.h"

namespace kvpagefs {
namespace {

constexpr std::string_view kRegionPrefix = "region-";

static_assert(std::endian::native == std::endian::little, "regions are little-endian");

template <class T>
std::span<const std::byte> BytesOf(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

// The salt stands where the checksum will: one pass over contiguous bytes, and no page can know its value.
uint64_t RecordChecksum(RecordHeader header, uint64_t salt, std::span<const std::byte> description) {
  header.header_checksum = salt;
  StreamingChecksum checksum;
  checksum.Update(BytesOf(header));
  checksum.Update(description);
  return checksum.Digest();
}

uint64_t FooterChecksum(IndexFooter footer, uint64_t salt) {
  footer.footer_checksum = salt;
  return Checksum(BytesOf(footer));
}

uint64_t IndexChecksum(uint64_t salt, std::span<const std::byte> index) {
  StreamingChecksum checksum;
  checksum.Update(BytesOf(salt));
  checksum.Update(index);
  return checksum.Digest();
}

// Lengths that a record at `offset` of the region can have.
bool Fits(const RegionKey& region, const RecordInfo& record) {
  if (record.description_bytes > kMaxRecordDescriptionBytes || record.page_bytes > region.region_bytes) return false;
  if (record.offset % kBlockBytes != 0 || record.offset < kFirstRecordOffset) return false;
  const uint64_t bytes = RecordBytesFor(record.page_bytes, record.description_bytes);
  return record.offset < region.region_bytes && bytes <= region.region_bytes - kBlockBytes - record.offset;
}

}  // namespace

std::string RegionFileName(uint64_t number) { return fmt::format("{}{:016x}", kRegionPrefix, number); }

std::optional<uint64_t> RegionFileNumber(std::string_view name) {
  if (!name.starts_with(kRegionPrefix) || name.size() != kRegionPrefix.size() + 16) return std::nullopt;
  uint64_t number = 0;
  const char* const end = name.data() + name.size();
  const auto [parsed, error] = std::from_chars(name.data() + kRegionPrefix.size(), end, number, 16);
  if (error != std::errc() || parsed != end) return std::nullopt;
  return number;
}

void EncodeRegionHeader(const RegionHeader& header, std::span<std::byte> block) {
  assert(block.size() == kBlockBytes);
  RegionHeader sealed = header;
  sealed.checksum = Checksum(BytesOf(sealed).first(offsetof(RegionHeader, checksum)));
  std::ranges::fill(block, std::byte{0});
  std::memcpy(block.data(), &sealed, sizeof(sealed));
}

Result<RegionHeader> DecodeRegionHeader(std::span<const std::byte> block) {
  RegionHeader header;
  if (block.size() < sizeof(header)) return ErrorCode::kInvalid;
  std::memcpy(&header, block.data(), sizeof(header));
  if (header.magic != kRegionMagic) return ErrorCode::kInvalid;
  if (header.checksum != Checksum(BytesOf(header).first(offsetof(RegionHeader, checksum)))) return ErrorCode::kInvalid;
  if (header.version != kSsdFormatVersion) return ErrorCode::kNotSupported;
  const bool sized = header.region_bytes >= kMinRegionBytes && header.region_bytes <= kMaxRegionBytes;
  if (!sized || header.region_bytes % kBlockBytes != 0 || header.in_use > 1) return ErrorCode::kInvalid;
  return header;
}

void EncodeRecordHeader(const RegionKey& region, const RecordInfo& record, std::string_view description,
                        std::span<std::byte> header) {
  assert(description.size() == record.description_bytes && header.size() == HeaderBytesFor(description.size()));
  RecordHeader fields{.record_bytes = RecordBytesFor(record.page_bytes, description.size()),
                      .page_id = record.id.value,
                      .page_bytes = record.page_bytes,
                      .page_checksum = record.page_checksum,
                      .description_bytes = record.description_bytes,
                      .region_sequence = region.sequence,
                      .offset = record.offset,
                      .header_checksum = region.salt};
  const size_t used = sizeof(fields) + description.size();
  std::memcpy(header.data(), &fields, sizeof(fields));
  std::ranges::copy(std::as_bytes(std::span(description)), header.data() + sizeof(fields));
  std::ranges::fill(header.subspan(used), std::byte{0});
  fields.header_checksum = Checksum(header.first(used));
  std::memcpy(header.data(), &fields, sizeof(fields));
}

std::optional<RecordInfo> PeekRecordHeader(const RegionKey& region, uint64_t offset, std::span<const std::byte> block) {
  RecordHeader header;
  if (block.size() < sizeof(header)) return std::nullopt;
  std::memcpy(&header, block.data(), sizeof(header));
  if (header.magic != kRecordMagic || header.version != kSsdFormatVersion) return std::nullopt;
  if (header.region_sequence != region.sequence || header.offset != offset) return std::nullopt;
  const RecordInfo record{.id = PageId{header.page_id},
                          .page_bytes = header.page_bytes,
                          .page_checksum = header.page_checksum,
                          .description_bytes = header.description_bytes,
                          .offset = offset};
  if (!Fits(region, record)) return std::nullopt;
  if (header.record_bytes != RecordBytesFor(record.page_bytes, record.description_bytes)) return std::nullopt;
  return record;
}

std::optional<RecordInfo> DecodeRecordHeader(const RegionKey& region, uint64_t offset,
                                             std::span<const std::byte> header, std::string_view* description) {
  const std::optional<RecordInfo> record = PeekRecordHeader(region, offset, header);
  if (!record || header.size() < sizeof(RecordHeader) + record->description_bytes) return std::nullopt;
  RecordHeader fields;
  std::memcpy(&fields, header.data(), sizeof(fields));
  const std::span<const std::byte> text = header.subspan(sizeof(fields), record->description_bytes);
  if (fields.header_checksum != RecordChecksum(fields, region.salt, text)) return std::nullopt;
  *description = {reinterpret_cast<const char*>(text.data()), text.size()};
  return record;
}

void IndexBuilder::Add(const RecordInfo& record, std::string_view description) {
  const IndexEntry entry{.page_id = record.id.value,
                         .page_bytes = record.page_bytes,
                         .page_checksum = record.page_checksum,
                         .offset_blocks = static_cast<uint32_t>(record.offset / kBlockBytes),
                         .description_bytes = record.description_bytes};
  const size_t before = bytes_.size();
  bytes_.resize(before + IndexEntryBytesFor(record.description_bytes));
  std::memcpy(bytes_.data() + before, &entry, sizeof(entry));
  if (record.description_bytes <= kMaxIndexedDescriptionBytes) {
    std::ranges::copy(std::as_bytes(std::span(description)), bytes_.data() + before + sizeof(entry));
  }
  ++entries_;
}

AlignedBuffer IndexBuilder::Finish(const RegionKey& region, uint64_t data_end) {
  AlignedBuffer out(RoundUpToBlock(bytes_.size()) + kBlockBytes);
  IndexFooter footer{.region_sequence = region.sequence,
                     .index_offset = region.region_bytes - out.size(),
                     .index_bytes = bytes_.size(),
                     .entries = entries_,
                     .data_end = data_end,
                     .index_checksum = IndexChecksum(region.salt, bytes_)};
  footer.footer_checksum = FooterChecksum(footer, region.salt);
  std::ranges::copy(bytes_, out.data());
  std::memcpy(out.data() + out.size() - kBlockBytes, &footer, sizeof(footer));
  *this = IndexBuilder();
  return out;
}

std::optional<IndexFooter> DecodeIndexFooter(const RegionKey& region, std::span<const std::byte> block) {
  IndexFooter footer;
  if (block.size() < sizeof(footer)) return std::nullopt;
  std::memcpy(&footer, block.data(), sizeof(footer));
  if (footer.magic != kIndexMagic || footer.version != kSsdFormatVersion) return std::nullopt;
  if (footer.region_sequence != region.sequence || footer.footer_checksum != FooterChecksum(footer, region.salt)) {
    return std::nullopt;
  }
  const uint64_t room = region.region_bytes - kBlockBytes;
  if (footer.index_bytes > room || footer.index_offset != room - RoundUpToBlock(footer.index_bytes)) {
    return std::nullopt;
  }
  if (footer.data_end < kFirstRecordOffset || footer.data_end > footer.index_offset) return std::nullopt;
  if (footer.data_end % kBlockBytes != 0 || footer.entries > footer.index_bytes / sizeof(IndexEntry)) {
    return std::nullopt;
  }
  return footer;
}

std::optional<std::vector<IndexedRecord>> DecodeIndex(const RegionKey& region, const IndexFooter& footer,
                                                      std::span<const std::byte> index) {
  if (index.size() != footer.index_bytes || footer.index_checksum != IndexChecksum(region.salt, index)) {
    return std::nullopt;
  }
  std::vector<IndexedRecord> records;
  records.reserve(footer.entries);
  while (!index.empty()) {
    IndexEntry entry;
    if (index.size() < sizeof(entry) || records.size() == footer.entries) return std::nullopt;
    std::memcpy(&entry, index.data(), sizeof(entry));
    const RecordInfo record{.id = PageId{entry.page_id},
                            .page_bytes = entry.page_bytes,
                            .page_checksum = entry.page_checksum,
                            .description_bytes = entry.description_bytes,
                            .offset = uint64_t{entry.offset_blocks} * kBlockBytes};
    if (!Fits(region, record)) return std::nullopt;
    const uint64_t bytes = IndexEntryBytesFor(record.description_bytes);
    if (bytes > index.size()) return std::nullopt;
    std::string_view description;
    if (record.description_bytes <= kMaxIndexedDescriptionBytes) {
      description = {reinterpret_cast<const char*>(index.data()) + sizeof(entry), record.description_bytes};
    }
    records.push_back({record, description});
    index = index.subspan(bytes);
  }
  if (records.size() != footer.entries) return std::nullopt;
  std::ranges::sort(records, {}, [](const IndexedRecord& record) { return record.record.offset; });
  return records;
}

}  // namespace kvpagefs
