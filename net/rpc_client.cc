#include <cassert>
#include <chrono>
#include <random>
#include <utility>

#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/redirect_error.hpp>
#include <asio/use_awaitable.hpp>

#include "net/handshake.h"
#include "net/link.h"
#include "net/resolve.h"
#include "net/rpc.h"

namespace kvpagefs {
namespace {

// Shared by what is under way; the client itself only waits for its end.
struct Connector {
  Connector(NetThreads* on, const RpcClient::Options& with, RpcHandler* for_whom, Log to)
      : loop(on->state().Next()), options(with), handler(for_whom), log(std::move(to)) {}

  const std::shared_ptr<EventLoop> loop;
  const RpcClient::Options options;
  RpcHandler* const handler;
  const Log log;
  const std::shared_ptr<Activities> activities = std::make_shared<Activities>();

  // On the loop only.
  asio::steady_timer wake{loop->io()};
  std::shared_ptr<Opening> opening;
  bool stopping = false;
  bool up = false;
  std::minstd_rand random{std::random_device{}()};

  mutable Mutex mutex;
  std::shared_ptr<RpcLink> link KVP_GUARDED_BY(mutex);
  std::string problem KVP_GUARDED_BY(mutex) = "not connected yet";
  bool refused KVP_GUARDED_BY(mutex) = false;

