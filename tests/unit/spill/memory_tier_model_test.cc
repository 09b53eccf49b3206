// Random operations on a tier and on a plain model of it. Also memory_tier_check.cc and memory_tier_state.cc.
#include <cstdio>
#include <deque>
#include <map>
#include <random>

#include <gtest/gtest.h>

#include "unit/spill/tier_fixture.h"

namespace kvpagefs {
namespace {

class ModelTest : public TierTest {
 protected:
  struct ModelDraft {
    std::unique_ptr<Draft> draft;
    Bytes bytes;
  };
  struct ModelPage {
    Bytes bytes;
    Pin pin = Pin::kNone;
    uint32_t reads = 0;
  };
  struct ModelHold {
    PageHold hold;
    Bytes bytes;
  };

  void Step() {
    switch (random_() % 16) {
      case 0: return NewDraft();
      case 1:
      case 2:
      case 3: return WriteDraft();
      case 4: return TruncateDraft();
      case 5: return ReserveDraft();
      case 6:
      case 7: return SealDraft();
      case 8: return DropDraft();
      case 9: return HoldPage();
      case 10:
      case 11: return DropHold();
      case 12: return PinPage();
      case 13: return RemovePage();
      case 14: return Touch1();
      default: return Background();
    }
  }
  // What the listener was told is gone; it must have been let go and not pinned.
  void ForgetEvicted() {
    for (const uint64_t counter : listener_.TakeEvicted()) {
      ASSERT_EQ(pages_.count(counter), 1u);
      ASSERT_NE(pages_[counter].pin, Pin::kHard);
      for (const ModelHold& hold : holds_) ASSERT_NE(hold.hold.id(), Id(counter));
      pages_.erase(counter);
    }
  }
  void CompareAll() {
    ForgetEvicted();
    Check();
    const MemoryTier::Stats stats = tier_->GetStats();
    ASSERT_EQ(stats.pages, pages_.size());
    ASSERT_EQ(stats.drafts, drafts_.size());
    ASSERT_EQ(stats.holds, holds_.size());
  }
  void CompareContents() {
    for (const ModelDraft& draft : drafts_) ASSERT_EQ(Contents(*draft.draft), draft.bytes);
    for (const ModelHold& hold : holds_) ASSERT_EQ(Contents(hold.hold), hold.bytes);
    for (const auto& [counter, page] : pages_) {
      const Result<PageUse> use = tier_->Use(Id(counter));
      ASSERT_TRUE(use.ok());
      ASSERT_EQ(use->bytes, page.bytes.size());
      ASSERT_EQ(use->checksum, Checksum(page.bytes));
      ASSERT_EQ(use->pin, page.pin);
      ASSERT_EQ(use->reads, page.reads);
      const Result<PageHold> hold = tier_->Hold(Id(counter), Touch::kNone);
      ASSERT_EQ(Contents(*hold), page.bytes);
    }
  }

  uint64_t seed_ = 0;
  std::mt19937_64 random_;

