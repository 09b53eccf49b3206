// `kvpagebench micro`.
#pragma once

#include "tools/bench_command.h"

namespace kvpagefs {

BenchExit RunMicroCommand(Arguments arguments);

}  // namespace kvpagefs
