// `kvpagebench conversation write|read|run`.
#pragma once

#include "tools/bench_command.h"

namespace kvpagefs {

BenchExit RunConversationCommand(Arguments arguments);

}  // namespace kvpagefs
