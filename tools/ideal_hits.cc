#include "tools/ideal_hits.h"

namespace kvpagefs {

IdealHits ComputeIdealHits(const Workload& workload, StoredBefore before) {
  IdealHits ideal;
  std::vector<bool> stored(workload.pages.size(), before == StoredBefore::kEverything);
  for (const WorkloadRequest& request : workload.requests) {
    uint32_t run = 0;
    while (run < request.prompt_pages && stored[request.pages[run]]) ++run;
    for (const uint32_t page : request.pages) stored[page] = true;
    ideal.per_request.push_back(run);
    ideal.hits += run;
    ideal.lookups += request.prompt_pages;
  }
  return ideal;
}

}  // namespace kvpagefs
