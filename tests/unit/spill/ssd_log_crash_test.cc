// Random work, crashes and reopens, against a model of what must be readable. KVPAGEFS_CRASH_SEEDS: how many seeds;
// KVPAGEFS_SEED: only this one.
#include <cstdlib>
#include <map>
#include <random>

#include <gtest/gtest.h>

#include "unit/spill/ssd_log_fixture.h"

namespace kvpagefs {
namespace {

enum class Crash { kClose, kKill, kPowerCut };

uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* const value = std::getenv(name);
  return value != nullptr ? std::strtoull(value, nullptr, 10) : otherwise;
}

class CrashTest : public SsdLogTest {
 protected:
  struct Page {
    uint64_t bytes = 0;
    std::string description;
    bool pending = false;  // Append is not done
    bool stored = false;   // Append is done, and nothing took the page away
    bool durable = false;  // a Sync that began while it was stored is done
    bool dropped = false;  // told as gone
    enum class Removal { kNone, kReturned, kDurable, kUnknown } removal = Removal::kNone;
    uint64_t times_gone = 0;
    uint64_t asked_in = 0;  // region, when reclaim asked for it
  };
  using Removal = Page::Removal;

  uint64_t Roll(uint64_t below) { return random_() % below; }

  void Run(uint64_t seed, bool faults) {
    SCOPED_TRACE("KVPAGEFS_SEED=" + std::to_string(seed));
    random_.seed(seed);
    MakeStore(seed * 2 + 1);
    listener_ = {};
    listener_.on_asked = [this](PageId id) { pages_[id.value & kIdCounterMask].asked_in = log_->Find(id)->region; };
    pages_.clear();
    next_ = 1;
    faulty_ = faults;
    lying_ = faults && Roll(2) == 0;
    store_->faults = {};
    OpenRandom(false);
    for (int life = 0; life < 5 && !HasFatalFailure(); ++life) {
      const uint64_t steps = 50 + Roll(400);
      SetFaults();
      for (uint64_t i = 0; i < steps; ++i) Act();
      store_->faults = {};
      CrashAndReopen();
    }
    log_.reset();
  }

  void SetFaults() {
    if (!faulty_) return;
    const auto chance = [this] { return Roll(3) == 0 ? 0.02 * static_cast<double>(Roll(5)) : 0.0; };
    store_->faults.write_error = chance();
    store_->faults.small_error = chance();
    store_->faults.read_error = chance();
    if (lying_) store_->faults.misdirected_write = chance();
    if (lying_) store_->faults.flipped_write = chance();
    store_->faults.read_only = Roll(10) == 0;
  }

  bool OpenRandom(bool again) {
    const uint64_t before = options_.capacity_bytes;
    const bool keep = again && Roll(2) == 0;
    const uint64_t capacity = keep ? before : CapacityFor(4 + Roll(6));
    Open({.capacity_bytes = capacity, .max_queued_appends = 64});
    store_->most_bytes = 0;
    return again && capacity < before;
  }

  void Act() {
    switch (Roll(16)) {
      case 0:
      case 1:
      case 2: return StartAppend();
      case 3:
      case 4: return StartRead();
      case 5: return RemoveSome();
      case 6: return Roll(4) == 0 ? StartSync() : (void)log_->Step();
      case 7: return (void)clock_.Advance(static_cast<int64_t>(Roll(400'000'000)));
      case 8: {
        const uint64_t counter = 1 + Roll(next_);
        if (Roll(2) == 0) listener_.wanted.insert(Id(counter).value);
        return;
      }
      case 9:
      case 10:
      case 11: return (void)log_->Step();
      default: disk_->Step();
    }
    ForgetGone();
  }

