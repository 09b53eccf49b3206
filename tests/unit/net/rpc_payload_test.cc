// Payloads: frame_reader.cc and send_queue.cc under a link
#include <random>

#include "unit/net/rpc_fixture.h"

namespace kvpagefs {
namespace {

using net_test::Await;
using net_test::CallAndWait;
using net_test::LinkPtr;
using net_test::MakeRequest;
using net_test::RpcTest;
using net_test::StartCall;

class RpcPayloadTest : public RpcTest {};

// Memory cut into pieces at random, with a gap of one byte between them; empty pieces among them.
struct Scattered {
  Scattered(size_t bytes, size_t pieces, uint32_t seed) : memory(std::make_shared<std::string>()) {
    std::mt19937 random(seed);
    std::vector<size_t> cuts{0, bytes};
    for (size_t i = 1; i < pieces; ++i) cuts.push_back(random() % (bytes + 1));
    std::sort(cuts.begin(), cuts.end());
    memory->assign(bytes + cuts.size(), '#');
    for (size_t i = 0; i + 1 < cuts.size(); ++i)
      places.push_back({memory->data() + cuts[i] + i, cuts[i + 1] - cuts[i]});
  }
  void Fill(uint32_t seed) {
    std::minstd_rand random(seed);
    for (const iovec& place : places) {
      for (size_t i = 0; i < place.iov_len; ++i) static_cast<char*>(place.iov_base)[i] = static_cast<char>(random());
    }
  }
  std::string Joined() const {
    std::string all;
    for (const iovec& place : places) all.append(static_cast<const char*>(place.iov_base), place.iov_len);
    return all;
  }
  bool GapsUntouched() const {
    for (const iovec& place : places) {
      if (static_cast<const char*>(place.iov_base)[place.iov_len] != '#') return false;
    }
    return true;
  }
  std::shared_ptr<std::string> memory;
  std::vector<iovec> places;
};

RpcRequest MakePayloadRequest(const Scattered& into, std::string body = "p") {
  RpcRequest request = MakeRequest(net_test::kPayload, std::move(body));
  request.into = into.places;
  request.keep = into.memory;
  return request;
}

TEST_F(RpcPayloadTest, AllSizesScattered) {
  const LinkPtr link = StartBoth();
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{4095}, size_t{1} << 20, size_t{64} << 20}) {
    for (const size_t pieces : {1, 7, 700}) {
      Scattered from(bytes, pieces, 1);
      from.Fill(static_cast<uint32_t>(bytes));
      at_server_.set_payload({from.places, from.memory});
      const Scattered into(bytes, 900 / pieces, 2);
      const Result<RpcAnswer> answer = CallAndWait(link, MakePayloadRequest(into));
      ASSERT_TRUE(answer.ok()) << answer.error().Describe();
      EXPECT_EQ(answer->body, "p");
      EXPECT_EQ(answer->payload_bytes, bytes);
      EXPECT_TRUE(into.Joined() == from.Joined()) << bytes << " in " << pieces;
      EXPECT_TRUE(into.GapsUntouched());
    }
  }
}

TEST_F(RpcPayloadTest, ManyAtATimeAmongSmallCalls) {
  const LinkPtr link = StartBoth();
  constexpr size_t kBytes = 100'000;
  Scattered from(kBytes, 5, 1);
  from.Fill(3);
  at_server_.set_payload({from.places, from.memory});
  std::vector<Scattered> places;
  std::vector<std::future<Result<RpcAnswer>>> calls;
  for (uint32_t i = 0; i < 100; ++i) {
    places.emplace_back(kBytes, 1 + i % 5, i);
    calls.push_back(StartCall(link, MakePayloadRequest(places.back(), std::string(i * 100, 'b'))));
    calls.push_back(StartCall(link, MakeRequest(net_test::kEcho, "small")));
  }
  for (auto& call : calls) EXPECT_TRUE(Await(std::move(call)).ok());
  const std::string wanted = from.Joined();
  for (const Scattered& place : places) EXPECT_TRUE(place.Joined() == wanted && place.GapsUntouched());
}

// `keep` of both ends goes with the call.
TEST_F(RpcPayloadTest, MemoryIsLetGo) {
  const LinkPtr link = StartBoth();
  Scattered from(1000, 3, 1);
  at_server_.set_payload({from.places, from.memory});
  const Scattered into(1000, 2, 2);
  ASSERT_TRUE(CallAndWait(link, MakePayloadRequest(into)).ok());
  at_server_.set_payload({});
  ASSERT_TRUE(CallAndWait(link, MakeRequest(net_test::kEcho, "")).ok());
  EXPECT_TRUE(net_test::WaitFor([&] { return into.memory.use_count() == 1 && from.memory.use_count() == 1; }));
}

class WrongSize : public RpcPayloadTest, public ::testing::WithParamInterface<std::pair<size_t, size_t>> {};

TEST_P(WrongSize, CostsTheLink) {
  const LinkPtr link = StartBoth();
  const Scattered from(GetParam().first, 1, 1);
  at_server_.set_payload({from.places, from.memory});
  const Scattered into(GetParam().second, 1, 2);
  const Result<RpcAnswer> answer = CallAndWait(link, MakePayloadRequest(into));
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.code(), ErrorCode::kUnavailable);
  EXPECT_THAT(answer.error().text(), ::testing::HasSubstr("a payload of " + std::to_string(GetParam().first)));
}

INSTANTIATE_TEST_SUITE_P(Sizes, WrongSize,
                         ::testing::Values(std::pair{1000, 999}, std::pair{999, 1000}, std::pair{0, 1000},
                                           std::pair{1000, 0}));

TEST_F(RpcPayloadTest, TooLargeAnswerIsAnError) {
  const LinkPtr link = StartBoth();
  // Never read: the length alone is refused.
  char byte = 0;
  at_server_.set_payload({{{&byte, kMaxPayloadBytes}, {&byte, 1}}, nullptr});
  EXPECT_EQ(CallAndWait(link, MakeRequest(net_test::kPayload, "")).code(), ErrorCode::kTooLarge);
  at_server_.set_payload({});
  EXPECT_TRUE(CallAndWait(link, MakeRequest(net_test::kPayload, "")).ok());
}

}  // namespace
}  // namespace kvpagefs
