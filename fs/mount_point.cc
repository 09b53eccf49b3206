#include "fs/mount_point.h"

#include <dirent.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "fs/mount_info.h"

namespace kvpagefs {
namespace {

// Dead mounts can lie on top of each other, one for each crash.
constexpr int kMaxDeadMounts = 64;

Error Refuse(ErrorCode code, std::string text) { return Error(code, std::move(text)); }

Error RefuseErrno(int errno_value, std::string_view path) {
  return Error::FromSystem(errno_value, fmt::format("mount point '{}' cannot be used, choose another directory", path));
}

int ProbeDirectory(const std::string& path) {
  DIR* directory = opendir(path.c_str());
  if (directory == nullptr) return errno;
  closedir(directory);
  return 0;
}

Status Detach(const std::string& path) {
  if (geteuid() == 0) {
    if (umount2(path.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW) == 0) return {};
    return Error::FromSystem(errno, path);
  }
  std::array<const char*, 6> words = {"fusermount3", "-u", "-z", "--", path.c_str(), nullptr};
  pid_t child = 0;
  const int error = posix_spawnp(&child, words[0], nullptr, nullptr, const_cast<char**>(words.data()), environ);
  if (error != 0) return Error::FromSystem(error, "fusermount3");
  int state = 0;
  while (waitpid(child, &state, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(state) && WEXITSTATUS(state) == 0) return {};
  return Error(ErrorCode::kNotPermitted, "fusermount3 refused");
}

Result<std::vector<MountEntry>> ReadMounts(const MountSystem& system) {
  std::ifstream file(system.mount_info_path);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (text.empty()) {
    return Refuse(ErrorCode::kUnavailable,
                  fmt::format("'{}' cannot be read: mount /proc first", system.mount_info_path));
  }
  return ParseMountInfo(text);
}

Status CheckDevice(const MountSystem& system) {
  const std::string& path = system.fuse_device_path;
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd >= 0) {
    close(fd);
    return {};
  }
  if (errno == ENOENT || errno == ENODEV || errno == ENXIO) {
    return Refuse(ErrorCode::kUnavailable,
                  fmt::format("no FUSE device '{}': run 'modprobe fuse', or give the container the device", path));
  }
  if (errno == EACCES || errno == EPERM) {
    return Refuse(ErrorCode::kNotPermitted,
                  fmt::format("no permission to open '{}': run as root, or 'chmod 0666 {}'", path, path));
  }
  return Error::FromSystem(errno, fmt::format("FUSE device '{}' cannot be opened", path));
}

Status CheckAllowOther(const Options& options, const MountSystem& system) {
  if (!options.allow_other || system.user == 0) return {};
  std::ifstream file(system.fuse_conf_path);
  for (std::string line; std::getline(file, line);) {
    line.erase(line.find_last_not_of(" \t\r") + 1);
    if (line == "user_allow_other") return {};
  }
  return Refuse(
      ErrorCode::kNotPermitted,
      fmt::format("allow-other needs root, or the line 'user_allow_other' in {}: add it, or leave allow-other out",
                  system.fuse_conf_path));
}

// Without links. A dead mount cannot be entered, so there only its parent is resolved.
Result<std::string> Resolve(const std::string& path) {
  std::error_code error;
  const std::filesystem::path resolved = std::filesystem::canonical(path, error);
  if (!error) return resolved.string();
  if (error.value() == ENOTCONN) {
    const std::filesystem::path given(path);
    const std::filesystem::path parent = std::filesystem::canonical(given.parent_path(), error);
    if (!error) return (parent / given.filename()).string();
  }
  switch (error.value()) {
    case ENOENT:
      return Refuse(ErrorCode::kNotFound,
                    fmt::format("mount point '{0}' does not exist: create it with 'mkdir -p {0}'", path));
    case ENOTDIR:
      return Refuse(ErrorCode::kNotDirectory,
                    fmt::format("mount point '{}' is below a file: choose a directory", path));
    case EACCES:
      return Refuse(ErrorCode::kNotPermitted,
                    fmt::format("no permission to reach mount point '{}': choose a directory that you own", path));
    default: return RefuseErrno(error.value(), path);
  }
}

Error RefuseBusy(const MountEntry& mount) {
  const std::string& path = mount.mount_point;
  if (mount.type == kFuseType) {
    return Refuse(
        ErrorCode::kExists,
        fmt::format("mount point '{0}' is busy: a kvpagefs is mounted there; unmount it with 'fusermount3 -u {0}'",
                    path));
  }
  return Refuse(
      ErrorCode::kExists,
      fmt::format("mount point '{}' is busy: a file system ({} of '{}') is mounted there; choose another directory",
                  path, mount.type, mount.source));
}

Status DetachDead(const MountEntry& mount, const MountSystem& system, const Log& log) {
  const std::string& path = mount.mount_point;
  if (mount.type != kFuseType) {
    return Refuse(
        ErrorCode::kExists,
        fmt::format("mount point '{0}' holds a dead mount of another program ({1}): detach it with 'umount -l {0}'",
                    path, mount.type));
  }
  if (Status detached = system.detach(path); !detached.ok()) {
    return Refuse(ErrorCode::kNotPermitted,
                  fmt::format("dead kvpagefs mount at '{0}' cannot be detached ({1}): run 'umount -l {0}' as root",
                              path, detached.error().Describe()));
  }
  log.Warning("detached a dead kvpagefs mount at {}", path);
  return {};
}

// Leaves the path without a mount on it (autofs waits for one there, and is left).
Status ClearMounts(const std::string& path, const MountSystem& system, const Log& log) {
  for (int i = 0; i < kMaxDeadMounts; ++i) {
    const auto mounts = ReadMounts(system);
    if (!mounts.ok()) return mounts.error();
    const MountEntry* on_top = MountAt(*mounts, path);
    if (on_top == nullptr || on_top->type == "autofs") {
      const MountEntry* holding = MountHolding(*mounts, path);
      if (holding == nullptr || holding->type != kFuseType) return {};
      return Refuse(ErrorCode::kInvalid,
                    fmt::format("mount point '{}' is inside the kvpagefs at '{}': choose a directory outside", path,
                                holding->mount_point));
    }
    // Entering asks the daemon; a stat may be answered from a cache that outlives it.
    const bool is_fuse = on_top->type.starts_with("fuse");
    if (!is_fuse || system.probe(path) != ENOTCONN) return RefuseBusy(*on_top);
    if (Status detached = DetachDead(*on_top, system, log); !detached.ok()) return detached;
  }
  return Refuse(ErrorCode::kExists, fmt::format("more than {0} dead mounts at '{1}': detach them with 'umount -l {1}'",
                                                kMaxDeadMounts, path));
}

Status CheckDirectory(const std::string& path, const MountSystem& system) {
  struct stat attributes = {};
  if (stat(path.c_str(), &attributes) != 0) return RefuseErrno(errno, path);
  if (!S_ISDIR(attributes.st_mode)) {
    return Refuse(ErrorCode::kNotDirectory,
                  fmt::format("mount point '{}' is not a directory: choose a directory", path));
  }
  const auto mounts = ReadMounts(system);
  if (!mounts.ok()) return mounts.error();
  // Entering a directory under autofs would wait for the very mount that is being made.
  if (MountAt(*mounts, path) != nullptr) return {};
  if (system.user != 0 && faccessat(AT_FDCWD, path.c_str(), R_OK | W_OK | X_OK, AT_EACCESS) != 0) {
    return Refuse(
        ErrorCode::kNotPermitted,
        fmt::format("no permission on mount point '{}': choose a directory that you own, or run as root", path));
  }
  std::error_code error;
  const bool is_empty = std::filesystem::is_empty(path, error);
  if (error) return RefuseErrno(error.value(), path);
  if (!is_empty) {
    return Refuse(ErrorCode::kNotEmpty, fmt::format("mount point '{}' is not empty: choose an empty directory", path));
  }
  return {};
}

}  // namespace

MountSystem SystemMounts() {
  MountSystem system;
  system.user = geteuid();
  system.detach = Detach;
  system.probe = ProbeDirectory;
  return system;
}

Status CheckOwnPaths(const Options& options) {
  const Result<std::string> resolved_mount = Resolve(options.mount_point);
  const std::string& mount_point = resolved_mount.ok() ? *resolved_mount : options.mount_point;
  std::vector<std::pair<std::string_view, const std::string*>> paths = {
      {"state-dir", &options.state_dir}, {"memory-path", &options.memory_path}, {"log-file", &options.log_file}};
  for (const std::string& dir : options.ssd_dirs) paths.emplace_back("ssd-dir", &dir);
  for (const auto& [name, path] : paths) {
    if (path->empty()) continue;
    std::error_code error;
    std::filesystem::path resolved = std::filesystem::weakly_canonical(*path, error);
    if (error) resolved = std::filesystem::path(*path).lexically_normal();
    if (IsWithin(resolved.string(), mount_point)) {
      return Refuse(ErrorCode::kInvalid, fmt::format("{} '{}' is below the mount point '{}': choose a path outside",
                                                     name, *path, options.mount_point));
    }
  }
  const std::string directory = std::filesystem::path(options.log_file).parent_path().string();
  if (!directory.empty() && access(directory.c_str(), X_OK) != 0) {
    return Error::FromSystem(errno, fmt::format("log-file '{}' needs its directory, create it with 'mkdir -p {}'",
                                                options.log_file, directory));
  }
  return {};
}

Result<std::string> PrepareMountPoint(const Options& options, const MountSystem& system, const Log& log) {
  if (options.mount_point.starts_with("/dev/fd/")) return options.mount_point;
  if (Status device = CheckDevice(system); !device.ok()) return device.error();
  if (Status allowed = CheckAllowOther(options, system); !allowed.ok()) return allowed.error();
  Result<std::string> path = Resolve(options.mount_point);
  if (!path.ok()) return path;
  if (Status cleared = ClearMounts(*path, system, log); !cleared.ok()) return cleared.error();
  if (Status usable = CheckDirectory(*path, system); !usable.ok()) return usable.error();
  return path;
}

}  // namespace kvpagefs
