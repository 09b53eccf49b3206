// One FUSE session: the mount and its worker threads.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/log.h"
#include "base/result.h"
#include "fs/options.h"

namespace kvpagefs {

class Node;

class Session {
 public:
  // Mounts at options.mount_point and starts the workers. "/dev/fd/N" as the mount point: speaks the FUSE protocol on
  // the open descriptor N instead (tests). kNotPermitted, kUnavailable: the text names the mount point or /dev/fuse and
  // the remedy. `node` outlives the session.
  static Result<std::unique_ptr<Session>> Start(const Options& options, Node* node, Log log);
  // Unmounts if still mounted and joins everything.
  ~Session();

  // True when the kernel has answered the handshake (FUSE INIT); false after `timeout_ms`.
  bool WaitUntilReady(int64_t timeout_ms);
  // Returns when the session has ended: unmounted by somebody, or Stop. `timeout_ms` < 0: no time-out. False on
  // time-out.
  bool WaitUntilEnded(int64_t timeout_ms);
  // Asks the session to end; unmounts (lazily when busy). Any thread; not from a signal handler.
  void Stop();
  // Like "page cache", "direct I/O with mmap": what status shows.
  std::string DescribeReadPath() const;

 private:
  struct State;
  explicit Session(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace kvpagefs
