#include "tools/micro_targets.h"

namespace kvpagefs {
namespace {

constexpr uint64_t kAnySize = 0;
constexpr uint64_t kKib = 1024;
constexpr uint64_t kMib = 1024 * kKib;
constexpr uint64_t kListedEntries = 1'000'000;

struct Row {
  std::string_view name;
  uint64_t size_bytes;
  double ratio;
};
constexpr Row kRows[] = {
    {"read-warm", kAnySize, 1.25},           {"read-cold", kMib, 4.0}, {"read-cold-direct", kMib, 2.5},
    {"open-read-close-cold", 64 * kKib, 6},  {"create", kMib, 3.0},    {"stat-hit", kAnySize, 1.5},
    {"batch-cold-direct-16", kAnySize, 1.8}, {"list", kAnySize, 3.0},
};

}  // namespace

std::optional<double> MicroTargetRatio(const MicroTargetQuery& query) {
  for (const Row& row : kRows) {
    if (row.name != query.name) continue;
    if (row.name == "list" && query.list_entries < kListedEntries) return std::nullopt;
    if (row.size_bytes != kAnySize && row.size_bytes != query.size_bytes) return std::nullopt;
    return row.ratio;
  }
  return std::nullopt;
}

}  // namespace kvpagefs
