// The ratios to tmpfs that a mount is meant to reach.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace kvpagefs {

struct MicroTargetQuery {
  std::string_view name;      // of the case
  uint64_t size_bytes = 0;    // of its files
  uint64_t list_entries = 0;  // of the listed directory
};

// The largest ratio that is good, for cases that have one.
std::optional<double> MicroTargetRatio(const MicroTargetQuery& query);

}  // namespace kvpagefs
