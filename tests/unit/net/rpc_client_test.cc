// Coming up and going down: rpc_client.cc, rpc_server.cc, handshake.cc, activities.cc
#include <fcntl.h>
#include <sys/resource.h>

#include <algorithm>
#include <thread>

#include "unit/net/raw_peer.h"
#include "unit/net/rpc_fixture.h"
#include "unit/temp_dir.h"

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

class RpcClientTest : public RpcTest {
 protected:
  void StartWithSecrets(const std::string& at_server, const std::string& at_client) {
    StartServer({"meta", at_server});
    StartClient(ClientOptions({"meta", at_client}));
  }
};

TEST_F(RpcClientTest, SameSecret) {
  StartWithSecrets("s3cret", "s3cret");
  EXPECT_TRUE(CallAndWait(WaitForLink(), MakeRequest(net_test::kEcho, "")).ok());
}

TEST_F(RpcClientTest, OtherSecret) {
  StartWithSecrets("s3cret", "another");
  ExpectProblem("the secret differs");
  EXPECT_EQ(at_server_.ups(), 0U);
}

TEST_F(RpcClientTest, NoSecretHere) {
  StartWithSecrets("s3cret", "");
  ExpectProblem("the other end has a secret, this one has none");
  EXPECT_EQ(at_server_.ups(), 0U);
}

TEST_F(RpcClientTest, NoSecretThere) {
  StartWithSecrets("", "s3cret");
  ExpectProblem("the other end has no secret, this one has");
}

TEST_F(RpcClientTest, WrongService) {
  StartServer({"peer", ""});
  StartClient(ClientOptions({"meta", ""}));
  ExpectProblem("wrong service 'peer', 'meta' is needed");
  EXPECT_EQ(at_server_.ups(), 0U);
}

TEST_F(RpcClientTest, OtherVersion) {
  const RawListener listener;
  RpcClient::Options options;
  options.addresses = {{"127.0.0.1", listener.port()}};
  options.identity = {"meta", ""};
  StartClient(options);
  const RawPeer peer = listener.Accept();
  Hello hello = MakeHello("meta");
  hello.min_version = 3;
  hello.max_version = 4;
  ExchangeHellos(peer, hello);
  ExpectProblem("the other end speaks version 3 to 4 of the protocol, this one version 1");
}

TEST_F(RpcClientTest, SomethingElseListens) {
  const RawListener listener;
  RpcClient::Options options;
  options.addresses = {{"127.0.0.1", listener.port()}};
  options.identity = {"meta", ""};
  StartClient(options);
  const RawPeer peer = listener.Accept();
  peer.Send("SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u3 and some more text\r\n");
  ExpectProblem("does not speak the protocol of kvpagefs");
}

// L4: whoever does not know the secret gets the hello, and not a byte more.
TEST_F(RpcClientTest, NothingWithoutProof) {
  StartServer({"meta", "s3cret"});
  const RawPeer peer = RawPeer::Connect(server_->address().port);
  ExchangeHellos(peer, MakeHello("meta", true));
  peer.Send(std::string(kProofBytes, 'x'));
  EXPECT_EQ(peer.Read(1), "");
  // The proof of the other role is not one either.
  const RawPeer mirror = RawPeer::Connect(server_->address().port);
  const std::string ours = EncodeHello(MakeHello("meta", true));
  const std::string theirs = ExchangeHellos(mirror, MakeHello("meta", true));
  mirror.Send(MakeProof("s3cret", Role::kServer, ours, theirs));
  EXPECT_EQ(mirror.Read(1), "");
  const RawPeer honest = RawPeer::Connect(server_->address().port);
  const std::string hello = ExchangeHellos(honest, MakeHello("meta", true));
  honest.Send(MakeProof("s3cret", Role::kClient, ours, hello));
  EXPECT_EQ(honest.Read(kProofBytes), MakeProof("s3cret", Role::kServer, ours, hello));
}

TEST_F(RpcClientTest, ServerMustProveToo) {
  const RawListener listener;
  RpcClient::Options options;
  options.addresses = {{"127.0.0.1", listener.port()}};
  options.identity = {"meta", "s3cret"};
  StartClient(options);
  const RawPeer peer = listener.Accept();
  ExchangeHellos(peer, MakeHello("meta", true));
  EXPECT_EQ(peer.Read(kProofBytes).size(), kProofBytes);
  peer.Send(std::string(kProofBytes, 'x'));
  ExpectProblem("the secret differs");
  EXPECT_EQ(at_client_.ups(), 0U);
}

