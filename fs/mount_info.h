// /proc/self/mountinfo (proc(5)), as far as the mount point check needs it. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kvpagefs {

inline constexpr std::string_view kFuseType = "fuse.kvpagefs";

struct MountEntry {
  std::string mount_point;
  std::string type;    // "ext4", "fuse.kvpagefs"
  std::string source;  // "standalone", "/dev/vda1"
  std::string device;  // "major:minor"
};

// In the order of the text: of several mounts at one place the last one is on top. Lines that do not have the form
// are left out.
std::vector<MountEntry> ParseMountInfo(std::string_view text);

// The mount on top at exactly this path; null when there is none. `path` is absolute and without links.
const MountEntry* MountAt(const std::vector<MountEntry>& mounts, std::string_view path);

// The mount that holds `path` (its own mount, when it is one).
const MountEntry* MountHolding(const std::vector<MountEntry>& mounts, std::string_view path);

// True when `path` is `directory` or below it. Both absolute and without links.
bool IsWithin(std::string_view path, std::string_view directory);

}  // namespace kvpagefs
