#include "tools/socket_peer.h"

#include <cerrno>
#include <csignal>
#include <thread>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "tools/aligned_buffer.h"
#include "tools/channel.h"
#include "tools/file_ops.h"

namespace kvpagefs {
namespace {

constexpr int kBacklog = 64;

sockaddr_in Loopback(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

void NoDelay(int fd) {
  const int one = 1;
  (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

void ServeConnection(UniqueFd connection, int file, uint64_t file_bytes) {
  NoDelay(connection.get());
  const AlignedBuffer buffer(file_bytes);
  for (;;) {
    uint64_t bytes = 0;
    if (!ReceiveValue(connection.get(), bytes).ok() || bytes > file_bytes) return;
    const auto span = buffer.Span(0, bytes);
    if (!ReadWhole(file, span, "file").ok() || !SendBytes(connection.get(), span).ok()) return;
  }
}

[[noreturn]] void ServeForever(const UniqueFd& listening, const UniqueFd& file, uint64_t file_bytes) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (;;) {
    UniqueFd connection(accept4(listening.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!connection.valid()) continue;
    std::thread([taken = std::move(connection), &file, file_bytes]() mutable {
      ServeConnection(std::move(taken), file.get(), file_bytes);
    }).detach();
  }
}

}  // namespace

Result<std::unique_ptr<SocketPeer>> SocketPeer::Start(const std::string& path, uint64_t bytes) {
  const Result<UniqueFd> file = OpenFile(path, O_RDONLY);
  if (!file.ok()) return file.error();
  const UniqueFd listening(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = Loopback(0);
  socklen_t size = sizeof(address);
  if (!listening.valid() || bind(listening.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      listen(listening.get(), kBacklog) != 0 ||
      getsockname(listening.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    return Error::FromSystem(errno, "a socket on loopback");
  }
  const pid_t child = fork();
  if (child < 0) return Error::FromSystem(errno, "fork");
  if (child == 0) ServeForever(listening, *file, bytes);
  return std::unique_ptr<SocketPeer>(new SocketPeer(child, ntohs(address.sin_port)));
}

SocketPeer::~SocketPeer() {
  kill(child_, SIGKILL);
  int status = 0;
  while (waitpid(child_, &status, 0) < 0 && errno == EINTR) {
  }
}

Result<UniqueFd> SocketPeer::Connect() const {
  UniqueFd connection(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address = Loopback(port_);
  if (!connection.valid() ||
      connect(connection.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return Error::FromSystem(errno, "connecting on loopback");
  }
  NoDelay(connection.get());
  return connection;
}

Status SocketPeer::Fetch(int connection, std::span<std::byte> into) {
  if (Status sent = SendValue(connection, uint64_t{into.size()}); !sent.ok()) return sent;
  return ReceiveBytes(connection, into);
}

}  // namespace kvpagefs
