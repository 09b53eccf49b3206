#include "net/link.h"

#include <netinet/tcp.h>

#include <cassert>
#include <chrono>
#include <utility>

namespace kvpagefs {
namespace {

void SetOptions(Socket& socket) {
  std::error_code ignored;
  socket.non_blocking(true, ignored);
  socket.set_option(asio::ip::tcp::no_delay(true), ignored);
  socket.set_option(asio::socket_base::keep_alive(true), ignored);
  // An end that is switched off is noticed after about 20 seconds of silence.
  const std::pair<int, int> times[] = {{TCP_KEEPIDLE, 10}, {TCP_KEEPINTVL, 3}, {TCP_KEEPCNT, 3}};
  for (const auto& [option, value] : times) {
    setsockopt(socket.native_handle(), IPPROTO_TCP, option, &value, sizeof(value));
  }
}

std::string PeerOf(const Socket& socket) {
  std::error_code error;
  const asio::ip::tcp::endpoint end = socket.remote_endpoint(error);
  return error ? "unknown" : Address{end.address().to_string(), end.port()}.ToString();
}

}  // namespace

int64_t MonotonicMs() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

std::shared_ptr<Link> Link::Make(Parts parts) {
  auto link = std::make_shared<Link>(std::move(parts));
  link->activity_ = link->activities_->Begin([weak = std::weak_ptr<Link>(link)] {
    const std::shared_ptr<Link> stopped = weak.lock();
    if (stopped != nullptr) stopped->Close(Error(ErrorCode::kUnavailable, "this end of the link goes away"));
  });
  return link->activity_ == 0 ? nullptr : link;
}

Link::Link(Parts parts)
    : loop_(std::move(parts.loop)),
      handler_(parts.handler),
      activities_(std::move(parts.activities)),
      peer_(PeerOf(parts.socket)),
      on_down_(std::move(parts.on_down)),
      socket_(std::move(parts.socket)),
      timer_(std::in_place, loop_->io()),
      reader_(this) {
  SetOptions(*socket_);
}

void Link::Start() {
  assert(loop_->InThread());
  handler_->OnUp(shared_from_this());
  WaitReadable();
}

void Link::Call(RpcRequest request, Done done) {
  Error refused = ErrorCode::kTooLarge;
  if (request.body.size() <= kMaxBodyBytes) {
    FrameHeader header;
    header.type = FrameType::kRequest;
    header.code = request.method;
    MutexLock lock(mutex_);
    if (closing_.has_value()) {
      refused = Error(ErrorCode::kUnavailable, closing_->text());
    } else if (queue_.bytes() + request.body.size() > kMaxQueuedBytes) {
      refused = Error(ErrorCode::kUnavailable, "too many bytes wait to be sent to " + peer_);
    } else {
      header.call = calls_.Add(request, done, MonotonicMs());
      if (header.call != 0) {
        queue_.Push(header, std::move(request.body), {});
        Wake();
        return;
      }
      refused = Error(ErrorCode::kUnavailable, "too many calls are under way to " + peer_);
    }
  }
  EndLater(std::move(done), refused);
}

void Link::EndLater(Done done, const Error& why) {
  activities_->Enter();
  loop_->PostIfAlive([done = std::move(done), why, activities = activities_]() mutable {
    done(why);
    done = nullptr;
    activities->Leave();
  });
}

void Link::Send(uint64_t call, Result<std::string> body, Payload payload) {
  FrameHeader header;
  header.call = call;
  uint64_t payload_bytes = 0;
  for (const iovec& piece : payload.pieces) payload_bytes += piece.iov_len;
  if (body.ok() && (body->size() > kMaxBodyBytes || payload_bytes > kMaxPayloadBytes)) {
    body = Error(ErrorCode::kTooLarge, "the answer is larger than a frame may be");
  }
  header.type = body.ok() ? FrameType::kAnswer : FrameType::kError;
  header.code = body.ok() ? 0 : ToWireNumber(body.code());
  std::string text = body.ok() ? std::move(*body) : body.error().text().substr(0, kMaxErrorTextBytes);
  bool flooded = false;
  {
    MutexLock lock(mutex_);
    if (closing_.has_value()) return;
    --inbound_;
    flooded = queue_.bytes() + text.size() > kMaxQueuedAnswerBytes;
    if (!flooded) {
      queue_.Push(header, std::move(text), header.type == FrameType::kAnswer ? std::move(payload) : Payload{});
      Wake();
    }
  }
  if (flooded) Close(Error(ErrorCode::kUnavailable, "too many answers wait to be read by " + peer_));
}

void Link::Close(const Error& why) {
  MutexLock lock(mutex_);
  if (closing_.has_value()) return;
  closing_ = why;
  // Until Down has run the link is one of its owner's activities, so the loop is there.
  asio::post(loop_->io(), [self = shared_from_this()] { self->Down(); });
}

bool Link::Closing() const {
  MutexLock lock(mutex_);
  return closing_.has_value();
}

void Link::Down() {
  std::vector<CallTable::Ended> calls;
  std::vector<SendSegment> unsent;
  Error why = ErrorCode::kUnavailable;
  {
    MutexLock lock(mutex_);
    why = *closing_;
    calls = calls_.TakeAll();
    unsent = queue_.Take({});
  }
  std::error_code ignored;
  socket_->close(ignored);
  timer_->cancel();
  unsent.clear();
  cursor_.Clear();
  for (CallTable::Ended& call : calls) {
    call.done(Error(ErrorCode::kUnavailable, why.text()));
    call = {};
  }
  if (on_down_) std::exchange(on_down_, nullptr)(why);
  handler_->OnDown(shared_from_this(), why);
  // Behind the completions of what the socket and the timer were waiting for: then nothing of the link is queued.
  asio::post(loop_->io(), [self = shared_from_this()]() mutable {
    const std::shared_ptr<Activities> activities = self->activities_;
    const uint64_t activity = self->activity_;
    self->socket_.reset();
    self->timer_.reset();
    self.reset();
    activities->End(activity);
  });
}

}  // namespace kvpagefs
