// Nodes on threads of their own, as on those of the network: no deadlock, every request answered, all agree at the end.
#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <random>
#include <thread>

#include "unit/meta/meta_server_fixture.h"

namespace kvpagefs {
namespace {

using testing::FakeNode;

// Runs what is posted, in order, on a thread of its own.
class Loop {
 public:
  Loop() : thread_([this] { Run(); }) {}
  ~Loop() {
    Post(nullptr);
    thread_.join();
  }
  void Post(std::function<void()> work) {
    const std::lock_guard<std::mutex> lock(mutex_);
    queue_.push_back(std::move(work));
    wake_.notify_one();
  }

 private:
  void Run() {
    for (;;) {
      std::unique_lock<std::mutex> lock(mutex_);
      wake_.wait(lock, [this] { return !queue_.empty(); });
      const std::function<void()> work = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      if (work == nullptr) return;
      work();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> queue_;
  std::thread thread_;
};

// Acknowledges everything, from the loop.
class AckingLink final : public RpcLink {
 public:
  explicit AckingLink(Loop* loop) : loop_(loop) {}
  void Call(RpcRequest /*request*/, Done done) override {
    ++calls;
    loop_->Post([done = std::move(done)] { done(RpcAnswer()); });
  }
  void Close(const Error& /*why*/) override { closed = true; }
  std::string peer() const override { return "here"; }
  std::atomic<bool> closed = false;
  std::atomic<int> calls = 0;

 private:
  Loop* const loop_;
};

struct WaitingSink final : RpcReply::Sink {
  void Send(uint64_t /*call*/, Result<std::string> body, Payload /*payload*/) override {
    const std::lock_guard<std::mutex> lock(mutex);
    answer.emplace(std::move(body));
    wake.notify_one();
  }
  std::mutex mutex;
  std::condition_variable wake;
  std::optional<Result<std::string>> answer;
};

class ThreadNode {
 public:
  ThreadNode(MetaServer* server, int number) : server_(server), link_(std::make_shared<AckingLink>(&loop_)) {
    server_->OnUp(link_);
    wire::JoinRequest join;
    join.set_identity("node" + std::to_string(number));
    join.set_name("name");
    EXPECT_TRUE(Ask(MetaMethod::kJoin, join).ok());
    wire::HoldingsRequest all;
    all.set_complete(true);
    EXPECT_TRUE(Ask(MetaMethod::kHoldings, all).ok());
  }
  ~ThreadNode() { server_->OnDown(link_, ErrorCode::kUnavailable); }

  Result<std::string> Ask(MetaMethod method, const google::protobuf::Message& request) {
    const auto sink = std::make_shared<WaitingSink>();
    server_->OnRequest(link_, static_cast<uint16_t>(method), request.SerializeAsString(), RpcReply(sink, 1));
    std::unique_lock<std::mutex> lock(sink->mutex);
    if (!sink->wake.wait_for(lock, std::chrono::seconds(60), [&] { return sink->answer.has_value(); })) {
      return ErrorCode::kInterrupted;
    }
    return *sink->answer;
  }
  bool closed() const { return link_->closed; }
  int revokes() const { return link_->calls; }

 private:
  MetaServer* const server_;
  Loop loop_;
  std::shared_ptr<AckingLink> link_;
};

class MetaServerThreadsTest : public testing::MetaServerFixture {
 protected:
  static void Work(ThreadNode* node, uint16_t number, uint32_t seed) {
    std::mt19937 random(seed);
    for (uint64_t i = 1; i <= 5'000; ++i) {
      const std::string name = "p" + std::to_string(random() % 20);
      Result<std::string> answer(ErrorCode::kInvalid);
      switch (random() % 5) {
        case 0: answer = node->Ask(MetaMethod::kUnlink, FakeNode::Named(name)); break;
        case 1: answer = node->Ask(MetaMethod::kLookup, FakeNode::Named(name)); break;
        case 2: {
          wire::RenameRequest rename;
          *rename.mutable_from() = FakeNode::Named(name).name();
          *rename.mutable_to() = FakeNode::Named("p" + std::to_string(random() % 20)).name();
          answer = node->Ask(MetaMethod::kRename, rename);
          break;
        }
        case 3: answer = node->Ask(MetaMethod::kHeartbeat, wire::HeartbeatRequest()); break;
        default:
          answer =
              node->Ask(MetaMethod::kPublish, FakeNode::PublishRequestOf(name, PageOf(number, i, random() % 5 + 1)));
      }
      ASSERT_TRUE(answer.ok() || answer.code() == ErrorCode::kNotFound) << answer.error().Describe();
      std::this_thread::yield();
    }
  }
};

TEST_F(MetaServerThreadsTest, EveryRequestIsAnswered) {
  std::vector<std::unique_ptr<ThreadNode>> nodes;
  for (int i = 1; i <= 4; ++i) nodes.push_back(std::make_unique<ThreadNode>(server_.get(), i));
  std::atomic<bool> done = false;
  std::thread ticker([&] {
    while (!done) {
      clock_.Advance(1000);
      server_->Tick();
      std::this_thread::yield();
    }
  });
  std::vector<std::thread> threads;
  for (uint16_t i = 1; i <= 4; ++i) {
    threads.emplace_back([node = nodes[i - 1].get(), i] { Work(node, i, i); });
  }
  for (std::thread& thread : threads) thread.join();
  done = true;
  ticker.join();
  int revokes = 0;
  for (const auto& node : nodes) {
    EXPECT_FALSE(node->closed());
    revokes += node->revokes();
  }
  EXPECT_GT(revokes, 0);
  EXPECT_EQ(server_->GetStats().names.pages, server_->GetStats().pages_with_copies);  // D1
}

}  // namespace
}  // namespace kvpagefs
