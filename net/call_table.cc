#include "net/call_table.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace kvpagefs {
namespace {

// An id is a counter above the number of a slot.
constexpr int kSlotBits = 16;
static_assert(kMaxCallsPerLink == size_t{1} << kSlotBits);
constexpr uint64_t kSlotMask = kMaxCallsPerLink - 1;

}  // namespace

CallTable::CallTable() { buckets_.fill(-1); }

uint64_t CallTable::Add(RpcRequest& request, RpcLink::Done& done, int64_t now_ms) {
  if (free_ < 0) {
    if (slots_.size() == kMaxCallsPerLink) return 0;
    free_ = static_cast<int32_t>(slots_.size());
    slots_.emplace_back();
  }
  const int32_t index = free_;
  Slot& slot = slots_[index];
  assert(slot.state == State::kFree);
  free_ = slot.next;
  slot.id = (++counter_ << kSlotBits) | static_cast<uint64_t>(index);
  slot.state = State::kWaiting;
  slot.received = false;
  slot.payload_bytes = 0;
  for (const iovec& piece : request.into) slot.payload_bytes += piece.iov_len;
  if (slot.payload_bytes > 0) ++payload_calls_;
  slot.done = std::exchange(done, nullptr);
  slot.keep = std::move(request.keep);
  slot.into = std::move(request.into);
  // The wheel stands still while there is nothing on it.
  if (timed_ == 0) last_tick_ = std::max(last_tick_, now_ms / kTickMs);
  // The tick behind the deadline, and one that is still to come.
  const int64_t deadline_ms = now_ms + std::clamp<int64_t>(request.timeout_ms, 0, kMaxTimeoutMs);
  slot.tick = std::max(deadline_ms / kTickMs, last_tick_) + 1;
  Link(index);
  return slot.id;
}

Result<CallTable::Expected> CallTable::BeginPayload(uint64_t id, uint64_t payload_bytes) {
  Slot* slot = Find(id);
  if (slot == nullptr || slot->received) return Error(ErrorCode::kInvalid, "an answer to a call that was not made");
  if (slot->payload_bytes != payload_bytes) {
    return Error(ErrorCode::kInvalid, "a payload of " + std::to_string(payload_bytes) + " bytes, " +
                                          std::to_string(slot->payload_bytes) + " are expected");
  }
  slot->received = true;
  Expected expected;
  expected.discard = slot->state == State::kExpired;
  if (!expected.discard) {
    slot->state = State::kReceiving;
    expected.into = std::move(slot->into);
  }
  return expected;
}

std::optional<CallTable::Ended> CallTable::Finish(uint64_t id) {
  Slot* slot = Find(id);
  if (slot == nullptr) return std::nullopt;
  const auto index = static_cast<int32_t>(id & kSlotMask);
  if (slot->state != State::kExpired) Unlink(index);
  Ended ended = Take(*slot);
  Free(index);
  return ended;
}

void CallTable::Expire(int64_t now_ms, Expired* expired) {
  const int64_t now_tick = now_ms / kTickMs;
  if (now_tick <= last_tick_) return;
  const int64_t first = std::max(last_tick_ + 1, now_tick - static_cast<int64_t>(kBuckets) + 1);
  if (timed_ > 0) {
    for (int64_t tick = first; tick <= now_tick; ++tick) ExpireBucket(tick % kBuckets, now_tick, expired);
  }
  last_tick_ = now_tick;
}

void CallTable::ExpireBucket(size_t bucket, int64_t tick, Expired* expired) {
  for (int32_t index = buckets_[bucket]; index >= 0;) {
    Slot& slot = slots_[index];
    const int32_t next = slot.next;
    if (slot.tick <= tick) {
      expired->in_payload |= slot.state == State::kReceiving;
      Unlink(index);
      expired->calls.push_back(Take(slot));
      slot.state = State::kExpired;
    }
    index = next;
  }
}

int64_t CallTable::NextExpiry() const {
  if (timed_ == 0) return INT64_MAX;
  for (int64_t tick = last_tick_ + 1; tick <= last_tick_ + static_cast<int64_t>(kBuckets); ++tick) {
    if (buckets_[tick % kBuckets] >= 0) return tick * kTickMs;
  }
  assert(false);
  return INT64_MAX;
}

std::vector<CallTable::Ended> CallTable::TakeAll() {
  std::vector<Ended> all;
  for (Slot& slot : slots_) {
    if (slot.state == State::kWaiting || slot.state == State::kReceiving) all.push_back(Take(slot));
  }
  slots_.clear();
  free_ = -1;
  timed_ = 0;
  payload_calls_ = 0;
  buckets_.fill(-1);
  return all;
}

CallTable::Slot* CallTable::Find(uint64_t id) {
  const size_t index = id & kSlotMask;
  if (index >= slots_.size() || slots_[index].state == State::kFree || slots_[index].id != id) return nullptr;
  return &slots_[index];
}

void CallTable::Link(int32_t index) {
  Slot& slot = slots_[index];
  int32_t& head = buckets_[slot.tick % kBuckets];
  slot.previous = -1;
  slot.next = head;
  if (head >= 0) slots_[head].previous = index;
  head = index;
  ++timed_;
}

void CallTable::Unlink(int32_t index) {
  Slot& slot = slots_[index];
  if (slot.previous >= 0) {
    slots_[slot.previous].next = slot.next;
  } else {
    buckets_[slot.tick % kBuckets] = slot.next;
  }
  if (slot.next >= 0) slots_[slot.next].previous = slot.previous;
  --timed_;
}

CallTable::Ended CallTable::Take(Slot& slot) {
  if (slot.state != State::kExpired && slot.payload_bytes > 0) --payload_calls_;
  return {std::exchange(slot.done, nullptr), std::exchange(slot.keep, nullptr), slot.payload_bytes, slot.received};
}

void CallTable::Free(int32_t index) {
  Slot& slot = slots_[index];
  slot.state = State::kFree;
  slot.into = {};
  slot.next = free_;
  free_ = index;
}

}  // namespace kvpagefs
