#include "net/handshake.h"

#include <openssl/rand.h>

#include <cassert>
#include <chrono>

#include <asio/buffer.hpp>
#include <asio/read.hpp>
#include <asio/redirect_error.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/write.hpp>

#include "net/frame.h"

namespace kvpagefs {
namespace {

Error Broken(const Opening& opening, const std::error_code& error) {
  if (opening.late) return {ErrorCode::kUnavailable, "no handshake in time"};
  if (error == asio::error::eof) return {ErrorCode::kUnavailable, "closed the connection during the handshake"};
  return {ErrorCode::kUnavailable, "handshake: " + error.message()};
}

asio::awaitable<Result<std::string>> ReadExactly(Opening& opening, size_t bytes) {
  std::string text(bytes, '\0');
  std::error_code error;
  co_await asio::async_read(opening.socket, asio::buffer(text), asio::redirect_error(asio::use_awaitable, error));
  if (error) co_return Broken(opening, error);
  co_return text;
}

asio::awaitable<Status> Write(Opening& opening, const std::string& text) {
  std::error_code error;
  co_await asio::async_write(opening.socket, asio::buffer(text), asio::redirect_error(asio::use_awaitable, error));
  if (error) co_return Broken(opening, error);
  co_return Status();
}

asio::awaitable<Result<std::string>> ReadHello(Opening& opening) {
  Result<std::string> fixed = co_await ReadExactly(opening, kHelloFixedBytes);
  if (!fixed.ok()) co_return fixed;
  const Result<size_t> more = HelloServiceBytes(*fixed);
  if (!more.ok()) co_return more.error();
  Result<std::string> service = co_await ReadExactly(opening, *more);
  if (!service.ok()) co_return service;
  co_return *fixed + *service;
}

struct Hellos {
  std::string client;
  std::string server;
};

Hellos Order(Role role, const std::string& ours, const std::string& theirs) {
  return role == Role::kClient ? Hellos{ours, theirs} : Hellos{theirs, ours};
}

// The client proves first: a server says nothing about the secret to those who do not know it.
asio::awaitable<Status> ProveAsClient(Opening& opening, const std::string& secret, const Hellos& hellos) {
  const Status sent = co_await Write(opening, MakeProof(secret, Role::kClient, hellos.client, hellos.server));
  if (!sent.ok()) co_return sent;
  const Result<std::string> proof = co_await ReadExactly(opening, kProofBytes);
  if (!proof.ok() && opening.late) co_return proof.error();
  // A server closes the connection on a wrong proof.
  if (!proof.ok() || !SameProof(*proof, MakeProof(secret, Role::kServer, hellos.client, hellos.server))) {
    co_return Error(ErrorCode::kNotPermitted, "the secret differs");
  }
  co_return Status();
}

asio::awaitable<Status> ProveAsServer(Opening& opening, const std::string& secret, const Hellos& hellos) {
  const Result<std::string> proof = co_await ReadExactly(opening, kProofBytes);
  if (!proof.ok()) co_return proof.error();
  if (!SameProof(*proof, MakeProof(secret, Role::kClient, hellos.client, hellos.server))) {
    co_return Error(ErrorCode::kNotPermitted, "the secret differs");
  }
  co_return co_await Write(opening, MakeProof(secret, Role::kServer, hellos.client, hellos.server));
}

Hello MakeHello(const RpcIdentity& identity) {
  Hello hello;
  hello.min_version = kNetVersion;
  hello.max_version = kNetVersion;
  hello.has_secret = !identity.secret.empty();
  hello.service = identity.service;
  // Without randomness there is no proof against a replay.
  const bool random = RAND_bytes(hello.nonce.data(), kNonceBytes) == 1;
  assert(random);
  static_cast<void>(random);
  return hello;
}

}  // namespace

void SetDeadline(const std::shared_ptr<Opening>& opening, int64_t ms) {
  opening->timer.expires_after(std::chrono::milliseconds(ms));
  opening->timer.async_wait([opening](const std::error_code& cancelled) {
    // A deadline that was moved or cleared when the timer had already fired.
    if (cancelled || opening->timer.expiry() > std::chrono::steady_clock::now()) return;
    opening->late = true;
    std::error_code ignored;
    opening->socket.close(ignored);
  });
}

void ClearDeadline(const std::shared_ptr<Opening>& opening) {
  opening->timer.expires_at(asio::steady_timer::time_point::max());
}

asio::awaitable<Status> ShakeHands(std::shared_ptr<Opening> opening, const RpcIdentity* identity, Role role) {
  SetDeadline(opening, kHandshakeMs);
  const Hello ours = MakeHello(*identity);
  const std::string our_bytes = EncodeHello(ours);
  const Status sent = co_await Write(*opening, our_bytes);
  if (!sent.ok()) co_return sent;
  const Result<std::string> their_bytes = co_await ReadHello(*opening);
  if (!their_bytes.ok()) co_return their_bytes.error();
  const Result<Hello> theirs = DecodeHello(*their_bytes);
  if (!theirs.ok()) co_return theirs.error();
  const Status fits = CheckHello(ours, *theirs);
  if (!fits.ok()) co_return fits;
  if (ours.has_secret) {
    const Hellos hellos = Order(role, our_bytes, *their_bytes);
    Status proved;
    // Not one conditional expression: compilers have destroyed the results of such awaits twice (g++ 12).
    if (role == Role::kClient) {
      proved = co_await ProveAsClient(*opening, identity->secret, hellos);
    } else {
      proved = co_await ProveAsServer(*opening, identity->secret, hellos);
    }
    if (!proved.ok()) co_return proved;
  }
  ClearDeadline(opening);
  co_return Status();
}

}  // namespace kvpagefs
