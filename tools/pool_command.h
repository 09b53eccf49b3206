// kvpagebench pool: a pool larger than memory against the raw disk.
#pragma once

#include "tools/bench_command.h"

namespace kvpagefs {

BenchExit RunPoolCommand(Arguments arguments);

}  // namespace kvpagefs
