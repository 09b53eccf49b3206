#include "tools/bench_command.h"

#include <cstdio>

#include <fmt/format.h>

#include "tools/conversation_command.h"
#include "tools/micro_command.h"
#include "tools/pool_command.h"
#include "tools/remote_command.h"

namespace kvpagefs {
namespace {

constexpr BenchCommand kCommands[] = {
    {"micro", "single file operations on two directories, interleaved, with the ratio", RunMicroCommand},
    {"conversation", "KV-cache pages of conversations: written, looked up, read back, checked", RunConversationCommand},
    {"remote", "pages of one node read on another, against plain sockets", RunRemoteCommand},
    {"pool", "more pages than memory holds, written and read by many, against the raw disk", RunPoolCommand},
};

void PrintHelp() {
  fmt::print(
      "Usage: kvpagebench COMMAND [OPTION]...\n\nWorkloads and measurements on a directory, such as a kvpagefs "
      "mount.\n\nCommands:\n");
  for (const BenchCommand& command : kCommands) fmt::print("  {:<14}{}\n", command.name, command.summary);
  fmt::print("\nkvpagebench COMMAND --help shows the options; kvpagebench(1) has examples and the method.\n");
}

}  // namespace

BenchExit Complain(const Error& error, BenchExit status) {
  fmt::print(stderr, "kvpagebench: {}\n", error.Describe());
  return status;
}

BenchExit RunBench(Arguments arguments) {
  if (arguments.empty()) {
    return Complain({ErrorCode::kInvalid, "a command is missing; see kvpagebench --help"}, BenchExit::kUsage);
  }
  const std::string& word = arguments.front();
  if (word == "--help" || word == "-h") {
    PrintHelp();
    return BenchExit::kOk;
  }
  if (word == "--version" || word == "-V") {
    fmt::print("kvpagebench {}\n", KVPAGEFS_VERSION);
    return BenchExit::kOk;
  }
  for (const BenchCommand& command : kCommands) {
    if (word == command.name) return command.run(arguments.subspan(1));
  }
  return Complain({ErrorCode::kInvalid, fmt::format("command '{}' is unknown; see kvpagebench --help", word)},
                  BenchExit::kUsage);
}

}  // namespace kvpagefs
