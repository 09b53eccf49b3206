// A metadata server and nodes that speak to it over links without a network.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "meta/meta_server.h"
#include "meta/page_description.h"
#include "meta/wire.h"
#include "unit/meta/testing.h"
#include "unit/temp_dir.h"

namespace kvpagefs::testing {

constexpr int64_t kMs = 1'000'000;

// A node's end of a link.
class FakeLink final : public RpcLink {
 public:
  struct Called {
    uint16_t method = 0;
    std::string body;
    Done done;
  };

  explicit FakeLink(RpcHandler* handler) : handler_(handler) {}
  void Call(RpcRequest request, Done done) override {
    calls.push_back({request.method, std::move(request.body), std::move(done)});
  }
  void Close(const Error& why) override {
    if (std::exchange(closed, true)) return;
    handler_->OnDown(std::static_pointer_cast<RpcLink>(self.lock()), why);
    for (Called& call : std::exchange(calls, {})) call.done(ErrorCode::kUnavailable);
  }
  std::string peer() const override { return "10.0.0.9:1"; }

  std::vector<Called> calls;  // not answered
  bool closed = false;
  std::weak_ptr<FakeLink> self;

 private:
  RpcHandler* const handler_;
};

// A sync is answered on a thread of the store.
class FakeSink final : public RpcReply::Sink {
 public:
  void Send(uint64_t call, Result<std::string> body, Payload /*payload*/) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    EXPECT_TRUE(answers_.emplace(call, std::move(body)).second) << "answered twice";
  }
  std::optional<Result<std::string>> AnswerOf(uint64_t call) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = answers_.find(call);
    return found == answers_.end() ? std::nullopt : std::make_optional(found->second);
  }

 private:
  std::mutex mutex_;
  std::map<uint64_t, Result<std::string>> answers_;
};

// A node: a link, and what was answered on it.
class FakeNode {
 public:
  FakeNode(MetaServer* server, std::string identity) : server_(server), identity_(std::move(identity)) { Connect(); }

  void Connect() {
    link_ = std::make_shared<FakeLink>(server_);
    link_->self = link_;
    server_->OnUp(link_);
  }
  void LoseLink() { link_->Close(ErrorCode::kUnavailable); }

  // Starts a request; its answer is looked at later.
  uint64_t Start(MetaMethod method, const google::protobuf::Message& request) {
    return StartBytes(static_cast<uint16_t>(method), request.SerializeAsString());
  }
  uint64_t StartBytes(uint16_t method, std::string body) {
    server_->OnRequest(link_, method, std::move(body), RpcReply(sink_, ++last_call_));
    return last_call_;
  }
  bool IsAnswered(uint64_t call) const { return sink_->AnswerOf(call).has_value(); }
  template <class Reply>
  Result<Reply> AnswerOf(uint64_t call) const {
    const std::optional<Result<std::string>> answer = sink_->AnswerOf(call);
    if (!answer) return Error(ErrorCode::kWouldBlock, "not answered");
    if (!answer->ok()) return answer->error();
    return Parse<Reply>(**answer);
  }
  template <class Reply>
  Result<Reply> Ask(MetaMethod method, const google::protobuf::Message& request) {
    return AnswerOf<Reply>(Start(method, request));
  }

  Result<wire::JoinReply> Join(uint16_t number = 0) {
    wire::JoinRequest request;
    request.set_identity(identity_);
    request.set_name("name-" + identity_);
    request.set_address("10.0.0.1:7710");
    request.set_number(number);
    request.mutable_use()->set_ssd_bytes(1);
    auto reply = Ask<wire::JoinReply>(MetaMethod::kJoin, request);
    if (reply.ok()) number_ = static_cast<uint16_t>(reply->number());
    return reply;
  }
  Result<wire::HoldingsReply> Hold(const std::vector<std::pair<PageId, uint32_t>>& pages, bool complete = false) {
    wire::HoldingsRequest request;
    for (const auto& [page, tiers] : pages) {
      wire::Held* held = request.add_held();
      held->set_id(page.value);
      held->set_tiers(tiers);
    }
    request.set_complete(complete);
    return Ask<wire::HoldingsReply>(MetaMethod::kHoldings, request);
  }
  void JoinAndTellAll() {
    ASSERT_TRUE(Join().ok());
    ASSERT_TRUE(Hold({}, true).ok());
  }
  bool Heartbeat() { return Ask<wire::HeartbeatReply>(MetaMethod::kHeartbeat, wire::HeartbeatRequest()).ok(); }

