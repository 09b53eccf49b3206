// Reads what a region holds, without its payloads: by its index, or record by record where the index is missing or
// damaged. A bad record header costs that record: the search goes on block by block behind it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "spill/io_loop.h"
#include "spill/region_format.h"

namespace kvpagefs {

struct LoadedRecord {
  RecordInfo record;
  uint64_t description_at = 0;
};

struct LoadedDamage {
  uint64_t offset = 0;
  std::string what;
};

struct LoadedRegion {
  // Told by the caller.
  std::string name;
  SsdDisk::FileId file = 0;
  uint64_t file_bytes = 0;
  RegionKey key;

  // Filled.
  std::vector<LoadedRecord> records;  // by offset
  std::string descriptions;           // of all records, one behind the other
  uint64_t data_end = kFirstRecordOffset;
  bool scanned = false;            // there was no usable index
  std::vector<RecordInfo> unread;  // in the index, but their headers are damaged
  std::vector<LoadedDamage> damages;
  bool unreadable = false;  // blocks that may hold records could not be read
  bool done = false;

  std::string_view description(const LoadedRecord& loaded) const {
    return std::string_view(descriptions).substr(loaded.description_at, loaded.record.description_bytes);
  }
  void Add(const RecordInfo& record, std::string_view description);
  void AddDamage(uint64_t offset, std::string_view what);
};

// `region` and `loop` outlive the task.
IoTask LoadRegion(IoLoop* loop, LoadedRegion* region);
// Without the index.
IoTask ScanRegion(IoLoop* loop, LoadedRegion* region);

}  // namespace kvpagefs
