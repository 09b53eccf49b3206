// kvpagebench remote: pages of one node read on another, against plain sockets.
#pragma once

#include "tools/bench_command.h"

namespace kvpagefs {

BenchExit RunRemoteCommand(Arguments arguments);

}  // namespace kvpagefs
