// Durations of one operation and what is said about them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace kvpagefs {

struct LatencySummary {
  uint64_t count = 0;
  double min_us = 0;
  double median_us = 0;
  double mean_us = 0;
  double p99_us = 0;
  double max_us = 0;
};

// The smallest sample that at least `percent` of all samples do not exceed (nearest rank). 0 without samples.
// `sorted_ns` is ascending, percent in (0, 100].
int64_t PercentileNs(std::span<const int64_t> sorted_ns, double percent);

// The mean of the two middle samples when their number is even.
double MedianNs(std::span<const int64_t> sorted_ns);

LatencySummary Summarize(std::vector<int64_t> samples_ns);

}  // namespace kvpagefs
