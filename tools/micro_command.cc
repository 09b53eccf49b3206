#include "tools/micro_command.h"

#include <array>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tools/micro_report.h"

namespace kvpagefs {
namespace {

void Print(const MicroReport& report) {
  if (report.options.json) {
    fmt::print("{}\n", MicroAsJson(report).dump(2));
  } else {
    fmt::print("{}", FormatMicroTable(report));
  }
}

}  // namespace

BenchExit RunMicroCommand(Arguments arguments) {
  const Result<MicroOptions> options = ParseMicroOptions(arguments);
  if (!options) return Complain(options.error(), BenchExit::kUsage);
  if (options->help) {
    fmt::print("{}", MicroHelp());
    return BenchExit::kOk;
  }
  const Result<MicroCaseList> cases = SelectMicroCases(*options);
  if (!cases) return Complain(cases.error(), BenchExit::kUsage);
  StopSignal stop;
  Progress progress;
  Result<std::unique_ptr<MicroEnvironment>> environment = MicroEnvironment::Make(*options, progress, stop);
  if (!environment) return Complain(environment.error(), BenchExit::kFailed);
  const Result<std::vector<MicroResult>> results = RunMicroCases(*cases, **environment);
  if (!results) {
    environment->reset();
    progress.Clear();
    return Complain(results.error(), BenchExit::kInterrupted);
  }
  const HostInfo host = ReadHostInfo();
  const std::array sides = {(*environment)->side(kDirSide), (*environment)->side(kAgainstSide)};
  environment->reset();
  progress.Clear();
  Print({*options, host, sides, *results});
  if (CountFailed(*results) > 0) {
    return Complain(Error(ErrorCode::kLost, fmt::format("{} cases failed", CountFailed(*results))), BenchExit::kFailed);
  }
  return options->check && CountMissed(*results) > 0 ? BenchExit::kMissed : BenchExit::kOk;
}

}  // namespace kvpagefs
