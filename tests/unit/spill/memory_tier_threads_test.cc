// Everything at once from eight threads: right bytes, and the accounting adds up afterwards.
#include <atomic>
#include <random>
#include <thread>

#include <gtest/gtest.h>

#include "unit/spill/tier_fixture.h"

namespace kvpagefs {
namespace {

constexpr int kThreads = 8;
constexpr uint64_t kRounds = 400;
constexpr uint64_t kIds = kThreads * kRounds;

class ThreadsTest : public TierTest {
 protected:
  void WritePage(uint64_t counter) {
    std::unique_ptr<Draft> draft = tier_->NewDraft();
    const Bytes all = Pattern(counter * 7919 % 40'000, counter);
    const size_t half = all.size() / 2;
    const bool written =
        draft->Write(0, std::span(all).first(half)).ok() && draft->Write(half, std::span(all).subspan(half)).ok();
    if (!written) return;
    const Result<PageHold> hold = tier_->Seal(Id(counter), draft, Pin::kNone);
    if (!hold.ok()) return;
    EXPECT_EQ(hold->checksum(), Checksum(all));
    ++sealed_;
  }
  void ReadPage(uint64_t counter) {
    const Result<PageHold> hold = tier_->Hold(Id(counter), Touch::kRead, 1);
    if (!hold.ok()) return;
    const PageHold second = hold->Clone();
    const Bytes contents = Contents(second);
    EXPECT_EQ(contents.size(), counter * 7919 % 40'000);
    EXPECT_EQ(Checksum(contents), hold->checksum());
    ++read_;
  }
  void Work(uint64_t thread) {
    std::mt19937_64 random(thread);
    for (uint64_t round = 0; round < kRounds; ++round) {
      const uint64_t mine = thread * kRounds + round + 1;
      WritePage(mine);
      ReadPage(mine);
      const uint64_t any = 1 + random() % kIds;
      ReadPage(any);
      switch (random() % 8) {
        case 0: (void)tier_->Remove(Id(any)); break;
        case 1: (void)tier_->SetPin(Id(any), Pin::kSoft); break;
        case 2: (void)tier_->Use(Id(any)); break;
        case 3: (void)tier_->SetLastRead(Id(any), 5); break;
        case 4: (void)tier_->WaitForSpace(any); break;
        case 5: (void)tier_->GetStats(); break;
        case 6: (void)tier_->EvictToLow(4); break;
        default: (void)tier_->AboveLow(); break;
      }
    }
  }

  std::atomic<uint64_t> sealed_ = 0;
  std::atomic<uint64_t> read_ = 0;
};

TEST_F(ThreadsTest, EverythingAtOnce) {
  std::vector<std::thread> threads;
  for (uint64_t thread = 0; thread < kThreads; ++thread) threads.emplace_back([this, thread] { Work(thread); });
  for (std::thread& thread : threads) thread.join();
  const MemoryTier::Stats stats = tier_->GetStats();
  EXPECT_EQ(sealed_, kIds);
  EXPECT_EQ(stats.sealed_pages, kIds);
  EXPECT_GT(read_, kIds / 2);
  EXPECT_GT(stats.evicted_pages, 0u);
  EXPECT_EQ(stats.evicted_pages, listener_.TakeEvicted().size());
  EXPECT_EQ(stats.holds, 0u);
  EXPECT_EQ(stats.drafts, 0u);
  EXPECT_EQ(stats.held_bytes, 0u);
  EXPECT_EQ(stats.draft_bytes, 0u);
}

// One draft, many writers, each its own part: the kernel sends writes of one file side by side.
TEST_F(ThreadsTest, OneDraftWrittenSideBySide) {
  constexpr size_t kPiece = 50'001;
  const Bytes all = Pattern(kPiece * kThreads, 3);
  std::unique_ptr<Draft> draft = tier_->NewDraft();
  std::vector<std::thread> threads;
  for (size_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (size_t at = thread * kPiece; at < (thread + 1) * kPiece; at += 5'000) {
        const size_t bytes = std::min<size_t>(5'000, (thread + 1) * kPiece - at);
        EXPECT_TRUE(draft->Write(at, std::span(all).subspan(at, bytes)).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Contents(*draft), all);
  const Result<PageHold> hold = tier_->Seal(Id(1), draft, Pin::kNone);
  EXPECT_EQ(hold->checksum(), Checksum(all));
}

}  // namespace
}  // namespace kvpagefs
