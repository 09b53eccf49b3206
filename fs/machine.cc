#include "fs/machine.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <limits>

namespace kvpagefs {
namespace {

// "max" and a missing file mean no limit.
uint64_t LimitFrom(const char* path) {
  std::ifstream file(path);
  uint64_t bytes = 0;
  return file >> bytes ? bytes : std::numeric_limits<uint64_t>::max();
}

}  // namespace

uint64_t MachineMemoryBytes() {
  const auto physical_bytes =
      static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  // Inside a container its own group is the root of what it sees: version 2 first, then version 1.
  return std::min({physical_bytes, LimitFrom("/sys/fs/cgroup/memory.max"),
                   LimitFrom("/sys/fs/cgroup/memory/memory.limit_in_bytes")});
}

std::string HostName() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return "localhost";
  return name.data();
}

}  // namespace kvpagefs
