// What an unlimited cache would serve: per request the longest run of leading pages that were stored before.
#pragma once

#include <cstdint>
#include <vector>

#include "tools/workload.h"

namespace kvpagefs {

enum class StoredBefore {
  kEarlierRequests,  // pages of earlier requests: lookups and stores alternate
  kEverything,       // all pages of the workload: it was written as a whole before the first lookup
};

struct IdealHits {
  std::vector<uint32_t> per_request;
  uint64_t hits = 0;
  uint64_t lookups = 0;  // prompt pages of all requests
};

IdealHits ComputeIdealHits(const Workload& workload, StoredBefore before);

}  // namespace kvpagefs
