// What must be true before a mount: the device, the directory, and nothing in the way.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>

#include "base/log.h"
#include "base/result.h"
#include "fs/options.h"

namespace kvpagefs {

// What the checks look at. Tests give their own files.
struct MountSystem {
  std::string mount_info_path = "/proc/self/mountinfo";
  std::string fuse_device_path = "/dev/fuse";
  std::string fuse_conf_path = "/etc/fuse.conf";
  uid_t user = 0;  // effective; 0 may do without fusermount3
  // Detaches the mount on top at the path.
  std::function<Status(const std::string& path)> detach;
  // 0, or the errno of entering the directory: ENOTCONN for a mount without its daemon.
  std::function<int(const std::string& path)> probe;
};

// The real one.
MountSystem SystemMounts();

// Refuses a state directory, memory path or log file on the mount itself, where the daemon would wait for itself, and a
// log file without its directory. Goes before the log is opened. kInvalid or kNotFound: one line as below.
Status CheckOwnPaths(const Options& options);

// Checks options.mount_point; detaches a dead mount of kvpagefs there and logs
// that. Returns the mount point without symbolic links. "/dev/fd/N" (a session on an open descriptor) passes as it is.
// kNotFound, kNotDirectory, kNotEmpty, kExists (busy), kNotPermitted, kInvalid, kUnavailable: one line that names the
// path and the remedy. May wait for the daemon of a live FUSE mount at the path.
Result<std::string> PrepareMountPoint(const Options& options, const MountSystem& system, const Log& log);

}  // namespace kvpagefs
