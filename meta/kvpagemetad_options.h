// Everything the metadata daemon can be told. Private to kvpagemetad and the tests.
#pragma once

#include <cstdint>
#include <string>

#include "base/log.h"
#include "base/result.h"
#include "daemon/program_options.h"

namespace kvpagefs {

struct MetadOptions {
  std::string listen = "127.0.0.1:7700";
  std::string state_dir;    // absolute; empty: nothing is persisted
  std::string secret_file;  // absolute; empty: none
  int64_t node_timeout_ms = 5'000;
  int64_t heartbeat_ms = 1'000;
  std::string log_file;  // absolute; empty: standard error with -f, else syslog
  Log::Level log_level = Log::Level::kInfo;
};

// `options` outlives what is returned.
ProgramDescription DescribeMetad(MetadOptions* options);

// What the options cannot check one by one.
Status CheckTogether(const MetadOptions& options);

}  // namespace kvpagefs
