// The results of `micro` as a table for people and as JSON for programs.
#pragma once

#include <span>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "tools/host_info.h"
#include "tools/micro_environment.h"
#include "tools/micro_runner.h"

namespace kvpagefs {

struct MicroReport {
  const MicroOptions& options;
  const HostInfo& host;
  std::span<const MicroSide> sides;  // kSideCount
  std::span<const MicroResult> results;
};

std::string FormatMicroTable(const MicroReport& report);
nlohmann::ordered_json MicroAsJson(const MicroReport& report);

// Cases that missed their target.
size_t CountMissed(std::span<const MicroResult> results);
size_t CountFailed(std::span<const MicroResult> results);

}  // namespace kvpagefs
