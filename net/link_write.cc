#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "net/link.h"

namespace kvpagefs {
namespace {

constexpr size_t kWritePieces = 256;
constexpr size_t kBytesInARow = size_t{4} << 20;  // then the other links of the thread have their turn

}  // namespace

// Callers that come while the pump is on its way ride along.
void Link::Wake() {
  if (pump_posted_ || (blocked_ && calls_.NextExpiry() >= armed_for_ms_)) return;
  pump_posted_ = true;
  asio::post(loop_->io(), [self = shared_from_this()] { self->Pump(); });
}

void Link::Pump() {
  bool blocked = false;
  {
    MutexLock lock(mutex_);
    pump_posted_ = false;
    if (closing_.has_value()) return;
    blocked = blocked_;
  }
  if (!blocked) WriteSome();
  ArmTimer();
}

void Link::WriteSome() {
  for (size_t written = 0; written < kBytesInARow;) {
    if (cursor_.done() && !Refill()) return;
    iovec pieces[kWritePieces];
    msghdr message{};
    message.msg_iov = pieces;
    message.msg_iovlen = cursor_.Fill(pieces);
    const ssize_t sent = sendmsg(socket_->native_handle(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return WaitWritable();
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return Close(Error::FromSystem(errno, "connection to " + peer_));
    cursor_.Advance(static_cast<size_t>(sent));
    written += static_cast<size_t>(sent);
  }
  MutexLock lock(mutex_);
  Wake();
}

bool Link::Refill() {
  std::string spare = cursor_.TakeSpare();
  MutexLock lock(mutex_);
  if (closing_.has_value()) return false;
  if (queue_.empty()) {
    queue_.Sent(std::move(spare));
    return false;
  }
  cursor_.Start(queue_.Take(std::move(spare)));
  return true;
}

void Link::WaitWritable() {
  {
    MutexLock lock(mutex_);
    blocked_ = true;
  }
  last_write_ms_ = MonotonicMs();
  ArmTimer();
  socket_->async_wait(Socket::wait_write, [self = shared_from_this()](const std::error_code& error) {
    {
      MutexLock lock(self->mutex_);
      self->blocked_ = false;
      if (error || self->closing_.has_value()) return;
    }
    self->WriteSome();
  });
}

}  // namespace kvpagefs
