// Calls between a server and a client: link.cc, link_read.cc, link_write.cc
#include <thread>

#include "unit/net/rpc_fixture.h"

namespace kvpagefs {
namespace {

using net_test::Await;
using net_test::CallAndWait;
using net_test::LinkPtr;
using net_test::MakeRequest;
using net_test::RpcTest;
using net_test::StartCall;
using net_test::WaitFor;

class RpcCallTest : public RpcTest {};

TEST_F(RpcCallTest, AnswersAndErrors) {
  const LinkPtr link = StartBoth();
  const Result<RpcAnswer> answer = CallAndWait(link, MakeRequest(net_test::kEcho, "hello"));
  ASSERT_TRUE(answer.ok()) << answer.error().Describe();
  EXPECT_EQ(answer->body, "hello");
  EXPECT_EQ(answer->payload_bytes, 0U);
  const Result<RpcAnswer> refused = CallAndWait(link, MakeRequest(net_test::kRefuse, "page"));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.code(), ErrorCode::kNotFound);
  EXPECT_EQ(refused.error().text(), "no page");
  EXPECT_EQ(client_->problem(), "");
  EXPECT_EQ(link->peer(), server_->address().ToString());
}

TEST_F(RpcCallTest, BodiesOfAllSizes) {
  const LinkPtr link = StartBoth();
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{31}, size_t{4096}, size_t{4097}, size_t{65'504},
                             size_t{65'505}, size_t{1} << 20, kMaxBodyBytes}) {
    std::string body(bytes, '\0');
    for (size_t i = 0; i < bytes; ++i) body[i] = static_cast<char>(i * 7 + i / 251);
    const Result<RpcAnswer> answer = CallAndWait(link, MakeRequest(net_test::kEcho, body));
    ASSERT_TRUE(answer.ok()) << answer.error().Describe();
    EXPECT_TRUE(answer->body == body) << bytes;
  }
  EXPECT_EQ(CallAndWait(link, MakeRequest(net_test::kEcho, std::string(kMaxBodyBytes + 1, 'x'))).code(),
            ErrorCode::kTooLarge);
}

TEST_F(RpcCallTest, DroppedReplyIsUnavailable) {
  const LinkPtr link = StartBoth();
  EXPECT_EQ(CallAndWait(link, MakeRequest(net_test::kDrop, "")).code(), ErrorCode::kUnavailable);
  EXPECT_TRUE(CallAndWait(link, MakeRequest(net_test::kEcho, "")).ok());
}

TEST_F(RpcCallTest, ServerCallsClient) {
  const LinkPtr link = StartBoth();
  const Result<RpcAnswer> answer = CallAndWait(link, MakeRequest(net_test::kCallBack, "x"));
  ASSERT_TRUE(answer.ok()) << answer.error().Describe();
  EXPECT_EQ(answer->body, "called back: x");
  EXPECT_THAT(at_client_.bodies(), ::testing::ElementsAre("x"));
}

TEST_F(RpcCallTest, ContextIsKept) {
  at_server_.set_on_up([](const LinkPtr& link) { link->set_context(std::make_shared<int>(7)); });
  const LinkPtr link = StartBoth();
  ASSERT_TRUE(CallAndWait(link, MakeRequest(net_test::kEcho, "")).ok());
  EXPECT_EQ(*static_cast<int*>(at_server_.link()->context().get()), 7);
}

TEST_F(RpcCallTest, CallsOfOnUpComeFirst) {
  at_client_.set_on_up([](const LinkPtr& link) {
    for (int i = 0; i < 100; ++i) link->Call(MakeRequest(net_test::kEcho, std::to_string(i)), [](const auto&) {});
  });
  const LinkPtr link = StartBoth();
  ASSERT_TRUE(CallAndWait(link, MakeRequest(net_test::kEcho, "last")).ok());
  const std::vector<std::string> bodies = at_server_.bodies();
  ASSERT_EQ(bodies.size(), 101U);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(bodies[i], std::to_string(i));
}

TEST_F(RpcCallTest, RequestsAreHandledInOrder) {
  const LinkPtr link = StartBoth();
  std::vector<std::future<Result<RpcAnswer>>> calls;
  for (int i = 0; i < 5000; ++i) {
    const size_t bytes = i % 97 == 0 ? 10'000 : 10;
    std::string body = std::to_string(i);
    body.resize(bytes, ' ');
    calls.push_back(StartCall(link, MakeRequest(net_test::kEcho, std::move(body))));
  }
  for (auto& call : calls) EXPECT_TRUE(Await(std::move(call)).ok());
  const std::vector<std::string> bodies = at_server_.bodies();
  ASSERT_EQ(bodies.size(), 5000U);
  for (int i = 0; i < 5000; ++i) EXPECT_EQ(std::stoi(bodies[i]), i);
}

// A request sent behind an answer is handled behind it.
TEST_F(RpcCallTest, RequestsStayBehindAnswers) {
  const LinkPtr link = StartBoth();
  for (int round = 0; round < 200; ++round) {
    std::atomic<bool> answered{false};
    std::promise<bool> first;
    link->Call(MakeRequest(net_test::kHold, ""), [&](const auto&) { answered = true; });
    at_client_.set_on_up({});
    std::vector<RpcReply> held = at_server_.TakeHeld(1);
    held[0].Ok(std::string(round % 2 == 0 ? 0 : 9000, 'x'));
    at_server_.link()->Call(MakeRequest(net_test::kEcho, "r"), [&](const auto&) { first.set_value(answered); });
    EXPECT_TRUE(Await(first.get_future()));
  }
}

TEST_F(RpcCallTest, ManyThreads) {
  const LinkPtr link = StartBoth();
  constexpr int kThreads = 4;
  constexpr int kCalls = 5000;
  std::atomic<int> right{0};
  std::atomic<int> ended{0};
  {
    std::vector<std::jthread> callers;
    for (int t = 0; t < kThreads; ++t) {
      callers.emplace_back([&, t] {
        for (int i = 0; i < kCalls; ++i) {
          const std::string body = std::to_string(t) + " " + std::to_string(i);
          link->Call(MakeRequest(net_test::kEcho, body), [&, body](const Result<RpcAnswer>& answer) {
            if (answer.ok() && answer->body == body) ++right;
            ++ended;
          });
        }
      });
    }
  }
  EXPECT_TRUE(WaitFor([&] { return ended == kThreads * kCalls; }));
  EXPECT_EQ(right, kThreads * kCalls);
}

TEST_F(RpcCallTest, AnswersComeInAnyOrderFromOtherThreads) {
  const LinkPtr link = StartBoth();
  std::vector<std::future<Result<RpcAnswer>>> calls;
  for (int i = 0; i < 100; ++i) calls.push_back(StartCall(link, MakeRequest(net_test::kHold, "")));
  std::vector<RpcReply> held = at_server_.TakeHeld(100);
  std::vector<std::jthread> answerers;
  for (int t = 0; t < 4; ++t) {
    answerers.emplace_back([&, t] {
      for (int i = 99 - t; i >= 0; i -= 4) held[i].Ok(std::to_string(i));
    });
  }
  for (int i = 0; i < 100; ++i) {
    const Result<RpcAnswer> answer = Await(std::move(calls[i]));
    ASSERT_TRUE(answer.ok());
    EXPECT_EQ(answer->body, std::to_string(i));
  }
}

// L1, L3: more than kMaxCallsPerLink end at once.
TEST_F(RpcCallTest, TooManyCallsAreUnavailable) {
  const LinkPtr link = StartBoth();
  std::atomic<size_t> ended{0};
  for (size_t i = 0; i < kMaxCallsPerLink; ++i) {
    link->Call(MakeRequest(net_test::kHold, ""),
               [&](const Result<RpcAnswer>& answer) { ended += answer.ok() ? 1 : 0; });
  }
  const Result<RpcAnswer> refused = CallAndWait(link, MakeRequest(net_test::kEcho, ""));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.code(), ErrorCode::kUnavailable);
  EXPECT_THAT(refused.error().text(), ::testing::HasSubstr("too many calls"));
  for (RpcReply& reply : at_server_.TakeHeld(kMaxCallsPerLink)) reply.Ok("");
  EXPECT_TRUE(WaitFor([&] { return ended == kMaxCallsPerLink; }));
  EXPECT_TRUE(CallAndWait(link, MakeRequest(net_test::kEcho, "")).ok());
}

}  // namespace
}  // namespace kvpagefs
