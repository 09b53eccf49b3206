#include "net/resolve.h"

#include <chrono>
#include <string>

#include <asio/ip/address.hpp>
#include <asio/redirect_error.hpp>
#include <asio/use_awaitable.hpp>

namespace kvpagefs {
namespace {

using asio::ip::tcp;

// Outlives the one who waits, because a look-up under way cannot be cancelled.
struct LookUp {
  explicit LookUp(const asio::any_io_executor& executor) : resolver(executor) {}
  tcp::resolver resolver;
  bool ended = false;
  std::error_code error;
  std::vector<tcp::endpoint> found;
};

}  // namespace

asio::awaitable<Result<std::vector<tcp::endpoint>>> Resolve(std::shared_ptr<Opening> opening, const Address* address,
                                                            int64_t timeout_ms) {
  std::error_code error;
  const asio::ip::address number = asio::ip::make_address(address->host, error);
  if (!error) co_return std::vector<tcp::endpoint>{{number, address->port}};
  const auto look_up = std::make_shared<LookUp>(opening->socket.get_executor());
  opening->timer.expires_after(std::chrono::milliseconds(timeout_ms));
  look_up->resolver.async_resolve(
      address->host, std::to_string(address->port), tcp::resolver::numeric_service,
      [look_up, opening](const std::error_code& failure, const tcp::resolver::results_type& results) {
        look_up->ended = true;
        look_up->error = failure;
        for (const auto& result : results) look_up->found.push_back(result.endpoint());
        opening->timer.cancel();
      });
  co_await opening->timer.async_wait(asio::redirect_error(asio::use_awaitable, error));
  if (look_up->ended && !look_up->error && !look_up->found.empty()) co_return look_up->found;
  co_return Error(
      ErrorCode::kUnavailable,
      "host '" + address->host + "': " + (look_up->ended ? look_up->error.message() : "no answer about its address"));
}

}  // namespace kvpagefs
