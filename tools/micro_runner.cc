#include "tools/micro_runner.h"

#include <algorithm>
#include <numeric>
#include <random>

#include <fmt/format.h>

#include "base/clock.h"
#include "tools/micro_targets.h"

namespace kvpagefs {
namespace {

class CaseRunner {
 public:
  CaseRunner(MicroEnvironment& environment, MicroCase& measured)
      : environment_(environment), measured_(measured), random_(environment.options().seed) {}

  // One run that is not counted, in which content is checked, then the counted ones.
  Status RunAll() {
    for (uint64_t run = 0; run <= environment_.options().runs; ++run) {
      if (Status done = RunOnce(run); !done) return done;
    }
    return {};
  }

  const std::vector<int64_t>& samples_ns(size_t side) const { return samples_ns_[side]; }

 private:
  Status RunOnce(uint64_t run) {
    for (size_t side = 0; side < kSideCount; ++side) {
      if (Status begun = measured_.BeginRun(side); !begun) return begun;
    }
    std::vector<size_t> order(measured_.ItemCount());
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random_);
    for (size_t i = 0; i < order.size(); ++i) {
      if (environment_.stop().Requested()) return ErrorCode::kInterrupted;
      const size_t first = (run + i) % kSideCount;
      for (const size_t side : {first, 1 - first}) {
        if (Status done = RunItem(side, order[i], run == 0); !done) return done;
      }
    }
    return {};
  }

  Status RunItem(size_t side, size_t item, bool warm_up) {
    if (Status prepared = measured_.Prepare(side, item); !prepared) return prepared;
    const int64_t start_ns = clock_.MonotonicNs();
    Status done = measured_.Run(side, item);
    const int64_t end_ns = clock_.MonotonicNs();
    if (!done) return done;
    if (warm_up) {
      if (Status right = measured_.Verify(side, item); !right) return right;
    } else {
      samples_ns_[side].push_back(end_ns - start_ns);
    }
    return measured_.Finish(side, item);
  }

  MicroEnvironment& environment_;
  MicroCase& measured_;
  std::mt19937_64 random_;
  SystemClock clock_;
  std::array<std::vector<int64_t>, kSideCount> samples_ns_;
};

Status RunCase(MicroEnvironment& environment, MicroResult& result) {
  Result<std::unique_ptr<MicroCase>> measured = result.spec.make(environment);
  if (!measured) {
    result.skipped = measured.code() == ErrorCode::kNotSupported;
    return measured.error();
  }
  CaseRunner runner(environment, **measured);
  if (Status done = runner.RunAll(); !done) return done;
  for (size_t side = 0; side < kSideCount; ++side) result.sides[side] = Summarize(runner.samples_ns(side));
  // A clock that saw no time pass would make the ratio infinite.
  const double against_us = std::max(result.sides[kAgainstSide].median_us, 1e-3);
  result.ratio = result.sides[kDirSide].median_us / against_us;
  if (environment.side(kAgainstSide).filesystem == "tmpfs") {
    result.target = MicroTargetRatio({result.spec.name, result.spec.size_bytes, environment.options().list_entries});
  }
  return {};
}

}  // namespace

Result<std::vector<MicroResult>> RunMicroCases(const MicroCaseList& cases, MicroEnvironment& environment) {
  std::vector<MicroResult> results;
  for (size_t i = 0; i < cases.size(); ++i) {
    environment.progress().Show(fmt::format("[{}/{}] {} {}", i + 1, cases.size(), cases[i].label, cases[i].size_label));
    MicroResult result;
    result.spec = cases[i];
    const Status done = RunCase(environment, result);
    if (environment.stop().Requested()) return Error(ErrorCode::kInterrupted, "interrupted");
    if (!done) result.error = done.error().Describe();
    results.push_back(std::move(result));
  }
  environment.progress().Clear();
  return results;
}

}  // namespace kvpagefs
