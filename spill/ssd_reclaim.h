// What reclaim keeps of a region: pure. Private to spill/.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "spill/ssd_index.h"

namespace kvpagefs {

struct ReclaimPlan {
  std::vector<SsdPage> keep;  // in the order to write them
  std::vector<SsdPage> drop;
};

// Asks for each page once whether it is wanted. What is wanted is kept as long as its records fit into `budget_bytes`,
// the records written last first: an unlimited budget would let a log full of wanted pages move them round for ever
// without making room.
ReclaimPlan PlanReclaim(std::vector<SsdPage> pages, uint64_t budget_bytes,
                        const std::function<bool(PageId)>& is_wanted);

}  // namespace kvpagefs