  void Stop() {
    stopping = true;
    wake.cancel();
    if (opening == nullptr) return;
    std::error_code ignored;
    opening->socket.close(ignored);
    opening->timer.cancel();
  }
  void SetLink(std::shared_ptr<RpcLink> made) {
    MutexLock lock(mutex);
    link.swap(made);
    problem.clear();
    refused = false;
  }
  // Logged when it is another one than before.
  void SetProblem(const Error& error) {
    const std::string text = error.Describe();
    std::shared_ptr<RpcLink> lost;
    bool changed = false;
    {
      MutexLock lock(mutex);
      lost = std::exchange(link, nullptr);
      changed = problem != text;
      problem = text;
      refused = error.code() == ErrorCode::kNotPermitted;
    }
    if (changed && !stopping) log.Warning("{}: {}", options.identity.service, text);
  }
};

using Shared = std::shared_ptr<Connector>;

// A connection to a free port of this machine may be given that port as its own end, and then meets itself.
bool IsToItself(const Socket& socket) {
  std::error_code error;
  return socket.local_endpoint(error) == socket.remote_endpoint(error);
}

asio::awaitable<Status> ConnectTo(Shared self, const Address* address) {
  const auto endpoints = co_await Resolve(self->opening, address, self->options.connect_timeout_ms);
  if (!endpoints.ok()) co_return endpoints.error();
  std::error_code error;
  for (const asio::ip::tcp::endpoint& endpoint : *endpoints) {
    if (self->stopping) break;
    error.clear();
    std::error_code ignored;
    self->opening->socket.close(ignored);
    self->opening->late = false;
    SetDeadline(self->opening, self->options.connect_timeout_ms);
    co_await self->opening->socket.async_connect(endpoint, asio::redirect_error(asio::use_awaitable, error));
    ClearDeadline(self->opening);
    if (!error && IsToItself(self->opening->socket)) error = asio::error::connection_refused;
    if (!error) co_return co_await ShakeHands(self->opening, &self->options.identity, Role::kClient);
  }
  co_return Error(ErrorCode::kUnavailable, self->opening->late ? "no connection in time" : error.message());
}

// A socket whose other end is known, or why none of the addresses gave one.
asio::awaitable<Result<Socket>> ConnectToAny(Shared self) {
  std::string problems;
  ErrorCode code = ErrorCode::kUnavailable;
  for (const Address& address : self->options.addresses) {
    if (self->stopping) break;
    self->opening = std::make_shared<Opening>(self->loop->io());
    const Status connected = co_await ConnectTo(self, &address);
    const std::shared_ptr<Opening> opening = std::exchange(self->opening, nullptr);
    opening->timer.cancel();
    if (connected.ok()) co_return std::move(opening->socket);
    if (connected.code() != ErrorCode::kUnavailable) code = ErrorCode::kNotPermitted;
    problems += (problems.empty() ? "" : "; ") + address.ToString() + ": " + connected.error().Describe();
  }
  co_return Error(code, problems.empty() ? "no address" : problems);
}

// Null when the client is being destroyed.
std::shared_ptr<Link> MakeLink(const Shared& self, Socket socket) {
  Link::Parts parts{self->loop, std::move(socket), self->handler, self->activities, {}};
  parts.on_down = [self](const Error& why) {
    self->up = false;
    self->SetProblem(why);
    self->wake.cancel();
  };
  std::shared_ptr<Link> link = Link::Make(std::move(parts));
  if (link == nullptr) return nullptr;
  self->up = true;
  return link;
}

// Until the link is lost.
asio::awaitable<void> Serve(Shared self, Socket socket) {
  std::shared_ptr<Link> link = MakeLink(self, std::move(socket));
  if (link == nullptr) co_return;
  self->log.Info("{}: connected to {}", self->options.identity.service, link->peer());
  // Others get to see it when OnUp has made its calls.
  link->Start();
  if (self->up) self->SetLink(std::exchange(link, nullptr));
  link = nullptr;
  while (self->up) {
    self->wake.expires_at(asio::steady_timer::time_point::max());
    std::error_code ignored;
    co_await self->wake.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  }
}

asio::awaitable<void> Run(Shared self, uint64_t activity) {
  const int64_t min_ms = std::max<int64_t>(self->options.min_backoff_ms, 1);
  const int64_t max_ms = std::max(self->options.max_backoff_ms, min_ms);
  int64_t backoff_ms = min_ms;
  while (!self->stopping) {
    Result<Socket> socket = co_await ConnectToAny(self);
    if (self->stopping) break;
    const int64_t begin_ms = MonotonicMs();
    if (socket.ok()) {
      co_await Serve(self, std::move(*socket));
    } else {
      self->SetProblem(socket.error());
    }
    if (self->stopping) break;
    // An end that takes links and drops them at once is a failure too.
    backoff_ms = MonotonicMs() - begin_ms >= max_ms ? min_ms : backoff_ms;
    const int64_t pause_ms = std::uniform_int_distribution<int64_t>((backoff_ms + 1) / 2, backoff_ms)(self->random);
    backoff_ms = std::min(backoff_ms * 2, max_ms);
    self->wake.expires_after(std::chrono::milliseconds(pause_ms));
    std::error_code ignored;
    co_await self->wake.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  }
  self->activities->End(activity);
}

class TcpRpcClient final : public RpcClient {
 public:
  TcpRpcClient(Shared connector, uint64_t activity) : connector_(std::move(connector)) {
    asio::co_spawn(connector_->loop->io(), Run(connector_, activity), asio::detached);
  }
  ~TcpRpcClient() override {
    assert(!connector_->loop->InThread());
    connector_->activities->StopAndWait();
  }
  std::shared_ptr<RpcLink> link() const override {
    MutexLock lock(connector_->mutex);
    return connector_->link;
  }
  std::string problem() const override {
    MutexLock lock(connector_->mutex);
    return connector_->problem;
  }
  bool refused() const override {
    MutexLock lock(connector_->mutex);
    return connector_->refused;
  }

 private:
  const Shared connector_;
};

}  // namespace

std::unique_ptr<RpcClient> RpcClient::Start(NetThreads* threads, const Options& options, RpcHandler* handler, Log log) {
  auto connector = std::make_shared<Connector>(threads, options, handler, std::move(log));
  assert(options.identity.service.size() <= kMaxServiceBytes);
  const uint64_t activity = connector->activities->Begin([weak = std::weak_ptr<Connector>(connector)] {
    const Shared stopped = weak.lock();
    if (stopped != nullptr) stopped->loop->PostIfAlive([stopped] { stopped->Stop(); });
  });
  return std::make_unique<TcpRpcClient>(std::move(connector), activity);
}

}  // namespace kvpagefs
