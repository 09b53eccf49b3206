// What a plain socket program needs to move a file's bytes to another process: the yardstick for remote reads. A child
// process serves one file over TCP on loopback, one thread a connection.
//
// A request is a count of bytes; the answer is so many bytes of the file from its start, read by one pread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include <sys/types.h>

#include "base/result.h"
#include "tools/unique_fd.h"

namespace kvpagefs {

class SocketPeer {
 public:
  // Forks: the calling process has one thread. The file has `bytes` bytes or more.
  static Result<std::unique_ptr<SocketPeer>> Start(const std::string& path, uint64_t bytes);
  // Ends the child and waits for it.
  ~SocketPeer();

  Result<UniqueFd> Connect() const;
  // One request and its answer.
  static Status Fetch(int connection, std::span<std::byte> into);

 private:
  SocketPeer(pid_t child, uint16_t port) : child_(child), port_(port) {}

  const pid_t child_;
  const uint16_t port_;
};

}  // namespace kvpagefs
