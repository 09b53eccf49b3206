// Options of `kvpagebench remote`.
#pragma once

#include <cstdint>
#include <string>

#include "tools/option_reader.h"

namespace kvpagefs {

struct RemoteOptions {
  std::string writer;   // the mount on which pages are written
  std::string reader;   // the mount on which they are read
  std::string against;  // a directory whose files the raw sockets move
  uint64_t page_bytes = uint64_t{1} << 20;
  uint64_t pages = 128;  // read one after the other
  uint64_t batch_page_bytes = 76 * uint64_t{1024};
  uint64_t batch_pages = 256;  // read by `threads` at once
  uint64_t threads = 16;
  uint64_t runs = 5;  // of the batch
  uint64_t seed = 1;
  bool json = false;
  bool help = false;
};

// kInvalid names the option, the value and what would be right.
Result<RemoteOptions> ParseRemoteOptions(Arguments arguments);
std::string RemoteHelp();

}  // namespace kvpagefs
