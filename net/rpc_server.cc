#include <netdb.h>

#include <atomic>
#include <cassert>
#include <chrono>
#include <utility>

#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/redirect_error.hpp>
#include <asio/use_awaitable.hpp>

#include "net/handshake.h"
#include "net/link.h"
#include "net/rpc.h"

namespace kvpagefs {
namespace {

using asio::ip::tcp;

constexpr auto kAcceptPause = std::chrono::milliseconds(100);
constexpr int64_t kRefusalLogMs = 1'000;

// Shared by what is under way; the server itself only waits for its end.
struct Listener {
  Listener(NetThreads* on, const RpcServer::Options& with, RpcHandler* for_whom, Log to)
      : threads(on), loop(on->state().Next()), options(with), handler(for_whom), log(std::move(to)) {}

  NetThreads* const threads;
  const std::shared_ptr<EventLoop> loop;
  const RpcServer::Options options;
  RpcHandler* const handler;
  const Log log;
  const std::shared_ptr<Activities> activities = std::make_shared<Activities>();
  tcp::acceptor acceptor{loop->io()};
  asio::steady_timer pause{loop->io()};
  std::atomic<bool> stopping{false};
  std::atomic<int64_t> last_refusal_ms{0};

  // Anybody can be refused any number of times: the log gets one line a second of it.
  void LogRefusal(const std::string& peer, const Error& why) {
    const int64_t now_ms = MonotonicMs();
    int64_t last_ms = last_refusal_ms.load();
    if (now_ms - last_ms < kRefusalLogMs || !last_refusal_ms.compare_exchange_strong(last_ms, now_ms)) return;
    log.Warning("{}: refused {}: {}", options.identity.service, peer, why.Describe());
  }
};

std::string PeerOf(const Socket& socket) {
  std::error_code error;
  const tcp::endpoint end = socket.remote_endpoint(error);
  return error ? "a peer that has gone" : Address{end.address().to_string(), end.port()}.ToString();
}

void CloseLater(const std::shared_ptr<EventLoop>& loop, const std::shared_ptr<Opening>& opening) {
  loop->PostIfAlive([opening] {
    std::error_code ignored;
    opening->socket.close(ignored);
    opening->timer.cancel();
  });
}

void StartLink(const std::shared_ptr<Listener>& listener, const std::shared_ptr<EventLoop>& loop, Socket socket) {
  const std::shared_ptr<Link> link = Link::Make({loop, std::move(socket), listener->handler, listener->activities, {}});
  if (link != nullptr) link->Start();
}

uint64_t BeginOpening(const std::shared_ptr<Listener>& listener, const std::shared_ptr<EventLoop>& loop,
                      const std::shared_ptr<Opening>& opening) {
  return listener->activities->Begin([loop, weak = std::weak_ptr<Opening>(opening)] {
    const std::shared_ptr<Opening> stopped = weak.lock();
    if (stopped != nullptr) CloseLater(loop, stopped);
  });
}

// One accepted connection, on its own loop.
asio::awaitable<void> Open(std::shared_ptr<Listener> listener, std::shared_ptr<EventLoop> loop,
                           std::shared_ptr<Opening> opening) {
  const uint64_t activity = BeginOpening(listener, loop, opening);
  if (activity == 0) co_return;
  const std::string peer = PeerOf(opening->socket);
  const Status shaken = co_await ShakeHands(opening, &listener->options.identity, Role::kServer);
  // What waits for the deadline holds the socket.
  opening->timer.cancel();
  if (shaken.ok()) {
    StartLink(listener, loop, std::move(opening->socket));
  } else if (!listener->stopping) {
    listener->LogRefusal(peer, shaken.error());
  }
  listener->activities->End(activity);
}

asio::awaitable<void> Accept(std::shared_ptr<Listener> listener, uint64_t activity) {
  bool failing = false;
  while (!listener->stopping) {
    const std::shared_ptr<EventLoop> loop = listener->threads->state().Next();
    std::error_code error;
    Socket socket =
        co_await listener->acceptor.async_accept(loop->io(), asio::redirect_error(asio::use_awaitable, error));
    if (listener->stopping) break;
    if (error) {
      if (!failing)
        listener->log.Warning("{}: accept: {}; trying again", listener->options.identity.service, error.message());
      failing = true;
      listener->pause.expires_after(kAcceptPause);
      co_await listener->pause.async_wait(asio::redirect_error(asio::use_awaitable, error));
      continue;
    }
    failing = false;
    // Itself is one of them.
    if (listener->activities->Count() > listener->options.max_links) {
      listener->LogRefusal(PeerOf(socket), Error(ErrorCode::kUnavailable, "there are as many links as are allowed"));
      continue;
    }
    auto opening = std::make_shared<Opening>(std::move(socket));
    asio::co_spawn(loop->io(), Open(listener, loop, std::move(opening)), asio::detached);
  }
  listener->activities->End(activity);
}

class TcpRpcServer final : public RpcServer {
 public:
  TcpRpcServer(std::shared_ptr<Listener> listener, uint16_t port) : listener_(std::move(listener)), port_(port) {}
  ~TcpRpcServer() override {
    for (const auto& loop : listener_->threads->state().loops) assert(!loop->InThread());
    listener_->stopping = true;
    listener_->activities->StopAndWait();
  }
  Address address() const override { return {listener_->options.listen.host, port_}; }

