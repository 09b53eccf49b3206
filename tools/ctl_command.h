// What kvpagectl's subcommands have in common.
#pragma once

#include "base/result.h"
#include "tools/option_reader.h"

namespace kvpagefs {

enum class CtlExit : int {
  kOk = 0,
  kFound = 1,   // fsck: something is damaged
  kUsage = 2,   // the command line is wrong
  kFailed = 3,  // the command could not do its work
};

struct CtlCommand {
  const char* name;
  const char* summary;
  CtlExit (*run)(Arguments arguments);
};

// Arguments start after the program's name.
CtlExit RunCtl(Arguments arguments);

// "kvpagectl: <text>" on standard error.
CtlExit ComplainCtl(const Error& error, CtlExit status);

}  // namespace kvpagefs
