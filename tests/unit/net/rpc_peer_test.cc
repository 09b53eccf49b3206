// Peers that misbehave after the handshake: link_read.cc, link_time.cc, link_write.cc
#include <random>

#include "unit/net/raw_peer.h"
#include "unit/net/rpc_fixture.h"

namespace kvpagefs {
namespace {

using net_test::Await;
using net_test::CallAndWait;
using net_test::ExchangeHellos;
using net_test::LinkPtr;
using net_test::MakeFrame;
using net_test::MakeHeader;
using net_test::MakeHello;
using net_test::MakeRequest;
using net_test::RawListener;
using net_test::RawPeer;
using net_test::RpcTest;
using net_test::StartCall;
using net_test::WaitFor;

// The test is the client of a server.
class RpcPeerTest : public RpcTest {
 protected:
  RawPeer ConnectRaw() {
    StartServer();
    RawPeer peer = RawPeer::Connect(server_->address().port);
    EXPECT_EQ(ExchangeHellos(peer, MakeHello("meta")).size(), kHelloFixedBytes + 4);
    return peer;
  }
  // The link was lost for that.
  void ExpectDown(const RawPeer& peer, const std::string& why) {
    EXPECT_TRUE(peer.ReadToEnd());
    ASSERT_TRUE(WaitFor([&] { return !at_server_.whys().empty(); }));
    EXPECT_THAT(at_server_.whys()[0], ::testing::HasSubstr(why));
    EXPECT_EQ(at_server_.ups(), 1U);
  }
};

TEST_F(RpcPeerTest, SpeaksProperly) {
  const RawPeer peer = ConnectRaw();
  peer.Send(MakeFrame(MakeHeader(FrameType::kRequest, net_test::kEcho, 5), "abc"));
  EXPECT_EQ(peer.Read(kFrameHeaderBytes + 3), MakeFrame(MakeHeader(FrameType::kAnswer, 0, 5), "abc"));
  peer.Send(MakeFrame(MakeHeader(FrameType::kRequest, net_test::kRefuse, 6), "x"));
  EXPECT_EQ(peer.Read(kFrameHeaderBytes + 4), MakeFrame(MakeHeader(FrameType::kError, 1, 6), "no x"));
}

TEST_F(RpcPeerTest, FramesInSingleBytes) {
  const RawPeer peer = ConnectRaw();
  for (const char byte : MakeFrame(MakeHeader(FrameType::kRequest, net_test::kEcho, 5), "abc")) {
    peer.Send(std::string(1, byte));
  }
  EXPECT_EQ(peer.Read(kFrameHeaderBytes + 3), MakeFrame(MakeHeader(FrameType::kAnswer, 0, 5), "abc"));
}

TEST_F(RpcPeerTest, WrongMagic) {
  const RawPeer peer = ConnectRaw();
  peer.Send(std::string(kFrameHeaderBytes, 'G'));
  ExpectDown(peer, "malformed frame: wrong magic");
}

TEST_F(RpcPeerTest, HugeBody) {
  const RawPeer peer = ConnectRaw();
  std::string frame = MakeFrame(MakeHeader(FrameType::kRequest, net_test::kEcho, 1));
  frame.replace(16, 4, "\xFF\xFF\xFF\xFF");
  peer.Send(frame);
  ExpectDown(peer, "body of 4294967295 bytes");
}

TEST_F(RpcPeerTest, RequestWithPayload) {
  const RawPeer peer = ConnectRaw();
  std::string frame = MakeFrame(MakeHeader(FrameType::kRequest, net_test::kEcho, 1));
  frame[24] = 1;
  peer.Send(frame);
  ExpectDown(peer, "payload outside an answer");
}

TEST_F(RpcPeerTest, SameIdTwice) {
  const RawPeer peer = ConnectRaw();
  const std::string frame = MakeFrame(MakeHeader(FrameType::kRequest, net_test::kHold, 9));
  peer.Send(frame + frame);
  ExpectDown(peer, "the id of a call is not above those before");
  for (RpcReply& reply : at_server_.TakeHeld(1)) reply.Ok("nobody hears it");
}

TEST_F(RpcPeerTest, AnswersNobodyAskedFor) {
  const RawPeer peer = ConnectRaw();
  peer.Send(MakeFrame(MakeHeader(FrameType::kAnswer, 0, 65'536), "x"));
  ExpectDown(peer, "an answer to a call that was not made");
}

TEST_F(RpcPeerTest, PayloadNobodyAskedFor) {
  const RawPeer peer = ConnectRaw();
  peer.Send(MakeFrame(MakeHeader(FrameType::kAnswer, 0, 1, 100), "x"));
  ExpectDown(peer, "an answer to a call that was not made");
}

TEST_F(RpcPeerTest, ErrorNobodyAskedFor) {
  const RawPeer peer = ConnectRaw();
  peer.Send(MakeFrame(MakeHeader(FrameType::kError, 3, 1), "x"));
  ExpectDown(peer, "an answer to a call that was not made");
}

TEST_F(RpcPeerTest, ClosesInAFrame) {
  RawPeer peer = ConnectRaw();
  peer.Send(MakeFrame(MakeHeader(FrameType::kRequest, net_test::kEcho, 1), "abc").substr(0, 34));
  peer.Close();
  ASSERT_TRUE(WaitFor([&] { return !at_server_.whys().empty(); }));
  EXPECT_THAT(at_server_.whys()[0], ::testing::HasSubstr("closed the connection in a frame"));
}

TEST_F(RpcPeerTest, StallsInAHeader) {
  const RawPeer peer = ConnectRaw();
  peer.Send(MakeFrame(MakeHeader(FrameType::kRequest, net_test::kEcho, 1)).substr(0, 7));
  ExpectDown(peer, "stopped in the middle of a frame");
}

TEST_F(RpcPeerTest, StallsInABody) {
  const RawPeer peer = ConnectRaw();
  peer.Send(MakeFrame(MakeHeader(FrameType::kRequest, net_test::kEcho, 1), std::string(5000, 'x')).substr(0, 4000));
  ExpectDown(peer, "stopped in the middle of a frame");
}

TEST_F(RpcPeerTest, DoesNotRead) {
  const RawPeer peer = ConnectRaw();
  const std::string body(kMaxBodyBytes, 'x');
  for (uint64_t call = 1; call <= 8; ++call)
    peer.Send(MakeFrame(MakeHeader(FrameType::kRequest, net_test::kEcho, call), body));
  ASSERT_TRUE(WaitFor([&] { return !at_server_.whys().empty(); }));
  EXPECT_THAT(at_server_.whys()[0], ::testing::HasSubstr("does not read what it is sent"));
}

TEST_F(RpcPeerTest, Garbage) {
  StartServer();
  std::minstd_rand random(1);
  for (int round = 0; round < 50; ++round) {
    const RawPeer peer = RawPeer::Connect(server_->address().port);
    ExchangeHellos(peer, MakeHello("meta"));
    std::string garbage = MakeFrame(MakeHeader(FrameType::kRequest, net_test::kEcho, 1), "abc");
    garbage[random() % 6] = static_cast<char>(random());
    for (int i = 0; i < 1000; ++i) garbage += static_cast<char>(random());
    peer.Send(garbage);
    EXPECT_TRUE(peer.ReadToEnd());
  }
  StartClient(ClientOptions());
  EXPECT_TRUE(CallAndWait(WaitForLink(), MakeRequest(net_test::kEcho, "")).ok());
}

// The test is the server of a client.
class RpcFalseServerTest : public RpcTest {
 protected:
  void SetUp() override {
    RpcClient::Options options;
    options.addresses = {{"127.0.0.1", listener_.port()}};
    options.identity = {"meta", ""};
    options.connect_timeout_ms = 30'000;
    StartClient(options);
    peer_ = listener_.Accept();
    ExchangeHellos(peer_, MakeHello("meta"));
    link_ = WaitForLink();
    ASSERT_NE(link_, nullptr);
  }
  // The id of the request that comes next.
  uint64_t ReadRequest() const {
    const std::string bytes = peer_.Read(kFrameHeaderBytes);
    const Result<FrameHeader> header = bytes.size() == kFrameHeaderBytes ? DecodeFrame(bytes.data()) : ErrorCode::kLost;
    EXPECT_TRUE(header.ok());
    if (!header.ok()) return 0;
    peer_.Read(header->body_bytes);
    return header->call;
  }
  static RpcRequest MakePayloadRequest(const std::shared_ptr<std::string>& memory, int64_t timeout_ms) {
    RpcRequest request = MakeRequest(net_test::kPayload, "", timeout_ms);
    request.into = {{memory->data(), memory->size()}};
    request.keep = memory;
    return request;
  }

  RawListener listener_;
  RawPeer peer_;
  LinkPtr link_;
};

TEST_F(RpcFalseServerTest, DeadlineBeforeTheAnswer) {
  auto call = StartCall(link_, MakeRequest(net_test::kEcho, "", 20));
  const uint64_t id = ReadRequest();
  EXPECT_EQ(Await(std::move(call)).code(), ErrorCode::kInterrupted);
  // The late answer is nobody's; the link goes on.
  peer_.Send(MakeFrame(MakeHeader(FrameType::kAnswer, 0, id), "late"));
  auto next = StartCall(link_, MakeRequest(net_test::kEcho, ""));
  peer_.Send(MakeFrame(MakeHeader(FrameType::kAnswer, 0, ReadRequest()), "good"));
  const Result<RpcAnswer> answer = Await(std::move(next));
  ASSERT_TRUE(answer.ok()) << answer.error().Describe();
  EXPECT_EQ(answer->body, "good");
}

// L2
TEST_F(RpcFalseServerTest, LatePayloadIsThrownAway) {
  const auto memory = std::make_shared<std::string>(300'000, '#');
  auto call = StartCall(link_, MakePayloadRequest(memory, 20));
  const uint64_t id = ReadRequest();
  EXPECT_EQ(Await(std::move(call)).code(), ErrorCode::kInterrupted);
  EXPECT_TRUE(WaitFor([&] { return memory.use_count() == 1; }));
  peer_.Send(MakeFrame(MakeHeader(FrameType::kAnswer, 0, id, memory->size()), "late") +
             std::string(memory->size(), 'p'));
  auto next = StartCall(link_, MakeRequest(net_test::kEcho, ""));
  peer_.Send(MakeFrame(MakeHeader(FrameType::kAnswer, 0, ReadRequest()), "good"));
  EXPECT_TRUE(Await(std::move(next)).ok());
  EXPECT_EQ(*memory, std::string(300'000, '#'));
}

TEST_F(RpcFalseServerTest, LateAnswerComesOnlyOnce) {
  auto call = StartCall(link_, MakeRequest(net_test::kEcho, "", 20));
  const uint64_t id = ReadRequest();
  EXPECT_EQ(Await(std::move(call)).code(), ErrorCode::kInterrupted);
  const std::string late = MakeFrame(MakeHeader(FrameType::kAnswer, 0, id), "late");
  peer_.Send(late + late);
  ExpectProblem("an answer to a call that was not made");
}

// L1, L2: a payload under way is not waited for; the link is given up.
TEST_F(RpcFalseServerTest, DeadlineWithinThePayload) {
  const auto memory = std::make_shared<std::string>(1000, '#');
  auto other = StartCall(link_, MakeRequest(net_test::kEcho, ""));
  ReadRequest();
  auto call = StartCall(link_, MakePayloadRequest(memory, 100));
  peer_.Send(MakeFrame(MakeHeader(FrameType::kAnswer, 0, ReadRequest(), 1000)) + "half");
  EXPECT_EQ(Await(std::move(call)).code(), ErrorCode::kInterrupted);
  EXPECT_EQ(Await(std::move(other)).code(), ErrorCode::kUnavailable);
  ExpectProblem("did not come in time");
  EXPECT_EQ(memory->find_first_not_of("half#"), std::string::npos);
}

TEST_F(RpcFalseServerTest, StallsInThePayload) {
  const auto memory = std::make_shared<std::string>(1000, '#');
  auto call = StartCall(link_, MakePayloadRequest(memory, net_test::kLongMs));
  peer_.Send(MakeFrame(MakeHeader(FrameType::kAnswer, 0, ReadRequest(), 1000)) + "half");
  const Result<RpcAnswer> answer = Await(std::move(call));
  EXPECT_EQ(answer.code(), ErrorCode::kUnavailable);
  EXPECT_THAT(answer.error().text(), ::testing::HasSubstr("stopped in the middle of a frame"));
}

TEST_F(RpcFalseServerTest, LossEndsAllCalls) {
  std::vector<std::future<Result<RpcAnswer>>> calls;
  for (int i = 0; i < 1000; ++i) calls.push_back(StartCall(link_, MakeRequest(net_test::kEcho, "")));
  ReadRequest();
  peer_.Close();
  for (auto& call : calls) EXPECT_EQ(Await(std::move(call)).code(), ErrorCode::kUnavailable);
  ASSERT_TRUE(WaitFor([&] { return at_client_.whys().size() == 1; }));
  // The link is of no use any more, and says so.
  EXPECT_EQ(CallAndWait(link_, MakeRequest(net_test::kEcho, "")).code(), ErrorCode::kUnavailable);
}

TEST_F(RpcFalseServerTest, QueueIsBounded) {
  std::vector<std::future<Result<RpcAnswer>>> calls;
  for (int i = 0; i < 40; ++i)
    calls.push_back(StartCall(link_, MakeRequest(net_test::kEcho, std::string(kMaxBodyBytes, 'x'))));
  std::string first_problem;
  for (auto& call : calls) {
    const Result<RpcAnswer> answer = Await(std::move(call));
    EXPECT_EQ(answer.code(), ErrorCode::kUnavailable);
    // Those that did not fit end first; the others with the link, for the peer does not read.
    if (answer.error().text().starts_with("too many bytes")) first_problem = answer.error().text();
  }
  EXPECT_NE(first_problem, "");
  EXPECT_TRUE(WaitFor([&] { return client_->problem().find("does not read") != std::string::npos; }));
}

TEST_F(RpcFalseServerTest, UnknownErrorNumber) {
  auto call = StartCall(link_, MakeRequest(net_test::kEcho, ""));
  peer_.Send(MakeFrame(MakeHeader(FrameType::kError, 999, ReadRequest()), "from later"));
  const Result<RpcAnswer> answer = Await(std::move(call));
  EXPECT_EQ(answer.code(), ErrorCode::kUnavailable);
  EXPECT_EQ(answer.error().text(), "from later");
}

TEST_F(RpcFalseServerTest, WrongSizeOfALatePayload) {
  const auto memory = std::make_shared<std::string>(100, '#');
  auto call = StartCall(link_, MakePayloadRequest(memory, 20));
  const uint64_t id = ReadRequest();
  EXPECT_EQ(Await(std::move(call)).code(), ErrorCode::kInterrupted);
  peer_.Send(MakeFrame(MakeHeader(FrameType::kAnswer, 0, id, 99)));
  ExpectProblem("a payload of 99 bytes, 100 are expected");
}

}  // namespace
}  // namespace kvpagefs
