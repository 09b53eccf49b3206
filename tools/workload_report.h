// What a workload run says: text for people, JSON for programs, and one line when the directory did not do its job.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "tools/workload_run.h"

namespace kvpagefs {

std::string FormatReport(const Workload& workload, const WorkloadRunOptions& options, const WorkloadOutcome& outcome);

nlohmann::ordered_json ReportAsJson(const Workload& workload, const WorkloadRunOptions& options,
                                    const WorkloadOutcome& outcome);

// An error when hits and ideal hits differ; it names the first such request.
Status CheckHits(const Workload& workload, const WorkloadOutcome& outcome);

}  // namespace kvpagefs
