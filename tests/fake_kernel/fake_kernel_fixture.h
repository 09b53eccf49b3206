// A node and a session whose kernel is the test.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "child_process.h"
#include "client.h"
#include "fake_kernel.h"
#include "fs/node.h"
#include "fs/node_state.h"
#include "fs/session.h"

namespace kvpagefs {

class FakeKernelTest : public testing::Test {
 protected:
  static constexpr uint64_t kMiB = uint64_t{1} << 20;
  static constexpr int64_t kDeadlineMs = 60'000;

  void SetUp() override {
    options_.memory_bytes = 8 * kMiB;
    options_.huge_pages = HugePages::kOff;
    options_.prefault = false;
    options_.node_name = "node-a";
    options_.threads = 2;
    if (starts_at_set_up_) StartAndShakeHands();
  }
  void TearDown() override {
    if (node_ == nullptr) return;
    EndSession();
    EXPECT_EQ(kernel_.surplus_replies(), 0u);
    const Status consistent = state().tier->CheckInvariants();
    EXPECT_TRUE(consistent.ok()) << consistent.error().Describe();
    node_.reset();
  }

  // Before the first request.
  virtual void OnNodeMade() {}

  void Start() {
    options_.mount_point = fmt::format("/dev/fd/{}", kernel_.TakeDaemonEnd());
    auto node = Node::Create(options_, Log::Discard());
    ASSERT_TRUE(node.ok()) << node.error().Describe();
    node_ = std::move(*node);
    OnNodeMade();
    auto session = Session::Start(options_, node_.get(), Log::Discard());
    ASSERT_TRUE(session.ok()) << session.error().Describe();
    session_ = std::move(*session);
  }
  void StartAndShakeHands() {
    Start();
    ASSERT_TRUE(kernel_.Init().ok());
    ASSERT_TRUE(session_->WaitUntilReady(kDeadlineMs));
  }
  void EndSession() {
    session_.reset();
    kernel_.Disconnect();
  }

  Node::State& state() { return node_->state(); }
  uint64_t Count(Counter counter) { return state().counters.Get(counter); }
  // True when `condition` came true in time.
  template <class Condition>
  bool Eventually(Condition condition) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(kDeadlineMs);
    while (!condition()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::yield();
    }
    return true;
  }

  Options options_;
  bool starts_at_set_up_ = true;
  FakeKernel kernel_;
  std::unique_ptr<Node> node_;
  std::unique_ptr<Session> session_;
  ChildProcess other_process_;
  Client me_{&kernel_, static_cast<uint32_t>(gettid())};
  Client other_{&kernel_, other_process_.tid()};
};

}  // namespace kvpagefs
