// One authenticated connection: the implementation of RpcLink. Lives on one event loop; only Call, Send and Close come
// from other threads, and leave what they bring under the mutex.
//
// States: open -> closing (Close, any thread) -> down (on the loop). From `closing` on nothing is read, written or
// handed to the handler; Down ends the calls, then tells the owner, then the handler.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <asio/steady_timer.hpp>

#include "base/mutex.h"
#include "net/activities.h"
#include "net/call_table.h"
#include "net/event_loop.h"
#include "net/frame_reader.h"
#include "net/rpc.h"
#include "net/send_queue.h"

namespace kvpagefs {

class Link final : public RpcLink,
                   public RpcReply::Sink,
                   private FrameReader::Events,
                   public std::enable_shared_from_this<Link> {
 public:
  struct Parts {
    std::shared_ptr<EventLoop> loop;
    Socket socket;
    RpcHandler* handler = nullptr;
    std::shared_ptr<Activities> activities;
    std::function<void(const Error& why)> on_down;  // before the handler's; may be empty
  };
  // Null when the activities are being stopped. On the loop, like Start.
  static std::shared_ptr<Link> Make(Parts parts);
  explicit Link(Parts parts);  // Make
  // Tells the handler, then reads.
  void Start();

  void Call(RpcRequest request, Done done) override KVP_EXCLUDES(mutex_);
  void Close(const Error& why) override KVP_EXCLUDES(mutex_);
  std::string peer() const override { return peer_; }
  void Send(uint64_t call, Result<std::string> body, Payload payload) override KVP_EXCLUDES(mutex_);

  static constexpr size_t kMaxErrorTextBytes = 4096;
  // Of calls that are queued and not sent: more of them end with kUnavailable.
  static constexpr size_t kMaxQueuedBytes = size_t{64} << 20;
  // Of answers: more of them cost the link, because an answer cannot be refused.
  static constexpr size_t kMaxQueuedAnswerBytes = size_t{256} << 20;

 private:
  // Reading: link_read.cc. On the loop.
  void WaitReadable();
  void ReadSome();
  Result<FrameReader::Place> OnPayload(const FrameHeader& header) override;
  Status OnFrame(const FrameHeader& header, std::string body) override;
  Status OnRequest(const FrameHeader& header, std::string body);
  Status OnAnswer(const FrameHeader& header, std::string body);

  // Writing: link_write.cc. On the loop.
  void Wake() KVP_REQUIRES(mutex_);
  void Pump();
  void WriteSome();
  bool Refill();
  void WaitWritable();

  // Time: link_time.cc. On the loop.
  void ArmTimer();
  void Tick();
  void CheckStalls(int64_t now_ms);
  int64_t NextStall() const;

  bool Closing() const KVP_EXCLUDES(mutex_);
  void Down();
  // `done` with kUnavailable or `why`, from the loop.
  void EndLater(Done done, const Error& why);

  const std::shared_ptr<EventLoop> loop_;
  RpcHandler* const handler_;
  const std::shared_ptr<Activities> activities_;
  uint64_t activity_ = 0;
  std::string peer_;

  // On the loop only.
  std::function<void(const Error& why)> on_down_;
  std::optional<Socket> socket_;  // none when all is over: a link that somebody keeps holds nothing of Asio
  std::optional<asio::steady_timer> timer_;
  FrameReader reader_;
  SendCursor cursor_;
  uint64_t last_request_ = 0;
  int64_t last_read_ms_ = 0;
  int64_t last_write_ms_ = 0;

  mutable Mutex mutex_;
  std::optional<Error> closing_ KVP_GUARDED_BY(mutex_);
  CallTable calls_ KVP_GUARDED_BY(mutex_);
  SendQueue queue_ KVP_GUARDED_BY(mutex_);
  size_t inbound_ KVP_GUARDED_BY(mutex_) = 0;  // requests that are not answered
  bool pump_posted_ KVP_GUARDED_BY(mutex_) = false;
  bool blocked_ KVP_GUARDED_BY(mutex_) = false;  // the socket takes no more
  int64_t armed_for_ms_ KVP_GUARDED_BY(mutex_) = INT64_MAX;
};

// Of the clock that deadlines are in.
int64_t MonotonicMs();

}  // namespace kvpagefs