  static wire::PublishRequest PublishRequestOf(const std::string& name, const PageInfo& page) {
    wire::PublishRequest request;
    ToWire(NameView{kRootDir, name}, request.mutable_name());
    ToWire(page, request.mutable_page());
    request.set_tiers(kMemoryTier);
    return request;
  }
  Result<wire::OutcomeReply> Publish(const std::string& name, const PageInfo& page) {
    return Ask<wire::OutcomeReply>(MetaMethod::kPublish, PublishRequestOf(name, page));
  }
  static wire::NameRequest Named(const std::string& name, DirId parent = kRootDir) {
    wire::NameRequest request;
    ToWire(NameView{parent, name}, request.mutable_name());
    return request;
  }
  Result<wire::EntryReply> Lookup(const std::string& name) {
    return Ask<wire::EntryReply>(MetaMethod::kLookup, Named(name));
  }
  // Node numbers and tiers; empty also when there is no such name.
  std::map<uint32_t, uint32_t> ReplicasOf(const std::string& name) {
    std::map<uint32_t, uint32_t> replicas;
    const auto entry = Lookup(name);
    if (!entry.ok()) return replicas;
    for (const wire::Replica& replica : entry->replicas()) replicas[replica.node()] = replica.tiers();
    return replicas;
  }
  Result<wire::AnnounceReply> Announce(const std::vector<std::string>& path, const PageInfo& page) {
    PageDescription described{.page = page, .path = path, .xattrs = {}};
    wire::AnnounceRequest request;
    wire::Announced* announced = request.add_pages();
    ToWire(page, announced->mutable_page());
    announced->set_description(EncodeDescription(described));
    announced->set_tiers(kSsdTier);
    return Ask<wire::AnnounceReply>(MetaMethod::kAnnounce, request);
  }

  // The revokes that wait for this node's word.
  std::vector<wire::RevokeRequest> Revokes() const {
    std::vector<wire::RevokeRequest> revokes;
    for (const FakeLink::Called& call : link_->calls) {
      EXPECT_EQ(call.method, static_cast<uint16_t>(MetaMethod::kRevoke));
      revokes.push_back(*Parse<wire::RevokeRequest>(call.body));
    }
    return revokes;
  }
  void Acknowledge() {
    for (FakeLink::Called& call : std::exchange(link_->calls, {})) call.done(RpcAnswer());
  }

  bool closed() const { return link_->closed; }
  FakeLink* link() const { return link_.get(); }
  uint16_t number() const { return number_; }

 private:
  MetaServer* const server_;
  const std::string identity_;
  std::shared_ptr<FakeLink> link_;
  std::shared_ptr<FakeSink> sink_ = std::make_shared<FakeSink>();
  uint64_t last_call_ = 0;
  uint16_t number_ = 0;
};

class MetaServerFixture : public ::testing::Test {
 protected:
  MetaServerFixture() { Restart(""); }

  void Restart(const std::string& state_dir) {
    server_.reset();
    MetaServer::Options options;
    options.state_dir = state_dir;
    options.root_owner = {5, 6, 0755};
    auto server = MetaServer::Open(options, &clock_, Log::Discard());
    ASSERT_TRUE(server.ok()) << server.error().text();
    server_ = std::move(*server);
  }
  std::unique_ptr<FakeNode> Node(const std::string& identity) {
    auto node = std::make_unique<FakeNode>(server_.get(), identity);
    node->JoinAndTellAll();
    return node;
  }
  // Time passes in ticks of 100 ms; `alive` nodes send heartbeats.
  void Pass(int64_t ms, const std::vector<FakeNode*>& alive) {
    for (int64_t passed = 0; passed < ms; passed += 100) {
      clock_.Advance(100 * kMs);
      for (FakeNode* node : alive) EXPECT_TRUE(node->Heartbeat());
      server_->Tick();
    }
  }
  static PageInfo PageOf(uint16_t node, uint64_t counter, uint64_t content = 0) {
    PageInfo page = Page(counter, content);
    page.id = PageId::Make(node, counter);
    return page;
  }

  ManualClock clock_;
  std::unique_ptr<MetaServer> server_;
};

}  // namespace kvpagefs::testing
