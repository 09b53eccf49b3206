// fs/promoter.h in a node; F1 to F3 are its invariants.
#include "fs/promoter.h"

#include <gtest/gtest.h>

#include "ssd_node_fixture.h"

namespace kvpagefs {
namespace {

using Touch = MemoryTier::Touch;

constexpr int64_t kNever = INT64_MAX;

class PromoterTest : public SsdNodeTest {
 protected:
  using Answer = Answered<Result<PageHold>>;

  void Fetch(const PageInfo& page, Answer* answer, uint64_t ticket = 0, int64_t deadline_ns = kNever) {
    const Promoter::Request request{.ticket = ticket, .deadline_ns = deadline_ns, .touch = Touch::kRead, .reader = 7};
    tiering().Fetch({.id = page.id, .bytes = page.bytes, .checksum = page.checksum, .pin = Pin::kNone}, request,
                    answer->Taker());
  }
  static std::string Bytes(const PageHold& hold) {
    std::vector<iovec> pieces;
    hold.Read(0, hold.bytes(), &pieces);
    std::string bytes;
    for (const iovec& piece : pieces) bytes.append(static_cast<const char*>(piece.iov_base), piece.iov_len);
    return bytes;
  }
  // Held pages until nothing else fits.
  void FillMemory() {
    for (int i = 0; state().tier->GetStats().free_bytes > 16 * 4096; ++i) {
      const uint64_t free_bytes = state().tier->GetStats().free_bytes;
      const uint64_t bytes = std::min<uint64_t>(512 << 10, free_bytes - 3 * 4096);
      held_.push_back(Publish("full" + std::to_string(i), std::string(bytes, 'f')));
    }
  }

  std::vector<PageHold> held_;
};

TEST_F(PromoterTest, TheBytesComeBackAndEveryReadCounts) {
  const PageInfo page = PublishCold("a", "the bytes");
  for (uint32_t round = 1; round <= 2; ++round) {
    Answer answer;
    Fetch(page, &answer);
    const Result<PageHold> hold = answer.Take();
    ASSERT_TRUE(hold.ok());
    EXPECT_EQ(Bytes(*hold), "the bytes");
    EXPECT_EQ(state().tier->Use(page.id)->reads, 1u);
    EXPECT_FALSE(state().tier->Use(page.id)->dirty);
    ASSERT_TRUE(state().tier->Remove(page.id).ok());
  }
  EXPECT_EQ(Count(Counter::kFetches), 2u);
}

TEST_F(PromoterTest, InMemoryAlreadyOrNowhere) {
  const PageInfo page = PublishDirty("a", "bytes");
  Answer there;
  Fetch(page, &there);
  EXPECT_TRUE(there.Take().ok());
  EXPECT_EQ(Count(Counter::kFetches), 0u);
  PageInfo gone = page;
  gone.id = PageId::Make(1, 999);
  Answer nowhere;
  Fetch(gone, &nowhere);
  EXPECT_EQ(nowhere.Take().code(), ErrorCode::kNotFound);
}

TEST_F(PromoterTest, WaitsForMemory) {
  const PageInfo page = PublishCold("a", std::string(300'000, 'a'));
  FillMemory();
  Answer first;
  Answer second;
  Fetch(page, &first);
  Fetch(page, &second);
  EXPECT_EQ(tiering().fetches_waiting(), 2u);
  EXPECT_EQ(Count(Counter::kFetchesJoined), 1u);
  held_.clear();
  EXPECT_EQ(Bytes(*first.Take()), std::string(300'000, 'a'));
  EXPECT_TRUE(second.Take().ok());
  EXPECT_EQ(Count(Counter::kFetches), 1u) << "F2";
  EXPECT_EQ(tiering().fetches_waiting(), 0u);
}

TEST_F(PromoterTest, InterruptAndDeadline) {
  const PageInfo page = PublishCold("a", std::string(300'000, 'a'));
  FillMemory();
  Answer interrupted;
  Answer late;
  Fetch(page, &interrupted, 5);
  Fetch(page, &late, 6, state().clock.MonotonicNs() + 3'600'000'000'000);
  tiering().InterruptFetch(5);
  EXPECT_EQ(interrupted.Take().code(), ErrorCode::kInterrupted) << "F1";
  EXPECT_FALSE(late.Has(std::chrono::milliseconds(0)));
  EXPECT_NE(tiering().NextDeadline(), 0);
  tiering().Retry(tiering().NextDeadline());
  EXPECT_EQ(late.Take().code(), ErrorCode::kNotFound) << "F1";
  EXPECT_EQ(Count(Counter::kFetchTimeouts), 1u);
  EXPECT_EQ(tiering().NextDeadline(), 0);
  // Nothing is left behind that would hinder the next one.
  held_.clear();
  Answer again;
  Fetch(page, &again);
  EXPECT_TRUE(again.Take().ok());
}

TEST_F(PromoterTest, InterruptedBeforeItBegins) {
  const PageInfo page = PublishCold("a", "bytes");
  tiering().InterruptFetch(5);
  Answer answer;
  Fetch(page, &answer, 5);
  EXPECT_EQ(answer.Take().code(), ErrorCode::kInterrupted);
}

TEST_F(PromoterTest, AllPinnedIsAMissAtOnce) {
  const PageInfo page = PublishCold("a", std::string(300'000, 'a'));
  FillMemory();
  for (const PageHold& hold : held_) ASSERT_TRUE(state().tier->SetPin(hold.id(), Pin::kHard).ok());
  Answer answer;
  Fetch(page, &answer);
  EXPECT_EQ(answer.Take().code(), ErrorCode::kNotFound);
  EXPECT_TRUE(tiering().OnSsd(page.id));
}

TEST_F(PromoterTest, RemovedWhileItWaits) {
  const PageInfo page = PublishCold("a", std::string(300'000, 'a'));
  FillMemory();
  Answer answer;
  Fetch(page, &answer);
  tiering().Remove(page.id);
  held_.clear();
  EXPECT_EQ(answer.Take().code(), ErrorCode::kNotFound);
  EXPECT_FALSE(state().tier->Use(page.id).ok()) << "F3";
}

TEST_F(PromoterTest, AStopAnswersWhoWaits) {
  const PageInfo page = PublishCold("a", std::string(300'000, 'a'));
  FillMemory();
  Answer answer;
  Fetch(page, &answer);
  tiering().Stop();
  EXPECT_EQ(answer.Take().code(), ErrorCode::kInterrupted);
  Answer after;
  Fetch(page, &after);
  EXPECT_EQ(after.Take().code(), ErrorCode::kNotFound);
}

}  // namespace
}  // namespace kvpagefs
