// call_table.cc
#include "net/call_table.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace kvpagefs {
namespace {

constexpr int64_t kStartMs = 1'000'000'007;

struct Table {
  uint64_t Add(int64_t timeout_ms, int64_t now_ms, size_t payload_bytes = 0) {
    RpcRequest request;
    request.timeout_ms = timeout_ms;
    if (payload_bytes > 0) request.into = {{memory, payload_bytes}};
    RpcLink::Done done = [](const auto&) {};
    return calls.Add(request, done, now_ms);
  }
  size_t Expire(int64_t now_ms) {
    CallTable::Expired expired;
    calls.Expire(now_ms, &expired);
    in_payload = expired.in_payload;
    return expired.calls.size();
  }
  char memory[16] = {};
  bool in_payload = false;
  CallTable calls;
};

TEST(CallTable, IdsGrow) {
  Table table;
  uint64_t last = 0;
  for (int i = 0; i < 1000; ++i) {
    const uint64_t id = table.Add(10, kStartMs);
    EXPECT_GT(id, last);
    last = id;
    if (i % 3 != 0) {
      EXPECT_TRUE(table.calls.Finish(id).has_value());
    }
    EXPECT_EQ(table.calls.Finish(id).has_value(), i % 3 == 0);
  }
}

TEST(CallTable, Full) {
  Table table;
  std::vector<uint64_t> ids;
  for (size_t i = 0; i < kMaxCallsPerLink; ++i) ids.push_back(table.Add(10, kStartMs));
  EXPECT_EQ(table.Add(10, kStartMs), 0U);
  // An expired call is still under way at the other end.
  EXPECT_EQ(table.Expire(kStartMs + 100), kMaxCallsPerLink);
  EXPECT_EQ(table.Add(10, kStartMs), 0U);
  EXPECT_TRUE(table.calls.Finish(ids[77]).has_value());
  EXPECT_NE(table.Add(10, kStartMs), 0U);
}

TEST(CallTable, Payloads) {
  Table table;
  const uint64_t id = table.Add(10, kStartMs, 16);
  EXPECT_EQ(table.calls.payload_calls(), 1U);
  EXPECT_FALSE(table.calls.BeginPayload(id, 15).ok());
  EXPECT_FALSE(table.calls.BeginPayload(id + 65'536, 16).ok());
  EXPECT_FALSE(table.calls.BeginPayload(0, 16).ok());
  const Result<CallTable::Expected> expected = table.calls.BeginPayload(id, 16);
  ASSERT_TRUE(expected.ok());
  EXPECT_FALSE(expected->discard);
  ASSERT_EQ(expected->into.size(), 1U);
  EXPECT_EQ(table.Expire(kStartMs + 100), 1U);
  EXPECT_TRUE(table.in_payload);
  EXPECT_EQ(table.calls.payload_calls(), 0U);
}

TEST(CallTable, ExpiredPayloadIsDiscarded) {
  Table table;
  const uint64_t id = table.Add(10, kStartMs, 16);
  EXPECT_EQ(table.Expire(kStartMs + 100), 1U);
  EXPECT_FALSE(table.in_payload);
  const Result<CallTable::Expected> expected = table.calls.BeginPayload(id, 16);
  ASSERT_TRUE(expected.ok());
  EXPECT_TRUE(expected->discard);
  const std::optional<CallTable::Ended> ended = table.calls.Finish(id);
  ASSERT_TRUE(ended.has_value());
  EXPECT_FALSE(ended->done);
}

TEST(CallTable, NothingToExpire) {
  Table table;
  EXPECT_EQ(table.calls.NextExpiry(), INT64_MAX);
  const uint64_t id = table.Add(1000, kStartMs);
  EXPECT_NE(table.calls.NextExpiry(), INT64_MAX);
  table.calls.Finish(id);
  EXPECT_EQ(table.calls.NextExpiry(), INT64_MAX);
}

TEST(CallTable, TakeAll) {
  Table table;
  table.Add(10, kStartMs);
  table.Expire(kStartMs + 100);
  table.Add(10, kStartMs + 100, 16);
  table.Add(10, kStartMs + 100);
  EXPECT_EQ(table.calls.TakeAll().size(), 2U);
  EXPECT_TRUE(table.calls.TakeAll().empty());
  EXPECT_EQ(table.calls.NextExpiry(), INT64_MAX);
}

// Against a plain map: never early, at most two ticks late when called when it asks for it.
class DeadlineModel {
 public:
  void Add(int64_t timeout_ms) {
    RpcRequest request;
    request.timeout_ms = timeout_ms;
    const int token = ++last_token_;
    RpcLink::Done done = [this, token](const auto&) { told_.push_back(token); };
    calls_[token] = {table_.Add(request, done, now_ms_), now_ms_ + timeout_ms};
  }
  void FinishOne(int token) {
    auto found = calls_.lower_bound(token);
    if (found == calls_.end()) found = calls_.begin();
    if (found == calls_.end()) return;
    EXPECT_TRUE(table_.Finish(found->second.id).has_value());
    calls_.erase(found);
  }
  void Pass(int64_t ms) {
    now_ms_ += ms;
    CallTable::Expired expired;
    if (table_.NextExpiry() <= now_ms_) table_.Expire(now_ms_, &expired);
    for (const CallTable::Ended& call : expired.calls) call.done(Error(ErrorCode::kInterrupted));
    for (const int token : std::exchange(told_, {})) {
      EXPECT_LE(calls_.at(token).deadline_ms, now_ms_);
      calls_.erase(token);
    }
    for (const auto& [token, call] : calls_) EXPECT_GE(call.deadline_ms, now_ms_ - 2 * CallTable::kTickMs);
  }
  int last_token() const { return last_token_; }

 private:
  struct Call {
    uint64_t id = 0;
    int64_t deadline_ms = 0;
  };
  CallTable table_;
  std::map<int, Call> calls_;
  std::vector<int> told_;
  int last_token_ = 0;
  int64_t now_ms_ = kStartMs;
};

TEST(CallTable, Deadlines) {
  for (uint32_t seed = 0; seed < 10; ++seed) {
    std::mt19937 random(seed);
    DeadlineModel model;
    for (int step = 0; step < 5'000; ++step) {
      const uint32_t what = random() % 10;
      if (what < 5) {
        model.Add(random() % 3 == 0 ? random() % 10'000 : random() % 50);
      } else if (what < 8) {
        model.FinishOne(model.last_token() - static_cast<int>(random() % 200));
      } else {
        model.Pass(random() % 100 == 0 ? random() % 5000 : random() % 12);
      }
    }
    model.Pass(20'000);
  }
}

}  // namespace
}  // namespace kvpagefs
