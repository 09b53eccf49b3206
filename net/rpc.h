// Calls and answers between two processes over one byte stream. Wire format: net/PROTOCOL.md.
//
// A link is one authenticated connection. Either end may call the other; many calls are under way at a time, and
// answers come in any order. Requests of one link reach the other end's handler in the order in which Call was called,
// and what a handler answers or calls arrives in the order in which it was answered or called: a request sent behind an
// answer is handled behind it. A call carries a body (small, a message of the layer above) and its answer a body and
// optionally a payload: bytes that are sent from where they are, and received where the caller wants them.
//
// Invariants:
//  L1 every call ends exactly once: answer, kUnavailable (link lost, too much under way), or kInterrupted (deadline).
//  L2 memory for a payload is not touched any more when its call ends.
//  L3 nothing that the other end sends makes memory be taken beyond kMaxBodyBytes a frame and kMaxCallsPerLink calls.
//  L4 a peer that has not proved the secret is answered nothing but the handshake.
// Callbacks run on a thread of NetThreads without locks and must not block; every method may be called from any thread.
#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "net/address.h"
#include "net/net_threads.h"

namespace kvpagefs {

inline constexpr size_t kMaxBodyBytes = size_t{4} << 20;
inline constexpr uint64_t kMaxPayloadBytes = uint64_t{1} << 30;
inline constexpr size_t kMaxCallsPerLink = 65'536;  // under way in one direction
inline constexpr int64_t kStallMs = 2'000;          // without a byte in the middle of a frame: the link is given up

// Bytes to send. They are valid while `keep` lives.
struct Payload {
  std::vector<iovec> pieces;
  std::shared_ptr<const void> keep;
};

struct RpcAnswer {
  std::string body;
  uint64_t payload_bytes = 0;
};

struct RpcRequest {
  uint16_t method = 0;  // of the layer above
  std::string body;
  int64_t timeout_ms = 0;
  // Where a payload goes, all of it exactly; empty: an answer with a payload is an error. Valid while `keep` lives;
  // kept until the call ends.
  std::vector<iovec> into;
  std::shared_ptr<const void> keep;
};

class RpcLink {
 public:
  using Done = std::function<void(Result<RpcAnswer>)>;

  virtual ~RpcLink() = default;
  // An answer that is an error comes as that error, text included. `done` runs on a thread of the network, never
  // within Call.
  virtual void Call(RpcRequest request, Done done) = 0;
  // Ends the link; calls under way end with kUnavailable.
  virtual void Close(const Error& why) = 0;
  virtual std::string peer() const = 0;  // "10.0.0.2:41022"
  // Who else knows the link: the layer above may attach what it needs (set before the first request is handled).
  void set_context(std::shared_ptr<void> context) { context_ = std::move(context); }
  const std::shared_ptr<void>& context() const { return context_; }

 private:
  std::shared_ptr<void> context_;
};

// Answers one request, exactly once (destroying it unused answers kUnavailable), from any thread.
class RpcReply {
 public:
  struct Sink {
    virtual ~Sink() = default;
    virtual void Send(uint64_t call, Result<std::string> body, Payload payload) = 0;
  };
  RpcReply(std::weak_ptr<Sink> sink, uint64_t call) : sink_(std::move(sink)), call_(call) {}
  RpcReply(RpcReply&& other) noexcept = default;
  RpcReply& operator=(RpcReply&& other) = delete;
  ~RpcReply() { Finish(ErrorCode::kUnavailable, {}); }

  void Ok(std::string body, Payload payload = {}) { Finish(std::move(body), std::move(payload)); }
  void Fail(const Error& error) { Finish(error, {}); }

 private:
  void Finish(Result<std::string> body, Payload payload) {
    const std::shared_ptr<Sink> sink = sink_.lock();
    sink_.reset();
    if (sink != nullptr) sink->Send(call_, std::move(body), std::move(payload));
  }
  std::weak_ptr<Sink> sink_;
  uint64_t call_;
};

class RpcHandler {
 public:
  virtual ~RpcHandler() = default;
  // In this order for each link: once OnUp, then requests, then once OnDown.
  virtual void OnUp(const std::shared_ptr<RpcLink>& link) = 0;
  virtual void OnRequest(const std::shared_ptr<RpcLink>& link, uint16_t method, std::string body, RpcReply reply) = 0;
  virtual void OnDown(const std::shared_ptr<RpcLink>& link, const Error& why) = 0;
};

// What both ends of a link must agree on.
struct RpcIdentity {
  std::string service;  // "meta" or "peer": a client that reached the wrong port is told so
  std::string secret;   // both prove to know it (HMAC-SHA256 of both nonces); empty on both sides: none
};

class RpcServer {
 public:
  struct Options {
    Address listen;  // port 0: any free one
    RpcIdentity identity;
    size_t max_links = 4096;
  };
  // kUnavailable or kInvalid: names the address and the remedy. `threads` and `handler` outlive the server.
  static Result<std::unique_ptr<RpcServer>> Listen(NetThreads* threads, const Options& options, RpcHandler* handler,
                                                   Log log);
  virtual ~RpcServer() = default;  // closes all links, and returns when no callback runs any more
  virtual Address address() const = 0;
};

// Keeps one link to the first of several addresses that answers: connects, and connects again when it is lost.
class RpcClient {
 public:
  struct Options {
    std::vector<Address> addresses;
    RpcIdentity identity;
    int64_t connect_timeout_ms = 1'000;
    int64_t min_backoff_ms = 20;  // doubled at every failure
    int64_t max_backoff_ms = 1'000;
  };
  static std::unique_ptr<RpcClient> Start(NetThreads* threads, const Options& options, RpcHandler* handler, Log log);
  virtual ~RpcClient() = default;  // closes the link, and returns when no callback runs any more
  // Null while there is none; a new one is seen when OnUp has returned, so calls made there come first.
  virtual std::shared_ptr<RpcLink> link() const = 0;
  // Why there is no link: the last failure; empty when there is one.
  virtual std::string problem() const = 0;
  // The last attempt reached somebody who does not want this client: another secret, service or version. It goes on
  // trying all the same.
  virtual bool refused() const = 0;
};

}  // namespace kvpagefs
