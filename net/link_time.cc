#include <poll.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "net/link.h"

namespace kvpagefs {
namespace {

// This thread may have been busy elsewhere: what can go on now has not stalled.
bool IsReady(Socket& socket, int16_t events) {
  pollfd ready{socket.native_handle(), events, 0};
  return poll(&ready, 1, 0) > 0;
}

}  // namespace

int64_t Link::NextStall() const {
  int64_t next_ms = INT64_MAX;
  if (reader_.InFrame()) next_ms = last_read_ms_ + kStallMs;
  MutexLock lock(mutex_);
  if (blocked_) next_ms = std::min(next_ms, last_write_ms_ + kStallMs);
  return next_ms;
}

// One timer for the link. It may fire too early, because what it was set for has ended; then it is set again.
void Link::ArmTimer() {
  int64_t next_ms = NextStall();
  {
    MutexLock lock(mutex_);
    next_ms = std::min(next_ms, calls_.NextExpiry());
    if (next_ms >= armed_for_ms_ || closing_.has_value()) return;
    armed_for_ms_ = next_ms;
  }
  timer_->expires_at(std::chrono::steady_clock::time_point(std::chrono::milliseconds(next_ms)));
  timer_->async_wait([self = shared_from_this()](const std::error_code& cancelled) {
    if (!cancelled) self->Tick();
  });
}

void Link::Tick() {
  const int64_t now_ms = MonotonicMs();
  CallTable::Expired expired;
  {
    MutexLock lock(mutex_);
    if (closing_.has_value()) return;
    armed_for_ms_ = INT64_MAX;
    calls_.Expire(now_ms, &expired);
  }
  // The reader is on this thread and stops at a closing link: the memory is left alone before its owner is told (L2).
  if (expired.in_payload) Close(Error(ErrorCode::kUnavailable, "a payload of " + peer_ + " did not come in time"));
  for (CallTable::Ended& call : expired.calls) {
    call.done(Error(ErrorCode::kInterrupted));
    call = {};
  }
  CheckStalls(now_ms);
  ArmTimer();
}

void Link::CheckStalls(int64_t now_ms) {
  if (Closing()) return;
  if (reader_.InFrame() && now_ms - last_read_ms_ >= kStallMs) {
    if (IsReady(*socket_, POLLIN)) {
      last_read_ms_ = now_ms;
      return;
    }
    return Close(Error(ErrorCode::kUnavailable, peer_ + " stopped in the middle of a frame"));
  }
  bool blocked = false;
  {
    MutexLock lock(mutex_);
    blocked = blocked_;
  }
  if (blocked && now_ms - last_write_ms_ >= kStallMs) {
    if (IsReady(*socket_, POLLOUT)) {
      last_write_ms_ = now_ms;
      return;
    }
    Close(Error(ErrorCode::kUnavailable, peer_ + " does not read what it is sent"));
  }
}

}  // namespace kvpagefs
