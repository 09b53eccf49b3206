// The command line of `kvpagebench micro`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "tools/option_reader.h"

namespace kvpagefs {

struct MicroOptions {
  std::string directory;
  std::string against = "/dev/shm";
  uint64_t runs = 15;
  uint64_t seed = 1;
  uint64_t files = 8;                 // of each size
  std::vector<uint64_t> sizes_bytes;  // of the single-file cases
  std::vector<std::string> only;      // names of cases, or their beginnings up to a '-'; empty: all
  uint64_t list_entries = 20'000;
  uint64_t list_bytes = 0;  // of each listed file
  uint64_t batch_files = 256;
  uint64_t batch_bytes = uint64_t{76} * 1024;
  bool json = false;
  bool check = false;
  bool help = false;
};

// Sizes that are measured when --sizes does not say otherwise: 64 KiB, 1 MiB, 8 MiB.
std::vector<uint64_t> DefaultMicroSizes();

std::string MicroHelp();

// Errors are kInvalid, or what the directories answered. The names of cases are not checked here.
Result<MicroOptions> ParseMicroOptions(Arguments arguments);

}  // namespace kvpagefs
