// Verifies an SSD directory while no log uses it, without writing: every region header, index, record and payload.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "spill/ssd_disk.h"

namespace kvpagefs {

struct SsdCheckOptions {
  uint64_t node_identity = 0;  // regions of another one are counted, not looked into
};

// One thing that is wrong.
struct SsdDamage {
  std::string file;
  uint64_t offset = 0;
  std::string reason;
};

struct SsdCheckSummary {
  uint64_t regions = 0;  // with records
  uint64_t free_regions = 0;
  uint64_t foreign_regions = 0;
  uint64_t unsealed_regions = 0;  // without a usable index: of the last run, or damaged
  uint64_t records = 0;
  uint64_t live_records = 0;  // what a log would have
  uint64_t live_bytes = 0;    // their pages
  uint64_t superseded_records = 0;
  uint64_t removed_records = 0;
  uint64_t damaged = 0;  // reports
  bool clean() const { return damaged == 0; }
};

// Uses the disk up: transfers that never end can only be waited for by its destructor.
//
// `report` is called for each damage, in the order of the regions, newest first; it may be empty. Errors: what keeps
// the check from looking at all (the directory cannot be listed, the removal file is of another version or node).
//
// A record whose payload is damaged counts as damaged only if a log would have it: what was removed or superseded is
// never read again. What a power cut tore and no Sync promised is reported as well, it cannot be told apart.
Result<SsdCheckSummary> CheckDirectory(std::unique_ptr<SsdDisk> disk, const SsdCheckOptions& options,
                                       const std::function<void(const SsdDamage&)>& report);

}  // namespace kvpagefs
