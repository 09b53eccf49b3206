#include "tools/ctl_command.h"

#include <cstdio>

#include <fmt/format.h>

#include "tools/fsck_command.h"

namespace kvpagefs {
namespace {

constexpr CtlCommand kCommands[] = {
    {"fsck", "checks every page in an SSD directory that no node uses", RunFsckCommand},
};

void PrintHelp() {
  fmt::print("Usage: kvpagectl COMMAND [OPTION]...\n\nThe operator's tool for kvpagefs.\n\nCommands:\n");
  for (const CtlCommand& command : kCommands) fmt::print("  {:<8}{}\n", command.name, command.summary);
  fmt::print("\nkvpagectl COMMAND --help shows the options; kvpagectl(8) explains them.\n");
}

}  // namespace

CtlExit ComplainCtl(const Error& error, CtlExit status) {
  fmt::print(stderr, "kvpagectl: {}\n", error.Describe());
  return status;
}

CtlExit RunCtl(Arguments arguments) {
  if (arguments.empty()) {
    return ComplainCtl({ErrorCode::kInvalid, "a command is missing; see kvpagectl --help"}, CtlExit::kUsage);
  }
  const std::string& word = arguments.front();
  if (word == "--help" || word == "-h") {
    PrintHelp();
    return CtlExit::kOk;
  }
  if (word == "--version" || word == "-V") {
    fmt::print("kvpagectl {}\n", KVPAGEFS_VERSION);
    return CtlExit::kOk;
  }
  for (const CtlCommand& command : kCommands) {
    if (word == command.name) return command.run(arguments.subspan(1));
  }
  return ComplainCtl({ErrorCode::kInvalid, fmt::format("command '{}' is unknown; see kvpagectl --help", word)},
                     CtlExit::kUsage);
}

}  // namespace kvpagefs