 private:
  // Mostly some blocks, at times much.
  uint64_t RandomBytes() { return random_() % 4 == 0 ? random_() % 1'500'000 : random_() % 60'000; }
  template <class List>
  size_t Any(const List& list) {
    return random_() % list.size();
  }
  uint64_t AnyPage() {
    auto at = pages_.lower_bound(random_() % next_);
    if (at == pages_.end()) at = pages_.begin();
    return at->first;
  }

  void NewDraft() {
    if (drafts_.size() > 6) return;
    if (holds_.empty() || random_() % 3 != 0) {
      drafts_.push_back({tier_->NewDraft(), {}});
      return;
    }
    const ModelHold& from = holds_[Any(holds_)];
    Result<std::unique_ptr<Draft>> draft = tier_->NewDraft(from.hold);
    if (draft.ok()) drafts_.push_back({std::move(*draft), from.bytes});
  }
  void WriteDraft() {
    if (drafts_.empty()) return;
    ModelDraft& at = drafts_[Any(drafts_)];
    const uint64_t offset = random_() % 2 == 0 ? at.bytes.size() : random_() % (at.bytes.size() + 10'000);
    const Bytes bytes = Pattern(RandomBytes(), random_());
    const Status status = at.draft->Write(offset, bytes);
    if (!status.ok()) {
      ASSERT_EQ(status.code(), ErrorCode::kNoSpace);
    } else if (!bytes.empty()) {
      if (at.bytes.size() < offset + bytes.size()) at.bytes.resize(offset + bytes.size());
      std::copy(bytes.begin(), bytes.end(), at.bytes.begin() + static_cast<ptrdiff_t>(offset));
    }
    ASSERT_EQ(at.draft->bytes(), at.bytes.size());
  }
  void TruncateDraft() {
    if (drafts_.empty()) return;
    ModelDraft& at = drafts_[Any(drafts_)];
    const uint64_t bytes = random_() % (at.bytes.size() + 50'000);
    if (at.draft->Truncate(bytes).ok()) at.bytes.resize(bytes);
  }
  void ReserveDraft() {
    if (drafts_.empty()) return;
    const uint64_t bytes = RandomBytes();
    const ModelDraft& at = drafts_[Any(drafts_)];
    const bool reserved = at.draft->Reserve(bytes).ok();
    ASSERT_TRUE(!reserved || at.draft->allocated_bytes() >= bytes);
  }
  void SealDraft() {
    if (drafts_.empty()) return;
    std::swap(drafts_[Any(drafts_)], drafts_.back());
    const Pin pin = random_() % 4 == 0 ? Pin::kSoft : Pin::kNone;
    Result<PageHold> hold = tier_->Seal(Id(next_), drafts_.back().draft, pin);
    if (!hold.ok()) return;
    ForgetEvicted();
    pages_[next_++] = {.bytes = drafts_.back().bytes, .pin = pin};
    if (random_() % 4 == 0) holds_.push_back({std::move(*hold), drafts_.back().bytes});
    drafts_.pop_back();
  }
  void DropDraft() {
    if (drafts_.empty() || random_() % 3 != 0) return;
    std::swap(drafts_[Any(drafts_)], drafts_.back());
    drafts_.pop_back();
  }
  void HoldPage() {
    ForgetEvicted();
    if (pages_.empty() || holds_.size() > 20) return;
    const uint64_t counter = AnyPage();
    const Touch touch = random_() % 2 == 0 ? Touch::kRead : Touch::kNone;
    Result<PageHold> hold = tier_->Hold(Id(counter), touch, 1);
    ASSERT_TRUE(hold.ok());
    if (touch == Touch::kRead) ++pages_[counter].reads;
    holds_.push_back({std::move(*hold), pages_[counter].bytes});
    if (random_() % 4 == 0) holds_.push_back({holds_.back().hold.Clone(), pages_[counter].bytes});
  }
  void DropHold() {
    if (holds_.empty()) return;
    std::swap(holds_[Any(holds_)], holds_.back());
    ASSERT_EQ(Contents(holds_.back().hold), holds_.back().bytes);
    holds_.pop_back();
  }
  void PinPage() {
    ForgetEvicted();
    if (pages_.empty()) return;
    const uint64_t counter = AnyPage();
    // Few hard pins, or the tier is soon full of them.
    const Pin pins[] = {Pin::kNone, Pin::kNone, Pin::kNone, Pin::kSoft, Pin::kSoft, Pin::kHard};
    const Pin pin = pages_[counter].pin == Pin::kHard ? Pin::kNone : pins[random_() % 6];
    ASSERT_TRUE(tier_->SetPin(Id(counter), pin).ok());
    pages_[counter].pin = pin;
  }
  // Seldom, so that the tier fills and evicts.
  void RemovePage() {
    ForgetEvicted();
    if (pages_.empty() || random_() % 8 != 0) return;
    const uint64_t counter = AnyPage();
    ASSERT_TRUE(tier_->Remove(Id(counter)).ok());
    pages_.erase(counter);
  }
  void Touch1() {
    ForgetEvicted();
    if (pages_.empty()) return;
    clock_.Advance(1);
    ASSERT_TRUE(tier_->SetLastRead(Id(AnyPage()), random_() % 2 == 0 ? clock_.WallNs() : 0).ok());
  }
  void Background() {
    if (random_() % 2 == 0) {
      tier_->EvictToLow(random_() % 10);
    } else {
      tier_->WaitForSpace(RandomBytes());
    }
  }

  std::deque<ModelDraft> drafts_;
  std::deque<ModelHold> holds_;
  std::map<uint64_t, ModelPage> pages_;
  uint64_t next_ = 1;
};

// --gtest_random_seed=N repeats a run.
TEST_F(ModelTest, RandomOperations) {
  const int given = GTEST_FLAG_GET(random_seed);
  seed_ = given != 0 ? static_cast<uint64_t>(given) : 1 + std::random_device()() % 99'999;
  std::printf("--gtest_random_seed=%lu\n", seed_);
  random_.seed(seed_);
  for (int step = 0; step < 3'000; ++step) {
    Step();
    CompareAll();
    if (step % 200 == 0) CompareContents();
    ASSERT_FALSE(HasFatalFailure()) << "step " << step << " of seed " << seed_;
  }
  EXPECT_GT(tier_->GetStats().evicted_pages, 0u);
}

}  // namespace
}  // namespace kvpagefs
