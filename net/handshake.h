// From a connected socket to one whose other end is known. On the socket's event loop.
#pragma once

#include <memory>

#include <asio/awaitable.hpp>
#include <asio/steady_timer.hpp>

#include "net/event_loop.h"
#include "net/hello.h"
#include "net/rpc.h"

namespace kvpagefs {

inline constexpr int64_t kHandshakeMs = 2'000;

// A socket that is not a link yet, and its deadline.
struct Opening {
  explicit Opening(asio::io_context& io) : socket(io), timer(io) {}
  explicit Opening(Socket accepted) : socket(std::move(accepted)), timer(socket.get_executor()) {}
  Socket socket;
  asio::steady_timer timer;
  bool late = false;
};

// Closes the socket after `ms` unless called again before; operations under way on it end with an error.
void SetDeadline(const std::shared_ptr<Opening>& opening, int64_t ms);
void ClearDeadline(const std::shared_ptr<Opening>& opening);

// kUnavailable, kInvalid, kNotPermitted or kNotSupported, and a text that says what is wrong with the other end. Within
// kHandshakeMs. Nothing behind the handshake is read.
asio::awaitable<Status> ShakeHands(std::shared_ptr<Opening> opening, const RpcIdentity* identity, Role role);

}  // namespace kvpagefs
