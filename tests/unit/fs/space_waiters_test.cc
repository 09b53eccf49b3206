// S1 and S2 are the invariants of SpaceWaiters.
#include "fs/space_waiters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <map>
#include <thread>

namespace kvpagefs {
namespace {

using ::testing::ElementsAre;

constexpr int64_t kDeadline = 1'000;

class SpaceWaitersTest : public testing::Test {
 protected:
  // What an attempt comes to: true when there is room.
  SpaceWaiters::Waiter Make(uint64_t ticket, std::function<std::optional<Status>()> attempt, int64_t deadline) {
    SpaceWaiters::Waiter waiter;
    waiter.ticket = ticket;
    waiter.deadline_ns = deadline;
    waiter.attempt = std::move(attempt);
    waiter.answer = [this, ticket](const Status& status) {
      answers_[ticket].push_back(status.ok() ? "ok" : std::string(ToString(status.code())));
    };
    return waiter;
  }
  bool Park(uint64_t ticket, int64_t deadline = kDeadline) {
    SpaceWaiters::Waiter waiter = Make(
        ticket,
        [this, ticket]() -> std::optional<Status> {
          order_.push_back(ticket);
          if (!room_) return std::nullopt;
          return Status();
        },
        deadline);
    return waiters_.Park(waiter);
  }

  Counters counters_;
  SpaceWaiters waiters_{&counters_};
  bool room_ = false;
  std::vector<uint64_t> order_;
  std::map<uint64_t, std::vector<std::string>> answers_;
};

TEST_F(SpaceWaitersTest, RetriesInOrderUntilThereIsRoom) {
  ASSERT_TRUE(Park(1));
  ASSERT_TRUE(Park(2));
  waiters_.Retry(0);
  EXPECT_TRUE(answers_.empty());
  ASSERT_TRUE(Park(3));
  room_ = true;
  order_.clear();
  waiters_.Retry(0);
  EXPECT_THAT(order_, ElementsAre(1, 2, 3));
  for (const uint64_t ticket : {1, 2, 3}) EXPECT_THAT(answers_[ticket], ElementsAre("ok")) << "S1";
  EXPECT_EQ(waiters_.size(), 0u);
  EXPECT_EQ(counters_.Get(Counter::kSpaceWaits), 3u);
}

TEST_F(SpaceWaitersTest, DeadlineIsNoSpace) {
  ASSERT_TRUE(Park(1, 100));
  ASSERT_TRUE(Park(2, 200));
  EXPECT_EQ(waiters_.NextDeadline(), 100);
  waiters_.Retry(99);
  EXPECT_TRUE(answers_.empty());
  waiters_.Retry(100);
  EXPECT_THAT(answers_[1], ElementsAre(ToString(ErrorCode::kNoSpace)));
  EXPECT_EQ(waiters_.NextDeadline(), 200);
  EXPECT_EQ(counters_.Get(Counter::kSpaceWaitTimeouts), 1u);
}

TEST_F(SpaceWaitersTest, LastAttemptAtTheDeadlineCounts) {
  ASSERT_TRUE(Park(1, 100));
  room_ = true;
  waiters_.Retry(5'000);
  EXPECT_THAT(answers_[1], ElementsAre("ok"));
}

TEST_F(SpaceWaitersTest, InterruptedIsAnsweredByTheNextRetry) {
  ASSERT_TRUE(Park(1));
  ASSERT_TRUE(Park(2));
  EXPECT_TRUE(waiters_.Interrupt(2));
  EXPECT_FALSE(waiters_.Interrupt(77));
  EXPECT_NE(waiters_.NextDeadline(), 0);
  EXPECT_LT(waiters_.NextDeadline(), kDeadline) << "at once";
  room_ = true;
  waiters_.Retry(0);
  EXPECT_THAT(answers_[2], ElementsAre(ToString(ErrorCode::kInterrupted)));
  EXPECT_THAT(answers_[1], ElementsAre("ok"));
  EXPECT_FALSE(waiters_.Interrupt(1)) << "it is gone";
}

TEST_F(SpaceWaitersTest, InterruptDuringARetryIsNotLost) {
  SpaceWaiters::Waiter waiter = Make(
      1,
      [this]() -> std::optional<Status> {
        EXPECT_TRUE(waiters_.Interrupt(1));
        return std::nullopt;
      },
      kDeadline);
  ASSERT_TRUE(waiters_.Park(waiter));
  waiters_.Retry(0);
  EXPECT_TRUE(answers_.empty());
  waiters_.Retry(0);
  EXPECT_THAT(answers_[1], ElementsAre(ToString(ErrorCode::kInterrupted)));
}

TEST_F(SpaceWaitersTest, NoMoreThanTheLimit) {
  for (uint64_t i = 1; i <= SpaceWaiters::kMaxParked; ++i) ASSERT_TRUE(Park(i));
  SpaceWaiters::Waiter waiter = Make(999, [] { return Status(); }, kDeadline);
  EXPECT_FALSE(waiters_.Park(waiter)) << "S2";
  EXPECT_TRUE(waiter.answer) << "a refused waiter is untouched";
  EXPECT_EQ(waiters_.size(), SpaceWaiters::kMaxParked);
  waiters_.AnswerAll(ErrorCode::kInterrupted);
  EXPECT_EQ(answers_.size(), SpaceWaiters::kMaxParked);
  for (const auto& [ticket, answers] : answers_) EXPECT_EQ(answers.size(), 1u) << "S1: " << ticket;
  EXPECT_TRUE(waiters_.Park(waiter));
}

// S1 at the end of a session: behind AnswerAll nothing waits any more, also not what a retry had in hand.
TEST_F(SpaceWaitersTest, AnswerAllCoversWhatIsBeingRetried) {
  std::promise<void> in_attempt;
  std::promise<void> go_on;
  SpaceWaiters::Waiter waiter = Make(
      1,
      [&]() -> std::optional<Status> {
        in_attempt.set_value();
        go_on.get_future().wait();
        return std::nullopt;
      },
      kDeadline);
  ASSERT_TRUE(waiters_.Park(waiter));
  std::thread keeper([&] { waiters_.Retry(0); });
  in_attempt.get_future().wait();
  std::thread end([&] { waiters_.AnswerAll(ErrorCode::kInterrupted); });
  go_on.set_value();
  end.join();
  keeper.join();
  EXPECT_EQ(waiters_.size(), 0u);
  EXPECT_EQ(answers_[1].size(), 1u) << "S1";
}

TEST_F(SpaceWaitersTest, NobodyWaits) {
  EXPECT_EQ(waiters_.NextDeadline(), 0);
  waiters_.Retry(1);
  waiters_.AnswerAll(ErrorCode::kInterrupted);
}

}  // namespace
}  // namespace kvpagefs
