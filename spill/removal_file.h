// The removal file: which records are no pages any more although their bytes still stand in some region
// (spill/FORMAT.md). Only appended to; rewritten without what no region holds any more when it has grown.
//
// A mark kills the records of its page up to and including its place, so a page that was quarantined can be stored
// again behind it.
//
// Threads: any. Every method waits for the disk.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/mutex.h"
#include "base/result.h"
#include "spill/ssd_disk.h"

namespace kvpagefs {

inline constexpr std::string_view kRemovalFileName = "removals";
inline constexpr uint32_t kRemovalMagic = 0x4D52564B;  // "KVRM"
inline constexpr uint64_t kRemovalEntryBytes = 24;

struct RemovalMark {
  PageId id;
  uint64_t sequence = 0;  // of the region
  uint32_t block = 0;     // of the newest record that it kills
};

struct RemovalFileHeader {
  uint32_t magic = kRemovalMagic;
  uint16_t version = 0;
  uint16_t entry_bytes = kRemovalEntryBytes;
  uint64_t node_identity = 0;
  uint32_t reserved = 0;
  uint32_t checksum = 0;  // low half of XXH3 of the 20 bytes before
};
static_assert(sizeof(RemovalFileHeader) == kRemovalEntryBytes);

struct RemovalEntry {
  uint64_t page_id = 0;
  uint64_t sequence = 0;
  uint32_t block = 0;
  uint32_t checksum = 0;  // low half of XXH3 of the 20 bytes before
};
static_assert(sizeof(RemovalEntry) == kRemovalEntryBytes);

std::vector<std::byte> EncodeRemovalHeader(uint64_t node_identity);
std::vector<std::byte> EncodeRemovals(std::span<const RemovalMark> marks);

struct DecodedRemovals {
  std::vector<RemovalMark> marks;
  bool whole = true;  // false: a torn tail or damaged entries were left out
};
// kNotSupported: another version. kNotPermitted: of another node. A damaged header costs nothing but itself.
Result<DecodedRemovals> DecodeRemovals(std::span<const std::byte> bytes, uint64_t node_identity);

class RemovalFile {
 public:
  // `disk` outlives this.
  RemovalFile(SsdDisk* disk, uint64_t node_identity) : disk_(disk), node_identity_(node_identity) {}

  // Reads it, makes it when there is none, and repairs it when it is torn. Once, first.
  Result<DecodedRemovals> Load();
  // One write. On an error none of them counts as written, though some may be there.
  Status Append(std::span<const RemovalMark> marks);
  // What was appended by now survives a machine's crash.
  Status Sync();
  // Rewrites the file without marks of regions before `min_sequence`, if it is larger than `threshold_bytes` and twice
  // what is needed.
  Status CompactIfLarge(uint64_t min_sequence, uint64_t threshold_bytes);

  uint64_t bytes() const;
  bool dirty() const;

 private:
  Status Rewrite(std::span<const RemovalMark> marks) KVP_REQUIRES(mutex_);
  void Count(std::span<const RemovalMark> marks) KVP_REQUIRES(mutex_);
  uint64_t NeededBytes(uint64_t min_sequence) const KVP_REQUIRES(mutex_);

  SsdDisk* const disk_;
  const uint64_t node_identity_;
  mutable Mutex mutex_;
  uint64_t bytes_ KVP_GUARDED_BY(mutex_) = 0;
  bool dirty_ KVP_GUARDED_BY(mutex_) = false;
  bool torn_ KVP_GUARDED_BY(mutex_) = false;  // a failed append may have left half an entry
  std::map<uint64_t, uint64_t> marks_by_sequence_ KVP_GUARDED_BY(mutex_);
};

}  // namespace kvpagefs
