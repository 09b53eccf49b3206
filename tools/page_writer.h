// The writing half of an engine: stores pages under a temporary name and renames them, as SGLang does.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "tools/aligned_buffer.h"
#include "tools/workload.h"

namespace kvpagefs {

struct WriterStats {
  uint64_t stored_pages = 0;
  uint64_t stored_bytes = 0;
  std::vector<int64_t> store_ns;  // create, write, close, rename
};

// One thread.
class PageWriter {
 public:
  // `workload` outlives the writer.
  PageWriter(const Workload& workload, std::string directory);

  // Pages of the request from index `first` on. kNoSpace tells how much the whole workload needs.
  Status StoreFrom(const WorkloadRequest& request, uint32_t first);
  Status Store(uint32_t page);

  // Deletes this workload's pages that are in the directory, by one scan; returns how many.
  Result<uint64_t> RemovePages();

  const WriterStats& stats() const { return stats_; }

 private:
  Status WriteAndRename(const std::string& name);

  const Workload& workload_;
  const std::string directory_;
  SystemClock clock_;
  std::mt19937_64 random_;
  AlignedBuffer buffer_;
  WriterStats stats_;
};

}  // namespace kvpagefs
