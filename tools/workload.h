// What an engine does to its KV-cache directory, as data: requests that look up, load and store pages.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/chain_hash.h"

namespace kvpagefs {

struct WorkloadRequest {
  // Indexes into Workload::pages. The first `prompt_pages` are looked up; all that were not hits are stored.
  std::vector<uint32_t> pages;
  uint32_t prompt_pages = 0;
};

struct Workload {
  std::string description;  // one line for the report
  std::string model;        // as it stands in file names
  uint64_t page_bytes = 0;
  std::vector<PageKey> pages;  // distinct
  std::vector<WorkloadRequest> requests;

  uint64_t total_bytes() const { return page_bytes * pages.size(); }
};

}  // namespace kvpagefs
