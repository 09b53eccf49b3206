// Options of `kvpagebench pool`.
#pragma once

#include <cstdint>
#include <string>

#include "tools/option_reader.h"

namespace kvpagefs {

struct PoolOptions {
  std::string directory;  // the mount
  std::string against;    // a directory on the same disk
  uint64_t page_bytes = uint64_t{1} << 20;
  uint64_t pages = 512;
  uint64_t readers = 16;
  uint64_t seed = 1;
  bool json = false;
  bool help = false;
};

// kInvalid names the option, the value and what would be right.
Result<PoolOptions> ParsePoolOptions(Arguments arguments);
std::string PoolHelp();

}  // namespace kvpagefs