 private:
  const std::shared_ptr<Listener> listener_;
  const uint16_t port_;
};

Result<tcp::endpoint> ResolveListen(asio::io_context& io, const Address& address) {
  std::error_code error;
  const asio::ip::address number = asio::ip::make_address(address.host, error);
  if (!error) return tcp::endpoint(number, address.port);
  const auto found = tcp::resolver(io).resolve(address.host, std::to_string(address.port), error);
  if (error || found.empty()) {
    return Error(ErrorCode::kInvalid, "listen on '" + address.ToString() + "': " + error.message() +
                                          "; give an address of this machine, or 0.0.0.0 for all");
  }
  return found.begin()->endpoint();
}

std::string RemedyFor(const std::error_code& error) {
  if (error == asio::error::address_in_use) return "; choose another port, or end the program that has it";
  if (error == asio::error::access_denied) return "; choose a port above 1023";
  return "; give an address of this machine, or 0.0.0.0 for all";
}

Status Bind(Listener& listener) {
  const Result<tcp::endpoint> endpoint = ResolveListen(listener.loop->io(), listener.options.listen);
  if (!endpoint.ok()) return endpoint.error();
  std::error_code error;
  const auto fine = [&error] { return !error; };
  tcp::acceptor& acceptor = listener.acceptor;
  acceptor.open(endpoint->protocol(), error);
  if (fine()) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (fine()) acceptor.bind(*endpoint, error);
  if (fine()) acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (fine()) return {};
  return Error(ErrorCode::kUnavailable,
               "listen on '" + listener.options.listen.ToString() + "': " + error.message() + RemedyFor(error));
}

}  // namespace

Result<std::unique_ptr<RpcServer>> RpcServer::Listen(NetThreads* threads, const Options& options, RpcHandler* handler,
                                                     Log log) {
  if (options.identity.service.size() > kMaxServiceBytes) {
    return Error(ErrorCode::kInvalid, "the name of a service has at most 64 bytes");
  }
  auto listener = std::make_shared<Listener>(threads, options, handler, std::move(log));
  if (Status bound = Bind(*listener); !bound.ok()) return bound.error();
  const uint16_t port = listener->acceptor.local_endpoint().port();
  const uint64_t activity = listener->activities->Begin([weak = std::weak_ptr<Listener>(listener)] {
    const std::shared_ptr<Listener> stopped = weak.lock();
    if (stopped == nullptr) return;
    stopped->loop->PostIfAlive([stopped] {
      std::error_code ignored;
      stopped->acceptor.close(ignored);
      stopped->pause.cancel();
    });
  });
  asio::co_spawn(listener->loop->io(), Accept(listener, activity), asio::detached);
  return std::unique_ptr<RpcServer>(std::make_unique<TcpRpcServer>(std::move(listener), port));
}

}  // namespace kvpagefs
