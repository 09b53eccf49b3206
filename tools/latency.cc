#include "tools/latency.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>

namespace kvpagefs {

int64_t PercentileNs(std::span<const int64_t> sorted_ns, double percent) {
  assert(percent > 0 && percent <= 100);
  if (sorted_ns.empty()) return 0;
  const double exact_rank = percent / 100 * static_cast<double>(sorted_ns.size());
  // 99 % of 100 is 99.00000000000001 in binary: without the allowance the rank would be one too high.
  const auto rank = static_cast<size_t>(std::ceil(exact_rank - 1e-9));
  return sorted_ns[std::clamp<size_t>(rank, 1, sorted_ns.size()) - 1];
}

double MedianNs(std::span<const int64_t> sorted_ns) {
  if (sorted_ns.empty()) return 0;
  const size_t middle = sorted_ns.size() / 2;
  const auto upper = static_cast<double>(sorted_ns[middle]);
  if (sorted_ns.size() % 2 == 1) return upper;
  return (static_cast<double>(sorted_ns[middle - 1]) + upper) / 2;
}

LatencySummary Summarize(std::vector<int64_t> samples_ns) {
  if (samples_ns.empty()) return {};
  std::sort(samples_ns.begin(), samples_ns.end());
  const double sum_ns = std::accumulate(samples_ns.begin(), samples_ns.end(), 0.0);
  return {.count = samples_ns.size(),
          .min_us = static_cast<double>(samples_ns.front()) / 1e3,
          .median_us = MedianNs(samples_ns) / 1e3,
          .mean_us = sum_ns / static_cast<double>(samples_ns.size()) / 1e3,
          .p99_us = static_cast<double>(PercentileNs(samples_ns, 99)) / 1e3,
          .max_us = static_cast<double>(samples_ns.back()) / 1e3};
}

}  // namespace kvpagefs
