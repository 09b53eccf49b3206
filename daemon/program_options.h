// Options of a program from its command line, a file and the environment, by one table.
//
// Precedence: command line, then PREFIX_* variables, then the --config file, then defaults. A file has lines
// `name = value`; a line that starts with '#' is a comment. Every program has -f, -h, -V, --help, --version,
// --print-config and --config besides its table.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace kvpagefs {

struct ProgramOption {
  std::string_view name;  // without dashes, words joined by '-'
  std::string_view value_name;
  std::string_view default_text;
  std::string_view help;
  // Checks and stores. kInvalid names the value and what would be right, not the option.
  std::function<Status(std::string_view text)> set;
  // What `set` would take to give the same value.
  std::function<std::string()> get;
};

struct ProgramDescription {
  std::string_view name;     // "kvpagemetad"
  std::string_view prefix;   // of its variables: "KVPAGEMETAD_"
  std::string_view version;  // "0.1.0"
  std::string_view summary;  // one paragraph for --help
  std::vector<ProgramOption> options;
};

enum class ProgramAction : uint8_t { kRun, kHelp, kVersion, kPrintConfig };

struct ProgramCall {
  ProgramAction action = ProgramAction::kRun;
  bool foreground = false;
};

// `environment`: "NAME=value" strings, null-terminated list as in main. kInvalid with one line that names the input
// and the remedy. Nothing is set for kHelp and kVersion.
Result<ProgramCall> ParseProgramOptions(const ProgramDescription& program, int argc, const char* const* argv,
                                        const char* const* environment);

// The text of --help.
std::string ProgramHelp(const ProgramDescription& program);

// The effective configuration, in the syntax of a --config file.
std::string ProgramConfig(const ProgramDescription& program);

}  // namespace kvpagefs
