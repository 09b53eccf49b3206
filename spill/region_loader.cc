#include "spill/region_loader.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace kvpagefs {
namespace {

constexpr auto kRead = SsdDisk::IoKind::kRead;
// Of a gap: large enough for the disk's full speed.
constexpr uint64_t kScanPieceBytes = uint64_t{1} << 20;

// The blocks of a region, read in pieces that fit how they are used.
struct ScanWindow {
  AlignedBuffer piece;
  uint64_t first = 0;
  uint64_t bytes = 0;  // read and good

  bool Has(uint64_t offset) const { return offset >= first && offset + kBlockBytes <= first + bytes; }
  std::span<const std::byte> Block(uint64_t offset) const { return piece.bytes().subspan(offset - first, kBlockBytes); }
};

struct FoundRecord {
  std::optional<RecordInfo> record;
  AlignedBuffer header;  // of the description
  std::string_view description;
};

// The record at `offset` whose first block is given, if there is one. Reads the rest of a long header.
IoTask FindRecord(IoLoop* loop, const LoadedRegion* region, uint64_t offset, FoundRecord* found) {
  const std::optional<RecordInfo> claimed = PeekRecordHeader(region->key, offset, found->header.bytes());
  if (!claimed) co_return;
  const uint64_t header_bytes = HeaderBytesFor(claimed->description_bytes);
  if (header_bytes > kBlockBytes) {
    found->header = AlignedBuffer(header_bytes);
    const Status read = co_await loop->Transfer(kRead, region->file, offset, found->header.piece());
    if (!read.ok()) co_return;
  }
  found->record = DecodeRecordHeader(region->key, offset, found->header.bytes(), &found->description);
}

// Fills the window so that it has `offset`, if that can be read. Behind damage it looks far ahead.
IoTask FillWindow(IoLoop* loop, LoadedRegion* region, ScanWindow* window, std::pair<uint64_t, uint64_t> range) {
  const auto [offset, bytes] = range;
  if (window->piece.size() < bytes) window->piece = AlignedBuffer(bytes);
  window->first = offset;
  window->bytes = bytes;
  const Status read = co_await loop->Transfer(kRead, region->file, offset, window->piece.piece(0, bytes));
  if (read.ok()) co_return;
  window->bytes = 0;
  if (bytes == kBlockBytes) {
    region->unreadable = true;
    co_return;
  }
  // One unreadable block must not hide its neighbours.
  for (uint64_t at = 0; at < bytes; at += kBlockBytes) {
    const iovec piece = window->piece.piece(at, kBlockBytes);
    const Status block = co_await loop->Transfer(kRead, region->file, offset + at, piece);
    if (block.ok()) continue;
    std::ranges::fill(window->piece.bytes().subspan(at, kBlockBytes), std::byte{0});
    region->unreadable = true;
  }
  window->bytes = bytes;
}

// Descriptions that are too long for the index stand in the record's header.
IoTask LoadLongDescriptions(IoLoop* loop, LoadedRegion* region, const std::vector<IndexedRecord>* indexed) {
  for (const IndexedRecord& entry : *indexed) {
    const uint64_t offset = entry.record.offset;
    if (offset + RecordBytesFor(entry.record.page_bytes, entry.record.description_bytes) > region->file_bytes) {
      region->AddDamage(offset, "the file ends before it");
      continue;
    }
    if (entry.record.description_bytes <= kMaxIndexedDescriptionBytes) {
      region->Add(entry.record, entry.description);
      continue;
    }
    FoundRecord found;
    found.header = AlignedBuffer(HeaderBytesFor(entry.record.description_bytes));
    const Status read = co_await loop->Transfer(kRead, region->file, offset, found.header.piece());
    if (read.ok()) {
      found.record = DecodeRecordHeader(region->key, offset, found.header.bytes(), &found.description);
    }
    if (found.record && found.record->id == entry.record.id) {
      region->Add(*found.record, found.description);
    } else {
      region->AddDamage(offset, "damaged record header");
      region->unread.push_back(entry.record);
    }
  }
}

IoTask LoadByIndex(IoLoop* loop, LoadedRegion* region, bool* loaded) {
  if (region->file_bytes < region->key.region_bytes) co_return;
  AlignedBuffer block(kBlockBytes);
  const uint64_t footer_offset = region->key.region_bytes - kBlockBytes;
  const Status footer_read = co_await loop->Transfer(kRead, region->file, footer_offset, block.piece());
  if (!footer_read.ok()) co_return;
  const std::optional<IndexFooter> footer = DecodeIndexFooter(region->key, block.bytes());
  if (!footer) co_return;
  AlignedBuffer index(footer->index_bytes);
  if (footer->index_bytes > 0) {
    const Status index_read = co_await loop->Transfer(kRead, region->file, footer->index_offset, index.piece());
    if (!index_read.ok()) co_return;
  }
  const std::optional<std::vector<IndexedRecord>> records =
      DecodeIndex(region->key, *footer, index.bytes().first(footer->index_bytes));
  if (!records) co_return;
  *loaded = true;
  region->records.reserve(records->size());
  region->data_end = footer->data_end;
  co_await LoadLongDescriptions(loop, region, &*records);
}

}  // namespace

void LoadedRegion::Add(const RecordInfo& record, std::string_view description) {
  records.push_back({.record = record, .description_at = descriptions.size()});
  descriptions.append(description);
  data_end = std::max(data_end, record.offset + RecordBytesFor(record.page_bytes, record.description_bytes));
}

void LoadedRegion::AddDamage(uint64_t offset, std::string_view what) {
  damages.push_back({.offset = offset, .what = std::string(what)});
}

IoTask ScanRegion(IoLoop* loop, LoadedRegion* region) {
  region->scanned = true;
  const uint64_t end = std::min(region->key.region_bytes - kBlockBytes, region->file_bytes / kBlockBytes * kBlockBytes);
  ScanWindow window;
  uint64_t gap_start = 0;  // 0: the chain is intact
  for (uint64_t offset = kFirstRecordOffset; offset < end;) {
    if (!window.Has(offset)) {
      const uint64_t ahead = gap_start == 0 ? uint64_t{kBlockBytes} : kScanPieceBytes;
      co_await FillWindow(loop, region, &window, {offset, std::min(ahead, end - offset)});
    }
    FoundRecord found;
    if (window.Has(offset) && PeekRecordHeader(region->key, offset, window.Block(offset))) {
      found.header = AlignedBuffer(kBlockBytes);
      std::ranges::copy(window.Block(offset), found.header.data());
      co_await FindRecord(loop, region, offset, &found);
    }
    if (!found.record) {
      if (gap_start == 0) gap_start = offset;
      offset += kBlockBytes;
      continue;
    }
    if (gap_start != 0) region->AddDamage(gap_start, "damaged record header");
    gap_start = 0;
    const uint64_t bytes = RecordBytesFor(found.record->page_bytes, found.record->description_bytes);
    if (offset + bytes <= region->file_bytes) {
      region->Add(*found.record, found.description);
    } else {
      region->AddDamage(offset, "the file ends before it");
    }
    offset += bytes;
  }
  if (region->unreadable && gap_start != 0) region->AddDamage(gap_start, "unreadable");
}

IoTask LoadRegion(IoLoop* loop, LoadedRegion* region) {
  bool loaded = false;
  co_await LoadByIndex(loop, region, &loaded);
  if (!loaded) co_await ScanRegion(loop, region);
  region->done = true;
}

}  // namespace kvpagefs