TEST_F(RpcClientTest, SilentPeersAreGivenUp) {
  StartServer();
  const RawPeer peer = RawPeer::Connect(server_->address().port);
  const RawPeer half = RawPeer::Connect(server_->address().port);
  half.Send(EncodeHello(MakeHello("meta")).substr(0, 20));
  EXPECT_TRUE(peer.ReadToEnd());
  EXPECT_TRUE(half.ReadToEnd());
}

TEST_F(RpcClientTest, MaxLinks) {
  StartServer({"meta", ""}, 1);
  RawPeer first = RawPeer::Connect(server_->address().port);
  ExchangeHellos(first, MakeHello("meta"));
  ASSERT_TRUE(WaitFor([&] { return at_server_.ups() == 1; }));
  EXPECT_EQ(RawPeer::Connect(server_->address().port).Read(1), "");
  first.Close();
  StartClient(ClientOptions());
  EXPECT_TRUE(CallAndWait(WaitForLink(), MakeRequest(net_test::kEcho, "")).ok());
}

TEST_F(RpcClientTest, ConnectsAgain) {
  LinkPtr link = StartBoth();
  for (int round = 0; round < 5; ++round) {
    link->Close(Error(ErrorCode::kUnavailable, "enough"));
    EXPECT_EQ(CallAndWait(link, MakeRequest(net_test::kEcho, "")).code(), ErrorCode::kUnavailable);
    ASSERT_TRUE(WaitFor([&] { return client_->link() != link && client_->link() != nullptr; }));
    link = WaitForLink();
    EXPECT_TRUE(CallAndWait(link, MakeRequest(net_test::kEcho, "")).ok());
  }
  EXPECT_EQ(at_client_.whys(), std::vector<std::string>(5, "enough"));
}

TEST_F(RpcClientTest, ServerComesBack) {
  const LinkPtr link = StartBoth();
  const Address address = server_->address();
  auto call = StartCall(link, MakeRequest(net_test::kHold, ""));
  std::vector<RpcReply> held = at_server_.TakeHeld(1);
  server_.reset();
  EXPECT_EQ(Await(std::move(call)).code(), ErrorCode::kUnavailable);
  ExpectProblem("127.0.0.1");
  StartServer({"meta", ""}, 100, address.port);
  EXPECT_TRUE(CallAndWait(WaitForLink(), MakeRequest(net_test::kEcho, "")).ok());
  // A reply outlives its link.
  held[0].Ok("too late");
}

TEST_F(RpcClientTest, FirstAddressThatAnswers) {
  StartServer();
  RpcClient::Options options = ClientOptions();
  uint16_t dead_port = 0;
  {
    const RawListener gone;
    dead_port = gone.port();
  }
  options.addresses = {{"127.0.0.1", dead_port}, {"localhost", server_->address().port}};
  StartClient(options);
  EXPECT_TRUE(CallAndWait(WaitForLink(), MakeRequest(net_test::kEcho, "")).ok());
}

TEST_F(RpcClientTest, ProblemNamesAllAddresses) {
  const RawListener listener;
  RpcClient::Options options;
  options.addresses = {{"127.0.0.1", 1}, {"no-such-host.invalid", 7}};
  options.connect_timeout_ms = 2'000;
  StartClient(options);
  ExpectProblem("127.0.0.1:1: Connection refused; no-such-host.invalid:7: host 'no-such-host.invalid': ");
}

TEST_F(RpcClientTest, ListenErrors) {
  StartServer();
  RpcServer::Options options;
  options.listen = server_->address();
  const auto taken = RpcServer::Listen(&threads_, options, &at_server_, Log::Discard());
  ASSERT_FALSE(taken.ok());
  EXPECT_EQ(taken.code(), ErrorCode::kUnavailable);
  EXPECT_THAT(taken.error().text(), ::testing::HasSubstr(server_->address().ToString()));
  EXPECT_THAT(taken.error().text(), ::testing::HasSubstr("choose another port"));
  options.listen = {"192.0.2.1", 0};
  EXPECT_EQ(RpcServer::Listen(&threads_, options, &at_server_, Log::Discard()).code(), ErrorCode::kUnavailable);
  options.listen = {"no-such-host.invalid", 0};
  EXPECT_EQ(RpcServer::Listen(&threads_, options, &at_server_, Log::Discard()).code(), ErrorCode::kInvalid);
}

