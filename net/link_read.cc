#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "net/link.h"

namespace kvpagefs {
namespace {

constexpr size_t kReadPieces = 64;
constexpr int kReadsInARow = 8;  // then the other links of the thread have their turn
// While payloads are expected, so much of one is copied at most.
constexpr size_t kAheadOfPayload = 4096;

}  // namespace

void Link::WaitReadable() {
  socket_->async_wait(Socket::wait_read, [self = shared_from_this()](const std::error_code& error) {
    if (!error) self->ReadSome();
  });
}

void Link::ReadSome() {
  for (int i = 0; i < kReadsInARow; ++i) {
    bool payloads = false;
    {
      MutexLock lock(mutex_);
      if (closing_.has_value()) return;
      payloads = calls_.payload_calls() > 0;
    }
    iovec room[kReadPieces];
    msghdr message{};
    message.msg_iov = room;
    message.msg_iovlen = reader_.Room(room, payloads ? kAheadOfPayload : FrameReader::kBufferBytes);
    size_t wanted = 0;
    for (size_t piece = 0; piece < message.msg_iovlen; ++piece) wanted += room[piece].iov_len;
    const ssize_t got = recvmsg(socket_->native_handle(), &message, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Close(Error::FromSystem(errno, "connection to " + peer_));
    if (got == 0) {
      return Close(Error(ErrorCode::kUnavailable,
                         peer_ + (reader_.InFrame() ? " closed the connection in a frame" : " closed the connection")));
    }
    last_read_ms_ = MonotonicMs();
    const Status handled = reader_.Received(static_cast<size_t>(got));
    if (!handled.ok()) return Close(Error(handled.error().code(), peer_ + ": " + handled.error().text()));
    if (static_cast<size_t>(got) < wanted) break;
  }
  if (reader_.InFrame()) ArmTimer();
  WaitReadable();
}

Result<FrameReader::Place> Link::OnPayload(const FrameHeader& header) {
  MutexLock lock(mutex_);
  Result<CallTable::Expected> expected = calls_.BeginPayload(header.call, header.payload_bytes);
  if (!expected.ok()) return expected.error();
  return FrameReader::Place{expected->discard, std::move(expected->into)};
}

Status Link::OnFrame(const FrameHeader& header, std::string body) {
  Status handled =
      header.type == FrameType::kRequest ? OnRequest(header, std::move(body)) : OnAnswer(header, std::move(body));
  if (!handled.ok()) return handled;
  // What was called may have closed the link; frames that came with this one are then not for anybody.
  MutexLock lock(mutex_);
  if (closing_.has_value()) return *closing_;
  return {};
}

Status Link::OnRequest(const FrameHeader& header, std::string body) {
  if (header.call <= last_request_) return Error(ErrorCode::kInvalid, "the id of a call is not above those before");
  last_request_ = header.call;
  {
    MutexLock lock(mutex_);
    if (inbound_ == kMaxCallsPerLink) return Error(ErrorCode::kInvalid, "more calls under way than are allowed");
    ++inbound_;
  }
  const std::shared_ptr<Link> self = shared_from_this();
  handler_->OnRequest(self, header.code, std::move(body), RpcReply(self, header.call));
  return {};
}

Status Link::OnAnswer(const FrameHeader& header, std::string body) {
  std::optional<CallTable::Ended> ended;
  const bool error = header.type == FrameType::kError;
  {
    MutexLock lock(mutex_);
    if (!error && header.payload_bytes == 0) {
      const Result<CallTable::Expected> fits = calls_.BeginPayload(header.call, 0);
      if (!fits.ok()) return fits.error();
    }
    ended = calls_.Finish(header.call);
  }
  if (!ended.has_value()) return Error(ErrorCode::kInvalid, "an answer to a call that was not made");
  if (!ended->done) return {};
  if (error) {
    ended->done(Error(FromWireNumber(header.code), std::move(body)));
  } else {
    ended->done(RpcAnswer{std::move(body), header.payload_bytes});
  }
  return {};
}

}  // namespace kvpagefs
