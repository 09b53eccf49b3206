// A server and clients on loopback, and handlers that do what a test tells them.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <future>
#include <mutex>
#include <optional>

#include "net/rpc.h"
#include "unit/net/wait_for.h"

namespace kvpagefs::net_test {

using LinkPtr = std::shared_ptr<RpcLink>;

inline constexpr int64_t kLongMs = 120'000;

// Methods of the test's handlers.
enum Method : uint16_t { kEcho = 1, kRefuse = 2, kHold = 3, kPayload = 4, kDrop = 5, kCallBack = 6 };

class TestHandler : public RpcHandler {
 public:
  void OnUp(const LinkPtr& link) override {
    std::function<void(const LinkPtr&)> on_up;
    {
      std::lock_guard lock(mutex_);
      ++ups_;
      link_ = link;
      on_up = on_up_;
    }
    if (on_up) on_up(link);
  }
  void OnRequest(const LinkPtr& link, uint16_t method, std::string body, RpcReply reply) override {
    if (method == kRefuse) return reply.Fail(Error(ErrorCode::kNotFound, "no " + body));
    if (method == kHold) {
      std::lock_guard lock(mutex_);
      held_.push_back(std::move(reply));
      return;
    }
    if (method == kPayload) return reply.Ok(body, payload());
    if (method == kDrop) return;
    if (method == kCallBack) return CallBack(link, std::move(body), std::move(reply));
    {
      std::lock_guard lock(mutex_);
      bodies_.push_back(body);
    }
    reply.Ok(std::move(body));
  }
  void OnDown(const LinkPtr& link, const Error& why) override {
    std::lock_guard lock(mutex_);
    if (link_ == link) link_ = nullptr;
    whys_.push_back(why.Describe());
  }

  void set_on_up(std::function<void(const LinkPtr&)> on_up) {
    std::lock_guard lock(mutex_);
    on_up_ = std::move(on_up);
  }
  void set_payload(Payload payload) {
    std::lock_guard lock(mutex_);
    payload_ = std::move(payload);
  }
  Payload payload() const {
    std::lock_guard lock(mutex_);
    return payload_;
  }
  size_t ups() const {
    std::lock_guard lock(mutex_);
    return ups_;
  }
  LinkPtr link() const {
    std::lock_guard lock(mutex_);
    return link_;
  }
  std::vector<std::string> whys() const {
    std::lock_guard lock(mutex_);
    return whys_;
  }
  std::vector<std::string> bodies() const {
    std::lock_guard lock(mutex_);
    return bodies_;
  }
  std::vector<RpcReply> TakeHeld(size_t at_least) {
    EXPECT_TRUE(WaitFor([&] {
      std::lock_guard lock(mutex_);
      return held_.size() >= at_least;
    }));
    std::lock_guard lock(mutex_);
    return std::exchange(held_, {});
  }

 private:
  // Calls the caller, then answers with what that said; in between a request that must be handled behind the answer.
  static void CallBack(const LinkPtr& link, std::string body, RpcReply reply) {
    auto shared = std::make_shared<RpcReply>(std::move(reply));
    RpcRequest request;
    request.method = kEcho;
    request.body = std::move(body);
    request.timeout_ms = kLongMs;
    link->Call(std::move(request), [shared](Result<RpcAnswer> answer) {
      if (answer.ok()) {
        shared->Ok("called back: " + answer->body);
      } else {
        shared->Fail(answer.error());
      }
    });
  }

  mutable std::mutex mutex_;
  size_t ups_ = 0;
  LinkPtr link_;
  std::vector<std::string> whys_;
  std::vector<std::string> bodies_;
  std::vector<RpcReply> held_;
  Payload payload_;
  std::function<void(const LinkPtr&)> on_up_;
};

inline RpcRequest MakeRequest(uint16_t method, std::string body, int64_t timeout_ms = kLongMs) {
  RpcRequest request;
  request.method = method;
  request.body = std::move(body);
  request.timeout_ms = timeout_ms;
  return request;
}

inline std::future<Result<RpcAnswer>> StartCall(const LinkPtr& link, RpcRequest request) {
  auto promise = std::make_shared<std::promise<Result<RpcAnswer>>>();
  std::future<Result<RpcAnswer>> future = promise->get_future();
  link->Call(std::move(request), [promise](Result<RpcAnswer> answer) { promise->set_value(std::move(answer)); });
  return future;
}

inline Result<RpcAnswer> CallAndWait(const LinkPtr& link, RpcRequest request) {
  return Await(StartCall(link, std::move(request)));
}

class RpcTest : public ::testing::Test {
 protected:
  void StartServer(RpcIdentity identity = {"meta", ""}, size_t max_links = 100, uint16_t port = 0) {
    RpcServer::Options options;
    options.listen = {"127.0.0.1", port};
    options.identity = std::move(identity);
    options.max_links = max_links;
    Result<std::unique_ptr<RpcServer>> server = RpcServer::Listen(&threads_, options, &at_server_, Log::Discard());
    ASSERT_TRUE(server.ok()) << server.error().Describe();
    server_ = std::move(*server);
  }
  RpcClient::Options ClientOptions(RpcIdentity identity = {"meta", ""}) const {
    RpcClient::Options options;
    options.addresses = {server_->address()};
    options.identity = std::move(identity);
    options.connect_timeout_ms = 30'000;
    options.min_backoff_ms = 1;
    options.max_backoff_ms = 20;
    return options;
  }
  void StartClient(const RpcClient::Options& options) {
    client_ = RpcClient::Start(&threads_, options, &at_client_, Log::Discard());
  }
  LinkPtr WaitForLink() const {
    LinkPtr link;
    EXPECT_TRUE(WaitFor([&] { return (link = client_->link()) != nullptr; })) << client_->problem();
    return link;
  }
  LinkPtr StartBoth() {
    StartServer();
    StartClient(ClientOptions());
    return WaitForLink();
  }
  // Until the client says that.
  void ExpectProblem(const std::string& part) const {
    EXPECT_TRUE(WaitFor([&] { return client_->problem().find(part) != std::string::npos; })) << client_->problem();
    EXPECT_EQ(client_->link(), nullptr);
  }

  NetThreads threads_{2};
  TestHandler at_server_;
  TestHandler at_client_;
  std::unique_ptr<RpcServer> server_;
  std::unique_ptr<RpcClient> client_;
};

}  // namespace kvpagefs::net_test
