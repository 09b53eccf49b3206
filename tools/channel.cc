#include "tools/channel.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

namespace kvpagefs {

Status SendBytes(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return Error(ErrorCode::kUnavailable, "the other process is gone");
    bytes = bytes.subspan(static_cast<size_t>(sent));
  }
  return {};
}

Status ReceiveBytes(int fd, std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t got = ::read(fd, bytes.data(), bytes.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return Error(ErrorCode::kUnavailable, "the other process is gone");
    bytes = bytes.subspan(static_cast<size_t>(got));
  }
  return {};
}

}  // namespace kvpagefs
