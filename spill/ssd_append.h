// What the SSD log has in its queue and in flight. Private to spill/.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "spill/region_table.h"
#include "spill/ssd_log.h"

namespace kvpagefs {

// Consecutive records are written together up to this; a longer one alone.
inline constexpr uint64_t kMaxWriteBytes = uint64_t{4} << 20;
inline constexpr size_t kMaxPieces = 1024;  // of one transfer: IOV_MAX
inline constexpr uint32_t kMaxWritesInFlight = 4;
inline constexpr uint64_t kHeaderBufferBytes = uint64_t{1} << 20;

// A page on its way into the log.
struct PendingAppend {
  SsdLog::AppendRequest request;
  std::vector<std::function<void(const Status&)>> also;  // the same id was asked again
  bool move = false;                                     // by reclaim: the page is stored, at
  uint32_t from_region = 0;                              //   this place
  uint32_t from_block = 0;
  bool removed = false;  // on its way
  bool placed = false;   // the next three are known
  uint32_t region = 0;
  uint64_t sequence = 0;
  RecordInfo record;

  uint64_t header_bytes() const { return HeaderBytesFor(request.description.size()); }
  uint64_t record_bytes() const { return RecordBytesFor(request.bytes, request.description.size()); }
  uint64_t index_bytes() const { return IndexEntryBytesFor(request.description.size()); }
};

// One contiguous write of records.
struct SsdWrite {
  uint32_t region = 0;
  SsdDisk::FileId file = 0;
  RegionKey key;
  uint64_t offset = 0;
  uint64_t bytes = 0;
  uint64_t header_bytes = 0;
  size_t pieces = 0;
  std::vector<std::unique_ptr<PendingAppend>> items;
  AlignedBuffer headers;
  uint32_t parts_left = 0;  // transfers not yet answered; guarded by the log's mutex, as is
  std::optional<Status> failure;
};

// The record fits behind what the region holds, with the index.
bool HasRoom(const Region& region, uint64_t record_bytes, uint64_t index_bytes);
// The record may join the write.
bool Joins(const SsdWrite& write, const PendingAppend& item);
// Transfers of at most kMaxPieces pieces each, one behind the other.
std::vector<SsdDisk::Io> SplitTransfer(const SsdDisk::Io& whole);
// Pieces of whole blocks at aligned addresses, as many bytes as a page of `bytes` takes.
bool ValidPieces(const std::vector<iovec>& pieces, uint64_t bytes);

}  // namespace kvpagefs