  void StartAppend() {
    uint64_t counter = next_;
    // A page that was dropped may be stored again.
    const uint64_t old = 1 + Roll(next_);
    const auto found = pages_.find(old);
    const bool again = found != pages_.end() && found->second.dropped && !found->second.pending &&
                       found->second.removal == Removal::kNone;
    if (again) counter = old;
    Page& page = pages_[counter];
    if (!again) {
      ++next_;
      page.bytes = Roll(10) == 0 ? Roll(120'000) : Roll(12'000);
      page.description = std::string(Roll(20) == 0 ? Roll(9'000) : Roll(200), static_cast<char>('a' + counter % 26));
    }
    page.dropped = false;
    page.pending = true;
    auto buffer = std::make_shared<PageBuffer>(Pattern(page.bytes, counter));
    SsdLog::AppendRequest request = Request(counter, *buffer, page.description);
    request.pieces = buffer->Pieces((1 + Roll(4)) * kBlockBytes);
    request.done = [this, counter, buffer](const Status& status) {
      Page& done = pages_[counter];
      done.pending = false;
      if (!status.ok() && !faulty_ && !closing_) {
        EXPECT_NE(status.code(), ErrorCode::kUnavailable) << status.error().Describe();
      }
      done.stored = status.ok() && done.removal == Removal::kNone;
      // A failed append may be tried again later, as what was dropped.
      done.dropped = !status.ok();
    };
    log_->Append(std::move(request));
  }

  void StartRead() {
    const uint64_t counter = 1 + Roll(next_);
    const auto found = pages_.find(counter);
    if (found == pages_.end()) return;
    auto buffer = std::make_shared<PageBuffer>(found->second.bytes);
    log_->Read(Id(counter), buffer->Pieces(), [this, counter, buffer](const Status& status) {
      if (status.ok()) {
        EXPECT_TRUE(std::ranges::equal(buffer->page(), Pattern(buffer->bytes, counter)))
            << "wrong bytes of " << counter;
      } else if (!faulty_ && !after_power_cut_) {
        EXPECT_EQ(status.code(), ErrorCode::kNotFound) << counter << ": " << status.error().Describe();
      }
    });
  }

  void RemoveSome() {
    std::vector<PageId> ids;
    for (uint64_t i = 0; i <= Roll(3); ++i) ids.push_back(Id(1 + Roll(next_)));
    std::vector<uint64_t> known;
    for (const PageId id : ids) {
      const uint64_t counter = id.value & kIdCounterMask;
      // Pages that are unknown to the log count as well: removed is removed.
      if (pages_.contains(counter)) known.push_back(counter);
    }
    size_t found = 0;
    const bool removed = log_->Remove(ids, &found).ok();
    for (const uint64_t counter : known) {
      Page& page = pages_[counter];
      if (page.removal == Removal::kDurable || (page.removal == Removal::kReturned && !removed)) continue;
      page.removal = removed ? Removal::kReturned : Removal::kUnknown;
      page.stored = page.durable = false;
      EXPECT_FALSE(Has(counter));
    }
  }

  void StartSync() {
    std::vector<std::pair<uint64_t, uint64_t>> stored;  // counter, times_gone
    std::vector<uint64_t> removed;
    for (const auto& [counter, page] : pages_) {
      if (page.stored) stored.emplace_back(counter, page.times_gone);
      if (page.removal == Removal::kReturned) removed.push_back(counter);
    }
    log_->Sync([this, stored, removed](const Status& status) {
      if (!faulty_) {
        EXPECT_TRUE(status.ok());
      }
      if (!status.ok()) return;
      ForgetGone();
      for (const auto& [counter, times_gone] : stored) {
        Page& page = pages_[counter];
        // What went and was stored again meanwhile is another record.
        if (page.times_gone == times_gone) page.durable = page.stored;
      }
      for (const uint64_t counter : removed) {
        if (pages_[counter].removal == Removal::kReturned) pages_[counter].removal = Removal::kDurable;
      }
    });
  }

  void ForgetGone() {
    for (const uint64_t id : std::exchange(listener_.gone, {})) {
      Page& page = pages_[id & kIdCounterMask];
      page.stored = page.durable = false;
      page.dropped = true;
      ++page.times_gone;
    }
    EXPECT_LE(store_->most_bytes, options_.capacity_bytes);
    EXPECT_LE(store_->FileBytes(), options_.capacity_bytes);
  }

  struct Expected {
    bool required = false;
    uint64_t region = 0;
  };

  void CrashAndReopen() {
    const auto crash = static_cast<Crash>(Roll(3));
    if (crash == Crash::kClose) {
      closing_ = true;
      log_->Close();
      ASSERT_TRUE(log_->RunUntil([this] { return log_->Closed(); }));
      ASSERT_TRUE(log_->FlushMarks().ok() || faulty_);
    }
    ForgetGone();
    std::map<uint64_t, Expected> expected;
    for (auto& [counter, page] : pages_) {
      if (!page.stored) continue;
      const Result<SsdLog::PageLocation> place = log_->Find(Id(counter));
      EXPECT_TRUE(place.ok()) << "page " << counter << " vanished";
      if (!place.ok()) continue;
      // A reclaim that was under way may have been about to drop it.
      const bool safe = page.asked_in != place->region;
      expected[counter] = {.required = safe && (crash != Crash::kPowerCut || page.durable), .region = place->region};
    }
    Kill();
    closing_ = false;
    if (crash == Crash::kPowerCut) store_->PowerCut();
    after_power_cut_ = after_power_cut_ || crash == Crash::kPowerCut;
    const bool lowered = OpenRandom(true);
    CompareRequired(expected, lowered, crash);
    TakeRecovered(crash);
    for (auto& [counter, page] : pages_) {
      if (page.stored) VerifyPage(counter, expected[counter].required);
    }
    ForgetGone();
  }

  // A lower capacity takes the oldest regions, and nothing else is missing.
  void CompareRequired(const std::map<uint64_t, Expected>& expected, bool lowered, Crash crash) {
    uint64_t newest_lost = 0;
    uint64_t oldest_kept = UINT64_MAX;
    for (const auto& [counter, page] : expected) {
      if (!page.required || faulty_) continue;
      const bool kept = recovered_.contains(Id(counter).value);
      EXPECT_TRUE(kept || lowered) << "page " << counter << " of region " << page.region << " is lost";
      if (kept) oldest_kept = std::min(oldest_kept, page.region);
      if (!kept) newest_lost = std::max(newest_lost, page.region);
    }
    // A move that was not synced leaves its page in the region before, wherever that was.
    if (newest_lost > 0 && crash != Crash::kPowerCut) {
      EXPECT_LT(newest_lost, oldest_kept);
    }
  }

  void TakeRecovered(Crash crash) {
    for (auto& [counter, page] : pages_) {
      const auto found = recovered_.find(Id(counter).value);
      const bool back = found != recovered_.end();
      const bool known_removed =
          page.removal == Removal::kDurable || (page.removal == Removal::kReturned && crash != Crash::kPowerCut);
      if (!lying_) {
        EXPECT_FALSE(back && known_removed) << "removed page " << counter << " came back";
      }
      // The mark of a quarantined (torn) record may not have been written.
      if (!faulty_ && !after_power_cut_ && !page.pending && page.removal == Removal::kNone) {
        EXPECT_FALSE(back && page.dropped) << "dropped page " << counter << " came back";
      }
      if (back) {
        EXPECT_EQ(found->second.bytes, page.bytes);
        EXPECT_EQ(found->second.description, page.description);
        EXPECT_EQ(found->second.checksum, Checksum(Pattern(page.bytes, counter)));
        if (!known_removed) page.removal = Removal::kNone;
      }
      page.stored = back && page.removal == Removal::kNone;
      page.durable = page.stored && page.durable;
      page.dropped = !page.stored;
      page.pending = false;
      page.asked_in = 0;
    }
    EXPECT_EQ(recovered_.size(), counts_.pages);
  }

  void VerifyPage(uint64_t counter, bool required) {
    const uint64_t bytes = pages_[counter].bytes;
    if (listener_.gone.contains(Id(counter).value)) return;
    const Status read = Read(counter, bytes);
    ForgetGone();
    if (pages_[counter].dropped && !required) return;
    if (required && !faulty_) {
      EXPECT_TRUE(read.ok() || !pages_[counter].stored) << "page " << counter;
    }
  }

  std::mt19937_64 random_;
  std::map<uint64_t, Page> pages_;
  uint64_t next_ = 1;
  bool faulty_ = false;
  bool closing_ = false;
  bool lying_ = false;            // writes land elsewhere or change
  bool after_power_cut_ = false;  // records that were never synced may be torn
};

class SeededCrashTest : public CrashTest {
 protected:
  void RunAll(bool faults) {
    const char* const one = std::getenv("KVPAGEFS_SEED");
    const uint64_t first = FromEnvironment("KVPAGEFS_SEED", 1);
    const uint64_t seeds = one != nullptr ? 1 : FromEnvironment("KVPAGEFS_CRASH_SEEDS", 300);
    for (uint64_t seed = first; seed < first + seeds; ++seed) {
      after_power_cut_ = false;
      Run(seed, faults);
      ASSERT_FALSE(HasFailure()) << "rerun with KVPAGEFS_SEED=" << seed;
    }
  }
};

TEST_F(SeededCrashTest, PagesOfACompletedSyncSurvive) { RunAll(false); }
TEST_F(SeededCrashTest, FaultsGiveRightBytesOrErrors) { RunAll(true); }

}  // namespace
}  // namespace kvpagefs
