// What a figure depends on besides the program: the machine and the file systems.
#pragma once

#include <cstdint>
#include <string>

namespace kvpagefs {

struct HostInfo {
  std::string kernel;  // "Linux 6.1.0-18-amd64 x86_64"
  uint32_t cpus = 0;   // that this process may run on
  uint64_t memory_bytes = 0;
};
HostInfo ReadHostInfo();

// "tmpfs", "ext4", "fuse", …, or the magic number in hexadecimal; "unknown" when statfs(2) fails.
std::string FilesystemName(const std::string& path);

}  // namespace kvpagefs
