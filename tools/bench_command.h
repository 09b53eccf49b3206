// What kvpagebench's subcommands have in common.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "tools/option_reader.h"

namespace kvpagefs {

enum class BenchExit : int {
  kOk = 0,
  kFailed = 1,        // an operation failed, bytes were wrong, hits were not the ideal ones
  kUsage = 2,         // the command line or an input file is wrong
  kMissed = 3,        // `micro --check`: a target was missed
  kInterrupted = 130  // SIGINT or SIGTERM
};

struct BenchCommand {
  const char* name;
  const char* summary;
  BenchExit (*run)(Arguments arguments);
};

// Arguments start after the program's name.
BenchExit RunBench(Arguments arguments);

// "kvpagebench: <text>" on standard error.
BenchExit Complain(const Error& error, BenchExit status);

}  // namespace kvpagefs
