// Host names to addresses, without blocking an event loop and without waiting for a name server that does not answer.
#pragma once

#include <memory>
#include <vector>

#include <asio/awaitable.hpp>
#include <asio/ip/tcp.hpp>

#include "net/address.h"
#include "net/handshake.h"

namespace kvpagefs {

// At least one; within `timeout_ms`, or at once when the socket of `opening` is closed and its timer cancelled.
// kUnavailable names the host.
asio::awaitable<Result<std::vector<asio::ip::tcp::endpoint>>> Resolve(std::shared_ptr<Opening> opening,
                                                                      const Address* address, int64_t timeout_ms);

}  // namespace kvpagefs
