// Nodes that serve pages from small memory tiers, and a reader that finds them through a cluster made up by the test.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/checksum.h"
#include "fs/page_server.h"
#include "fs/peers.h"
#include "fs/remote_pages.h"
#include "unit/net/wait_for.h"

namespace kvpagefs {

using net_test::WaitFor;

class FakeCluster final : public Cluster {
 public:
  void Locate(PageId id, Completion<Replicas> done) override {
    Result<Replicas> answer = ErrorCode::kUnavailable;
    {
      const std::lock_guard lock(mutex_);
      ++locates_;
      const auto found = replicas_.find(id.value);
      if (reachable_) answer = found != replicas_.end() ? found->second : Replicas();
    }
    done(std::move(answer));
  }
  void ForgetLocation(PageId id) override {
    const std::lock_guard lock(mutex_);
    ++forgotten_;
    const auto moved = moved_.find(id.value);
    if (moved != moved_.end()) replicas_[id.value] = moved->second;
  }
  void NoteHeld(PageId, uint8_t) override {}
  std::vector<Member> Members() const override {
    const std::lock_guard lock(mutex_);
    std::vector<Member> members;
    for (const auto& [number, member] : members_) members.push_back(member);
    return members;
  }
  std::string AddressOf(uint16_t node) const override {
    const std::lock_guard lock(mutex_);
    const auto found = members_.find(node);
    return found == members_.end() ? "" : found->second.address;
  }
  uint16_t number() const override { return 1; }
  bool connected() const override { return true; }

  void SetMember(uint16_t number, const std::string& address, const std::string& state = "up") {
    const std::lock_guard lock(mutex_);
    Member member;
    member.number = number;
    member.address = address;
    member.state = state;
    members_[number] = member;
  }
  void SetReplicas(PageId id, const Replicas& replicas) {
    const std::lock_guard lock(mutex_);
    replicas_[id.value] = replicas;
  }
  // What the service says when it is asked anew.
  void SetMoved(PageId id, const Replicas& replicas) {
    const std::lock_guard lock(mutex_);
    moved_[id.value] = replicas;
  }
  void SetReachable(bool reachable) {
    const std::lock_guard lock(mutex_);
    reachable_ = reachable;
  }
  int locates() const {
    const std::lock_guard lock(mutex_);
    return locates_;
  }
  int forgotten() const {
    const std::lock_guard lock(mutex_);
    return forgotten_;
  }

 private:
  mutable std::mutex mutex_;
  std::map<uint16_t, Member> members_;
  std::map<uint64_t, Replicas> replicas_;
  std::map<uint64_t, Replicas> moved_;
  bool reachable_ = true;
  int locates_ = 0;
  int forgotten_ = 0;
};

// A node with a page server.
class ServingNode {
 public:
  explicit ServingNode(NetThreads* threads) : threads_(threads) {
    auto segment = Segment::Map({.bytes = uint64_t{16} << 20, .huge_pages = HugePages::kOff});
    EXPECT_TRUE(segment.ok());
    tier_ = std::move(*MemoryTier::Create(std::move(*segment), {}, &clock_, nullptr));
    server_ = std::make_unique<PageServer>(
        [this](const FetchedPage& page, int64_t, Promoter::Answer answer) { Hold(page, std::move(answer)); },
        &counters_);
    Listen();
  }
  ~ServingNode() {
    Close();
    const std::lock_guard lock(mutex_);
    waiting_.clear();
  }
  // The port changes with each.
  void Listen() {
    RpcServer::Options options;
    options.listen = {"127.0.0.1", 0};
    options.identity = {kPeerService, "secret"};
    auto listening = RpcServer::Listen(threads_, options, server_.get(), Log::Discard());
    ASSERT_TRUE(listening.ok()) << listening.error().Describe();
    rpc_ = std::move(*listening);
    address_ = rpc_->address().ToString();
  }
  void Close() { rpc_.reset(); }

