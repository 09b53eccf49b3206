#include "tools/host_info.h"

#include <linux/magic.h>
#include <sched.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <fmt/format.h>

namespace kvpagefs {
namespace {

struct Row {
  uint64_t magic;
  const char* name;
};
constexpr uint64_t kXfsMagic = 0x58465342;
constexpr Row kFilesystems[] = {
    {TMPFS_MAGIC, "tmpfs"}, {EXT4_SUPER_MAGIC, "ext4"}, {FUSE_SUPER_MAGIC, "fuse"},        {BTRFS_SUPER_MAGIC, "btrfs"},
    {kXfsMagic, "xfs"},     {NFS_SUPER_MAGIC, "nfs"},   {OVERLAYFS_SUPER_MAGIC, "overlay"}};

}  // namespace

HostInfo ReadHostInfo() {
  HostInfo info;
  utsname name{};
  if (::uname(&name) == 0) info.kernel = fmt::format("{} {} {}", name.sysname, name.release, name.machine);
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  if (::sched_getaffinity(0, sizeof cpus, &cpus) == 0) info.cpus = static_cast<uint32_t>(CPU_COUNT(&cpus));
  info.memory_bytes = static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  return info;
}

std::string FilesystemName(const std::string& path) {
  struct statfs status{};
  if (::statfs(path.c_str(), &status) != 0) return "unknown";
  const auto magic = static_cast<uint64_t>(static_cast<uint32_t>(status.f_type));
  for (const Row& row : kFilesystems) {
    if (row.magic == magic) return row.name;
  }
  return fmt::format("{:#x}", magic);
}

}  // namespace kvpagefs
