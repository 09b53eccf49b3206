#include "fake_kernel.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cassert>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

namespace kvpagefs {
namespace {

constexpr int kSocketBufferBytes = 4 << 20;
constexpr size_t kMaxMessageBytes = size_t{2} << 20;

// Root may go beyond net.core.wmem_max; others get what they get.
void EnlargeBuffers(int fd) {
  for (const auto& [forced, plain] : {std::pair(SO_SNDBUFFORCE, SO_SNDBUF), std::pair(SO_RCVBUFFORCE, SO_RCVBUF)}) {
    if (setsockopt(fd, SOL_SOCKET, forced, &kSocketBufferBytes, sizeof(kSocketBufferBytes)) == 0) continue;
    (void)setsockopt(fd, SOL_SOCKET, plain, &kSocketBufferBytes, sizeof(kSocketBufferBytes));
  }
}

}  // namespace

FakeKernel::FakeKernel() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    std::perror("socketpair");
    std::abort();
  }
  kernel_end_ = ends[0];
  daemon_end_ = ends[1];
  EnlargeBuffers(kernel_end_);
  EnlargeBuffers(daemon_end_);
  receiver_ = std::thread([this] { Receive(); });
}

int FakeKernel::TakeDaemonEnd() { return std::exchange(daemon_end_, -1); }

void FakeKernel::SendRaw(const std::string& bytes) {
  ssize_t sent = -1;
  do {
    sent = send(kernel_end_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  // A session that has ended takes nothing any more: the reply does not come, which the test sees.
  assert(sent == static_cast<ssize_t>(bytes.size()) || errno == EPIPE || errno == ENOTCONN || errno == ECONNRESET);
}

uint64_t FakeKernel::Send(const Request& request) {
  fuse_in_header header{};
  header.len = static_cast<uint32_t>(sizeof(header) + request.payload.bytes().size());
  header.opcode = request.opcode;
  header.nodeid = request.node_id;
  header.pid = request.tid;
  {
    MutexLock lock(mutex_);
    header.unique = next_unique_;
    next_unique_ += 2;
    exchanges_[header.unique];
  }
  SendRaw(std::string(reinterpret_cast<const char*>(&header), sizeof(header)) + request.payload.bytes());
  return header.unique;
}

std::optional<Reply> FakeKernel::WaitFor(uint64_t unique, std::chrono::nanoseconds time) {
  const auto deadline = std::chrono::steady_clock::now() + time;
  MutexLock lock(mutex_);
  while (!exchanges_[unique].answered) {
    const auto left = deadline - std::chrono::steady_clock::now();
    if (left <= std::chrono::nanoseconds(0)) return std::nullopt;
    changed_.WaitFor(mutex_, left);
  }
  return exchanges_[unique].reply;
}

Reply FakeKernel::Call(const Request& request) { return WaitFor(Send(request)).value_or(Reply{-1, {}}); }

bool FakeKernel::Answered(uint64_t unique) const {
  MutexLock lock(mutex_);
  const auto found = exchanges_.find(unique);
  return found != exchanges_.end() && found->second.answered;
}

size_t FakeKernel::surplus_replies() const {
  MutexLock lock(mutex_);
  return surplus_;
}

Reply FakeKernel::Init(const Handshake& handshake) {
  fuse_init_in in{};
  in.major = handshake.major;
  in.minor = handshake.minor;
  in.max_readahead = kMaxTransferBytes;
  in.flags = static_cast<uint32_t>(handshake.flags);
  in.flags2 = static_cast<uint32_t>(handshake.flags >> 32);
  Request request{FUSE_INIT, 0, 0, {}};
  request.payload.Add(in);
  return Call(request);
}

void FakeKernel::Interrupt(uint64_t unique) {
  fuse_in_header header{};
  header.len = sizeof(header) + sizeof(fuse_interrupt_in);
  header.opcode = FUSE_INTERRUPT;
  header.unique = unique | 1;
  std::string message(reinterpret_cast<const char*>(&header), sizeof(header));
  const fuse_interrupt_in in{unique};
  SendRaw(message.append(reinterpret_cast<const char*>(&in), sizeof(in)));
}

void FakeKernel::Forget(uint64_t node_id, uint64_t lookups) {
  Request request{FUSE_FORGET, node_id, 0, {}};
  request.payload.Add(fuse_forget_in{lookups});
  Send(request);
}

void FakeKernel::ForgetMany(const std::vector<fuse_forget_one>& forgets) {
  Request request{FUSE_BATCH_FORGET, 0, 0, {}};
  request.payload.Add(fuse_batch_forget_in{static_cast<uint32_t>(forgets.size()), 0});
  for (const fuse_forget_one& one : forgets) request.payload.Add(one);
  Send(request);
}

void FakeKernel::Disconnect() {
  if (kernel_end_ < 0) return;
  shutdown(kernel_end_, SHUT_RDWR);
  receiver_.join();
  close(kernel_end_);
  if (daemon_end_ >= 0) close(daemon_end_);
  kernel_end_ = daemon_end_ = -1;
}

void FakeKernel::Receive() {
  std::string buffer(kMaxMessageBytes, '\0');
  for (;;) {
    const ssize_t got = recv(kernel_end_, buffer.data(), buffer.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return;
    Store(buffer.substr(0, static_cast<size_t>(got)));
  }
}

void FakeKernel::Store(const std::string& message) {
  fuse_out_header header{};
  if (message.size() < sizeof(header)) return;
  std::memcpy(&header, message.data(), sizeof(header));
  std::string bytes = message.substr(sizeof(header));
  MutexLock lock(mutex_);
  if ((header.unique & 1) != 0) {
    // The answer to an INTERRUPT: libfuse asks for it again when it does not know the request.
  } else {
    const auto found = exchanges_.find(header.unique);
    if (found == exchanges_.end() || found->second.answered) {
      ++surplus_;
    } else {
      found->second = {true, {-header.error, std::move(bytes)}};
    }
  }
  changed_.NotifyAll();
}

}  // namespace kvpagefs
