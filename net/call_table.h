// The calls that one end of a link has under way: by id, and by deadline. One thread at a time.
//
// States of a call, and what moves it on:
//   waiting    -> gone       its answer (Finish)
//   waiting    -> receiving  its answer's payload has begun to come (BeginPayload)
//   waiting    -> expired    its deadline (Expire): the caller has been told, the answer is still to come
//   receiving  -> gone       Finish; or the deadline, which costs the link
//   expired    -> gone       its answer
// An expired call keeps its id: an answer that belongs to no id is a fault of the other end, and the number of ids
// bounds what the other end has under way.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "net/rpc.h"

namespace kvpagefs {

class CallTable {
 public:
  struct Ended {
    RpcLink::Done done;  // empty: the caller has been told
    std::shared_ptr<const void> keep;
    uint64_t payload_bytes = 0;  // that were expected
    bool received = false;       // they have come
  };
  struct Expired {
    std::vector<Ended> calls;
    bool in_payload = false;  // bytes of one of them were coming
  };
  struct Expected {
    bool discard = false;
    std::vector<iovec> into;
  };

  CallTable();

  // The id, greater than those before; 0: kMaxCallsPerLink are under way, and nothing is taken. Takes `into` and `keep`
  // of the request, and `done`.
  uint64_t Add(RpcRequest& request, RpcLink::Done& done, int64_t now_ms);
  // kInvalid: no such call, or another number of bytes than it expects.
  Result<Expected> BeginPayload(uint64_t id, uint64_t payload_bytes);
  std::optional<Ended> Finish(uint64_t id);
  // Calls with a deadline before `now_ms`, up to kTickMs late.
  void Expire(int64_t now_ms, Expired* expired);
  // When Expire is to be called next, at the latest; INT64_MAX: not at all.
  int64_t NextExpiry() const;
  std::vector<Ended> TakeAll();
  // Calls that wait for a payload.
  size_t payload_calls() const { return payload_calls_; }

  static constexpr int64_t kTickMs = 8;
  static constexpr int64_t kMaxTimeoutMs = int64_t{1} << 32;

 private:
  enum class State : uint8_t { kFree, kWaiting, kReceiving, kExpired };
  struct Slot {
    uint64_t id = 0;
    State state = State::kFree;
    bool received = false;
    int32_t previous = -1;  // in the bucket; slots that wait or receive are in one
    int32_t next = -1;      // in the bucket or among the free ones
    int64_t tick = 0;
    uint64_t payload_bytes = 0;
    RpcLink::Done done;
    std::shared_ptr<const void> keep;
    std::vector<iovec> into;
  };
  // A wheel: a deadline further than one turn away is met, and left alone, once a turn.
  static constexpr size_t kBuckets = 256;

  Slot* Find(uint64_t id);
  void Link(int32_t index);
  void Unlink(int32_t index);
  Ended Take(Slot& slot);
  void Free(int32_t index);
  void ExpireBucket(size_t bucket, int64_t tick, Expired* expired);

  std::vector<Slot> slots_;
  int32_t free_ = -1;
  uint64_t counter_ = 0;
  size_t timed_ = 0;  // slots in buckets
  size_t payload_calls_ = 0;
  int64_t last_tick_ = 0;
  std::array<int32_t, kBuckets> buckets_;
};

}  // namespace kvpagefs
