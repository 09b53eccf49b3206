// A kvpagefs daemon of one test: started on a fresh mount point, always stopped and cleaned up.
#pragma once

#include <csignal>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "tests/mount/harness/sys.h"
#include "tests/mount/harness/test_options.h"

namespace kvpagefs::mount_test {

class NodeProcess {
 public:
  struct Options {
    std::string memory = "64MiB";
    std::string source;                  // address of the metadata daemon; empty: standalone
    std::vector<std::string> arguments;  // after `-f MOUNTPOINT --memory MEMORY`
    std::string mount_point;             // empty: a fresh directory
    uint64_t max_open_files = 0;         // RLIMIT_NOFILE of the daemon; 0: as the test's
  };

  NodeProcess(const TestOptions& test_options, Options options);
  ~NodeProcess();
  NodeProcess(const NodeProcess&) = delete;
  NodeProcess& operator=(const NodeProcess&) = delete;

  // Empty when the mount answers; else what went wrong, with the daemon's standard error. In plain mode it only makes
  // the directory.
  std::string Start();
  // SIGTERM (or SIGINT); empty when it ended with status 0 in time and the mount is gone.
  std::string Stop(int signal = SIGTERM);
  // SIGKILL; leaves the dead mount behind.
  void Kill();
  // umount2(MNT_DETACH) of what is at the mount point.
  void Detach();

  const std::string& dir() const { return mount_point_; }
  std::string Path(const std::string& name) const { return mount_point_ + "/" + name; }
  pid_t pid() const { return pid_; }
  bool Running();
  // What the daemon wrote to standard error so far.
  std::string Stderr() const;

  // `key value` lines of /.kvpagefs/status.
  std::map<std::string, std::string> Status() const;
  // A number from it; nothing when the key is missing.
  std::optional<uint64_t> StatusNumber(const std::string& key) const;
  uint64_t ResidentBytes() const;  // VmRSS of the daemon

 private:
  void Spawn();
  bool WaitForExit(double seconds, int* status);

  TestOptions test_options_;
  Options options_;
  ScratchDir scratch_;
  std::string mount_point_;
  pid_t pid_ = -1;
};

// Why there can be no mount here; empty when there can.
std::string WhyNoMount(const TestOptions& options);

// True when `dir` is the root of a mount.
bool IsMountPoint(const std::string& dir);

}  // namespace kvpagefs::mount_test
