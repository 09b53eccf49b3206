// A metadata service on loopback that can be stopped and started again on the same port.
#pragma once

#include <gtest/gtest.h>

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "meta/meta_server.h"
#include "meta/wire.h"
#include "unit/net/wait_for.h"

namespace kvpagefs::testing {

using net_test::WaitFor;

// Counts the requests on their way to the server, and holds back those that a test wants to be under way.
class Counting final : public RpcHandler {
 public:
  explicit Counting(MetaServer* server) : server_(server) {}
  void OnUp(const std::shared_ptr<RpcLink>& link) override { server_->OnUp(link); }
  void OnDown(const std::shared_ptr<RpcLink>& link, const Error& why) override { server_->OnDown(link, why); }
  void OnRequest(const std::shared_ptr<RpcLink>& link, uint16_t method, std::string body, RpcReply reply) override {
    {
      const std::lock_guard lock(mutex_);
      ++counts_[method];
      if (holding_.contains(method)) {
        held_.push_back({link, method, std::move(body), std::move(reply)});
        return;
      }
    }
    server_->OnRequest(link, method, std::move(body), std::move(reply));
  }

  size_t Count(MetaMethod method) const {
    const std::lock_guard lock(mutex_);
    const auto found = counts_.find(static_cast<uint16_t>(method));
    return found == counts_.end() ? 0 : found->second;
  }
  void Hold(MetaMethod method) {
    const std::lock_guard lock(mutex_);
    holding_.insert(static_cast<uint16_t>(method));
  }
  size_t held() const {
    const std::lock_guard lock(mutex_);
    return held_.size();
  }
  void Release() {
    std::vector<Request> held;
    {
      const std::lock_guard lock(mutex_);
      holding_.clear();
      held = std::exchange(held_, {});
    }
    for (Request& request : held) {
      server_->OnRequest(request.link, request.method, std::move(request.body), std::move(request.reply));
    }
  }

 private:
  struct Request {
    std::shared_ptr<RpcLink> link;
    uint16_t method = 0;
    std::string body;
    RpcReply reply;
  };
  MetaServer* const server_;
  mutable std::mutex mutex_;
  std::map<uint16_t, size_t> counts_;
  std::set<uint16_t> holding_;
  std::vector<Request> held_;
};

// Limits are generous: a slow machine must not look like a silent node.
class Service {
 public:
  explicit Service(std::string state_dir) : state_dir_(std::move(state_dir)) { Start(); }
  ~Service() { Stop(); }

  void Start() {
    MetaServer::Options options;
    options.state_dir = state_dir_;
    options.root_owner = {5, 6, 0755};
    options.heartbeat_ms = 20;
    options.timeout_ms = 60'000;
    options.revoke_limit_ms = 60'000;
    auto opened = MetaServer::Open(options, &clock_, Log::Discard());
    ASSERT_TRUE(opened.ok()) << opened.error().Describe();
    server_ = std::move(*opened);
    counting_ = std::make_unique<Counting>(server_.get());
    for (const MetaMethod method : held_from_the_start_) counting_->Hold(method);
    ASSERT_TRUE(WaitFor([this] { return Listen(); }));
    stopping_ = false;
    ticker_ = std::thread([this] { Tick(); });
  }
  void Stop() {
    if (server_ == nullptr) return;
    rpc_.reset();
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
    ticker_.join();
    counting_.reset();
    server_.reset();
  }

  void HoldFromTheStart(std::set<MetaMethod> methods) { held_from_the_start_ = std::move(methods); }
  Counting& counting() { return *counting_; }
  MetaServer& server() { return *server_; }
  Address address() const { return {"127.0.0.1", port_}; }

 private:
  // Below the ports that connecting sockets get, so that nobody else has it when the service comes back.
  bool Listen() {
    RpcServer::Options options;
    options.listen = {"127.0.0.1", port_ != 0 ? port_ : RandomPort()};
    options.identity = {"meta", ""};
    auto listening = RpcServer::Listen(&threads_, options, counting_.get(), Log::Discard());
    if (!listening.ok()) return false;
    rpc_ = std::move(*listening);
    port_ = rpc_->address().port;
    return true;
  }
  static uint16_t RandomPort() {
    std::random_device random;
    return static_cast<uint16_t>(15'000 + random() % 15'000);
  }
  void Tick() {
    std::unique_lock lock(mutex_);
    while (!stopping_) {
      lock.unlock();
      const int64_t pause_ms = server_->Tick();
      lock.lock();
      wake_.wait_for(lock, std::chrono::milliseconds(pause_ms), [this] { return stopping_; });
    }
  }

  const std::string state_dir_;
  const SystemClock clock_;
  NetThreads threads_{1};
  uint16_t port_ = 0;
  std::set<MetaMethod> held_from_the_start_;
  std::unique_ptr<MetaServer> server_;
  std::unique_ptr<Counting> counting_;
  std::unique_ptr<RpcServer> rpc_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::thread ticker_;
};

}  // namespace kvpagefs::testing