// One line in the log, and on it goes when there are descriptors again.
TEST_F(RpcClientTest, AcceptErrorsPass) {
  const test_files::TempDir dir;
  const Result<Log> log = Log::ToFile(dir / "log", Log::Level::kInfo);
  ASSERT_TRUE(log.ok());
  RpcServer::Options options;
  options.listen = {"127.0.0.1", 0};
  options.identity = {"meta", ""};
  server_ = *RpcServer::Listen(&threads_, options, &at_server_, *log);
  // Opened before, and read without the library: there will be no descriptor for anything else.
  const int lines = open((dir / "log").c_str(), O_RDONLY | O_CLOEXEC);
  const auto count = [lines] {
    char text[4096];
    const ssize_t bytes = pread(lines, text, sizeof(text), 0);
    const std::string_view all(text, bytes > 0 ? static_cast<size_t>(bytes) : 0);
    return all.find("accept: Too many open files") == std::string_view::npos ? 0
                                                                             : std::count(all.begin(), all.end(), '\n');
  };
  const RawPeer peer = RawPeer::Unconnected();
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  // No new descriptor, whatever its number.
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  peer.ConnectTo(server_->address().port);
  EXPECT_TRUE(WaitFor([&] { return count() > 0; }));
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(ExchangeHellos(peer, MakeHello("meta")).size(), kHelloFixedBytes + 4);
  EXPECT_EQ(count(), 1);
  close(lines);
}

TEST_F(RpcClientTest, Ipv6) {
  RpcServer::Options options;
  options.listen = {"::1", 0};
  options.identity = {"meta", ""};
  auto server = RpcServer::Listen(&threads_, options, &at_server_, Log::Discard());
  if (!server.ok()) GTEST_SKIP() << server.error().text();
  server_ = std::move(*server);
  StartClient(ClientOptions());
  EXPECT_EQ(WaitForLink()->peer(), "[::1]:" + std::to_string(server_->address().port));
}

// Every call ends, whichever end goes first, and no callback comes behind the destructor.
class Destruction : public RpcTest, public ::testing::WithParamInterface<bool> {};

TEST_P(Destruction, WithCallsUnderWay) {
  for (int round = 0; round < 20; ++round) {
    LinkPtr link = StartBoth();
    std::atomic<int> ended{0};
    std::atomic<int> begun{0};
    std::jthread caller([&](const std::stop_token& stop) {
      while (!stop.stop_requested() && begun < 100'000) {
        ++begun;
        link->Call(MakeRequest(begun % 3 == 0 ? net_test::kHold : net_test::kEcho, "x"), [&](const auto&) { ++ended; });
      }
    });
    std::vector<RpcReply> held = at_server_.TakeHeld(10);
    if (GetParam()) {
      server_.reset();
      client_.reset();
    } else {
      client_.reset();
      server_.reset();
    }
    caller.request_stop();
    caller.join();
    EXPECT_TRUE(WaitFor([&] { return ended == begun; })) << ended << " of " << begun;
    EXPECT_EQ(at_client_.link(), nullptr);
    EXPECT_EQ(at_server_.link(), nullptr);
    at_server_.TakeHeld(0);
  }
}

INSTANTIATE_TEST_SUITE_P(Order, Destruction, ::testing::Bool());

TEST_F(RpcClientTest, DestructionInTheMiddleOfConnecting) {
  const RawListener listener;
  RpcClient::Options options;
  options.addresses = {{"127.0.0.1", listener.port()}};
  options.identity = {"meta", ""};
  for (int round = 0; round < 20; ++round) {
    StartClient(options);
    const RawPeer peer = listener.Accept();
    if (round % 2 == 0) peer.Read(kHelloFixedBytes);
    client_.reset();
  }
  options.addresses = {{"no-such-host.invalid", 7}};
  StartClient(options);
  client_.reset();
}

TEST_F(RpcClientTest, DestructionInTheMiddleOfHandshakes) {
  StartServer();
  const RawPeer peer = RawPeer::Connect(server_->address().port);
  EXPECT_EQ(peer.Read(1).size(), 1U);
  server_.reset();
  EXPECT_TRUE(peer.ReadToEnd());
}

// A link may outlive its client and even the threads; calls on it are then of no effect.
TEST_F(RpcClientTest, LinkOutlivesEverything) {
  LinkPtr link;
  {
    NetThreads threads(1);
    RpcServer::Options options;
    options.listen = {"127.0.0.1", 0};
    auto server = RpcServer::Listen(&threads, options, &at_server_, Log::Discard());
    ASSERT_TRUE(server.ok());
    RpcClient::Options client_options;
    client_options.addresses = {(*server)->address()};
    const auto client = RpcClient::Start(&threads, client_options, &at_client_, Log::Discard());
    ASSERT_TRUE(WaitFor([&] { return (link = client->link()) != nullptr; }));
  }
  link->Call(MakeRequest(net_test::kEcho, ""), [](const auto&) { ADD_FAILURE(); });
  link->Close(ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace kvpagefs
