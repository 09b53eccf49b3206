// Runs cases: the operation on one side, at once the same operation on the other, the first side changing each time,
// so that drift of the machine meets both alike.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "tools/latency.h"
#include "tools/micro_case.h"
#include "tools/micro_environment.h"

namespace kvpagefs {

struct MicroResult {
  MicroCaseSpec spec;
  std::array<LatencySummary, kSideCount> sides;
  std::optional<double> ratio;   // of the medians; none when the case failed
  std::optional<double> target;  // none when the case has none, or the other side is not tmpfs
  std::string error;             // of the operation that failed
  bool skipped = false;          // this machine cannot run the case; `error` says why

  bool failed() const { return !error.empty() && !skipped; }
  bool missed() const { return ratio.has_value() && target.has_value() && *ratio > *target; }
};

// A failing case is a result; kInterrupted when a stop was asked for.
Result<std::vector<MicroResult>> RunMicroCases(const MicroCaseList& cases, MicroEnvironment& environment);

}  // namespace kvpagefs
