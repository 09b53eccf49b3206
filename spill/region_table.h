// The region files of the SSD log: which there are, what each is used for, what fits into the capacity, which is
// reclaimed next. Pure: no disk, no clock. The caller locks.
//
// Life of a region: free --Prepare--> preparing -> ready (header written) -> open (records are appended) -> full (being
// sealed) -> sealed -> reclaiming -> free. At most one is preparing or ready, one open and one reclaiming. Foreign and
// unreadable ones only count.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "spill/region_format.h"
#include "spill/ssd_disk.h"

namespace kvpagefs {

struct Region {
  enum class State : uint8_t {
    kFree,  // holds nothing, durably
    kPreparing,
    kReady,
    kOpen,
    kFull,
    kSealed,
    kReclaiming,
    kLost,        // its file is gone; waits for its last user
    kForeign,     // of another node or format version
    kUnreadable,  // its header could not be read: nobody knows what it holds
  };

  uint32_t slot = 0;
  State state = State::kFree;
  std::string name;
  SsdDisk::FileId file = 0;
  uint64_t file_bytes = 0;
  RegionKey key;
  uint64_t data_end = 0;          // where the next record goes
  uint64_t index_bytes = 0;       // promised to the records so far
  IndexBuilder index;             // of the records that are written
  uint32_t writes = 0;            // in flight
  uint32_t users = 0;             // reads and syncs in flight
  uint64_t live_bytes = 0;        // records of pages that are stored
  uint32_t reclaim_failures = 0;  // in a row, of the disk
  bool dirty = false;             // written to since its last sync
};

class RegionTable {
 public:
  struct Limits {
    uint64_t capacity_bytes = 0;
    uint64_t region_bytes = 0;
  };
  // What is set aside of the capacity for the removal file (at worst 24 bytes a record, twice while it is rewritten)
  // and the directory's own small files.
  static constexpr uint64_t ReservedBytes(uint64_t capacity_bytes) { return capacity_bytes / 48 + uint64_t{16} * 1024; }
  // The removal file may grow to this without being looked at.
  static constexpr uint64_t RemovalThreshold(uint64_t capacity_bytes) {
    return std::min<uint64_t>(uint64_t{1} << 20, capacity_bytes / 192);
  }
  // Free regions that reclaim keeps: one being filled next, one being emptied.
  static constexpr uint32_t kWantedFree = 2;

  explicit RegionTable(const Limits& limits) : limits_(limits) {}

  // Slots are reused after Erase.
  Region& Add(std::string name, uint64_t file_bytes);
  void Erase(uint32_t slot);
  Region& At(uint32_t slot) { return *slots_[slot]; }
  const Region& At(uint32_t slot) const { return *slots_[slot]; }
  template <class Visit>
  void ForEach(Visit visit) const {
    for (const std::unique_ptr<Region>& region : slots_) {
      if (region) visit(*region);
    }
  }

  Region* Find(Region::State state);  // the oldest of them; null
  Region* FindReusable();             // free, and of the present size; null
  uint64_t file_bytes() const { return file_bytes_; }
  uint32_t regions() const { return regions_; }
  // A new region file fits into the capacity, and the disk is not known to be full.
  bool MayCreate() const;
  void set_disk_full(bool full) { disk_full_ = full; }
  bool disk_full() const { return disk_full_; }
  // Its file can hold a region of the present size.
  bool Reusable(const Region& region) const { return region.file_bytes == limits_.region_bytes; }
  // Files take more than the capacity.
  bool Over() const;
  // Regions that could be opened without a reclaim.
  uint32_t Available() const;
  // Oldest first; those that failed before come after those that did not. Null: none is sealed.
  Region* ChooseReclaim();
  // No region holds records of an older one. UINT64_MAX: none holds any.
  uint64_t MinSequence() const;
  const Limits& limits() const { return limits_; }

 private:
  Limits limits_;
  std::vector<std::unique_ptr<Region>> slots_;
  uint64_t file_bytes_ = 0;
  uint32_t regions_ = 0;
  bool disk_full_ = false;
};

}  // namespace kvpagefs