  void Put(PageId id, const std::string& bytes) {
    std::unique_ptr<Draft> draft = tier_->NewDraft();
    ASSERT_TRUE(draft->Write(0, {reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}).ok());
    ASSERT_TRUE(tier_->Seal(id, draft, Pin::kNone).ok());
  }
  // Other bytes than the checksum says.
  void PutWrong(const FetchedPage& page) {
    std::unique_ptr<Draft> draft = tier_->NewDraft();
    std::vector<iovec> blocks;
    ASSERT_TRUE(draft->Prepare(page.bytes, &blocks).ok());
    for (const iovec& block : blocks) std::memset(block.iov_base, 'w', block.iov_len);
    ASSERT_TRUE(tier_->Adopt({.id = page.id, .checksum = page.checksum}, draft).ok());
  }
  // Requests are not answered until Release.
  void SetSilent(bool silent) {
    const std::lock_guard lock(mutex_);
    silent_ = silent;
  }
  size_t waiting() const {
    const std::lock_guard lock(mutex_);
    return waiting_.size();
  }
  void Release() {
    std::vector<std::pair<FetchedPage, Promoter::Answer>> waiting;
    {
      const std::lock_guard lock(mutex_);
      silent_ = false;
      waiting = std::exchange(waiting_, {});
    }
    for (auto& [page, answer] : waiting) answer(tier_->Hold(page.id, MemoryTier::Touch::kRead));
  }
  int asked() const { return asked_.load(); }
  const std::string& address() const { return address_; }
  uint64_t served() const { return counters_.Get(Counter::kServedPages); }

 private:
  void Hold(const FetchedPage& page, Promoter::Answer answer) {
    ++asked_;
    {
      const std::lock_guard lock(mutex_);
      if (silent_) {
        waiting_.emplace_back(page, std::move(answer));
        return;
      }
    }
    answer(tier_->Hold(page.id, MemoryTier::Touch::kRead));
  }

  NetThreads* const threads_;
  ManualClock clock_;
  Counters counters_;
  std::unique_ptr<MemoryTier> tier_;
  std::unique_ptr<PageServer> server_;
  std::unique_ptr<RpcServer> rpc_;
  std::string address_;
  std::atomic<int> asked_{0};
  mutable std::mutex mutex_;
  bool silent_ = false;
  std::vector<std::pair<FetchedPage, Promoter::Answer>> waiting_;
};

// Memory for one page, and how the read ended.
struct RemoteRead {
  std::shared_ptr<std::string> memory;
  std::weak_ptr<std::string> kept;
  std::future<Status> ended;
};

class RemotePagesTest : public testing::Test {
 protected:
  static constexpr int64_t kLongMs = 120'000;

  void SetUp() override {
    for (uint16_t number = 2; number <= 4; ++number) {
      nodes_[number] = std::make_unique<ServingNode>(&threads_);
      cluster_.SetMember(number, nodes_[number]->address());
    }
  }
  void TearDown() override {
    for (auto& [number, node] : nodes_) node->Release();
    peers_.Stop();
  }

  static std::string Pattern(uint64_t bytes, uint64_t seed) {
    std::string out(bytes, 0);
    uint64_t state = seed * 0x9E3779B97F4A7C15u + 1;
    for (char& c : out) {
      state ^= state << 13;
      state ^= state >> 7;
      state ^= state << 17;
      c = static_cast<char>(state >> 24);
    }
    return out;
  }
  static FetchedPage PageOf(uint64_t counter, const std::string& bytes) {
    const uint64_t checksum = Checksum({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()});
    return {.id = PageId::Make(9, counter), .bytes = bytes.size(), .checksum = checksum, .pin = Pin::kNone};
  }
  RemoteRead Start(const FetchedPage& page, int64_t timeout_ms = kLongMs) {
    RemoteRead started;
    started.memory = std::make_shared<std::string>((page.bytes + 4095) / 4096 * 4096, '-');
    started.kept = started.memory;
    RemotePages::Read read;
    read.page = page;
    for (size_t at = 0; at < started.memory->size(); at += 4096) {
      read.blocks.push_back({started.memory->data() + at, 4096});
    }
    read.keep = started.memory;
    read.deadline_ns = clock_.MonotonicNs() + timeout_ms * 1'000'000;
    const auto promise = std::make_shared<std::promise<Status>>();
    started.ended = promise->get_future();
    remote_.Start(std::move(read), [promise](const Status& status) { promise->set_value(status); });
    return started;
  }
  // The bytes, or the error as text.
  std::string Fetch(const FetchedPage& page, int64_t timeout_ms = kLongMs) {
    RemoteRead started = Start(page, timeout_ms);
    const Status status = net_test::Await(std::move(started.ended));
    return status.ok() ? started.memory->substr(0, page.bytes) : status.error().Describe();
  }
  static std::string NotFound() { return Error(ErrorCode::kNotFound).Describe(); }
  uint64_t Count(Counter counter) const { return counters_.Get(counter); }

  NetThreads threads_{2};
  const SystemClock clock_;
  Counters counters_;
  FakeCluster cluster_;
  std::map<uint16_t, std::unique_ptr<ServingNode>> nodes_;
  Peers peers_{&threads_, &cluster_, "secret", Log::Discard()};
  RemotePages remote_{{&cluster_, &peers_, &clock_, &counters_, Log::Discard()}};
};

}  // namespace kvpagefs
