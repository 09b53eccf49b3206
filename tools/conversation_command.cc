#include "tools/conversation_command.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tools/conversation_options.h"
#include "tools/trace_workload.h"
#include "tools/workload_report.h"

namespace kvpagefs {
namespace {

Result<Workload> MakeWorkload(const ConversationOptions& options) {
  if (!options.trace.has_value()) return MakeConversation(options.shape);
  const Result<std::vector<TraceRequest>> requests = ReadTrace(*options.trace, options.trace_requests);
  if (!requests) return requests.error();
  return MakeTraceWorkload(*requests, std::string(options.shape.model.file_name), options.trace_page_bytes);
}

}  // namespace

BenchExit RunConversationCommand(Arguments arguments) {
  const Result<ConversationOptions> options = ParseConversationOptions(arguments);
  if (!options) return Complain(options.error(), BenchExit::kUsage);
  if (options->help) {
    fmt::print("{}", ConversationHelp());
    return BenchExit::kOk;
  }
  const Result<Workload> workload = MakeWorkload(*options);
  if (!workload) return Complain(workload.error(), BenchExit::kUsage);
  Progress progress;
  const Result<WorkloadOutcome> outcome = RunWorkload(*workload, options->run, progress);
  progress.Clear();
  if (!outcome) return Complain(outcome.error(), BenchExit::kFailed);
  if (options->json) {
    fmt::print("{}\n", ReportAsJson(*workload, options->run, *outcome).dump(2));
  } else {
    fmt::print("{}", FormatReport(*workload, options->run, *outcome));
  }
  if (Status equal = CheckHits(*workload, *outcome); !equal) return Complain(equal.error(), BenchExit::kFailed);
  return BenchExit::kOk;
}

}  // namespace kvpagefs
