// L1 to L4 are the invariants of LockTable.
#include "fs/lock_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <random>
#include <thread>

namespace kvpagefs {
namespace {

using ::testing::ElementsAre;
using Claim = LockTable::Claim;
using Kind = LockTable::Kind;
using Mode = LockTable::Mode;

const LockTable::Key kFile{7, "a"};
constexpr uint64_t kMaxOwner = 9;

std::string Words(const Status& status) { return status.ok() ? "ok" : std::string(ToString(status.code())); }
const std::string kBlocked(ToString(ErrorCode::kWouldBlock));
const std::string kInterrupted(ToString(ErrorCode::kInterrupted));
const std::string kFull(ToString(ErrorCode::kNoLocks));
const std::string kDeadlock(ToString(ErrorCode::kDeadlock));

// Owner N locks through handle N of one file unless a test says otherwise.
class LockTableTest : public testing::Test {
 protected:
  LockTableTest() {
    for (uint64_t owner = 1; owner <= kMaxOwner; ++owner) table_.Bind(owner, kFile);
  }

  static Claim Record(uint64_t owner, Mode mode, uint64_t first = 0, uint64_t last = LockTable::kLastByte) {
    Claim claim;
    claim.mode = mode;
    claim.first = first;
    claim.last = last;
    claim.owner = claim.handle = owner;
    claim.pid = static_cast<int32_t>(owner * 100);
    return claim;
  }
  static Claim Flock(uint64_t owner, Mode mode) {
    Claim claim = Record(owner, mode);
    claim.kind = Kind::kFlock;
    return claim;
  }
  std::string Set(const Claim& claim) { return Words(table_.Set(claim)); }
  // Returns the ticket; the answer comes into answers_.
  uint64_t Wait(const Claim& claim) {
    const uint64_t ticket = table_.NewTicket();
    table_.SetOrWait(ticket, claim, Note(claim.owner));
    return ticket;
  }
  LockTable::Answer Note(uint64_t owner) {
    return [this, owner](const Status& status) {
      answers_[owner].push_back(Words(status));
      order_.push_back(owner);
    };
  }
  // Which of the bytes 0 to 29 a stranger could not lock: '.' free, 's' shared, 'x' exclusive.
  std::string Map() {
    std::string map;
    for (uint64_t byte = 0; byte < 30; ++byte) {
      const bool shared = table_.Conflict(Record(kMaxOwner, Mode::kShared, byte, byte)).has_value();
      const bool exclusive = table_.Conflict(Record(kMaxOwner, Mode::kExclusive, byte, byte)).has_value();
      map += shared ? 'x' : exclusive ? 's' : '.';
    }
    return map;
  }

  LockTable table_;
  std::map<uint64_t, std::vector<std::string>> answers_;
  std::vector<uint64_t> order_;
};

TEST_F(LockTableTest, SharedMeetsSharedExclusiveMeetsNothing) {
  for (const Kind kind : {Kind::kRecord, Kind::kFlock}) {
    const auto make = [kind](uint64_t owner, Mode mode) {
      return kind == Kind::kRecord ? Record(owner, mode) : Flock(owner, mode);
    };
    EXPECT_EQ(Set(make(1, Mode::kShared)), "ok");
    EXPECT_EQ(Set(make(2, Mode::kShared)), "ok");
    EXPECT_EQ(Set(make(3, Mode::kExclusive)), kBlocked);
    EXPECT_EQ(Set(make(1, Mode::kUnlock)), "ok");
    EXPECT_EQ(Set(make(2, Mode::kExclusive)), "ok") << "the only holder";
    EXPECT_EQ(Set(make(3, Mode::kShared)), kBlocked);
    EXPECT_EQ(Set(make(2, Mode::kExclusive)), "ok") << "again";
    EXPECT_EQ(table_.held(), 1u);
    EXPECT_EQ(Set(make(2, Mode::kUnlock)), "ok");
    EXPECT_EQ(Set(make(2, Mode::kUnlock)), "ok") << "nothing to unlock";
    EXPECT_EQ(table_.held(), 0u);
  }
}

TEST_F(LockTableTest, KindsAndFilesDoNotMeet) {
  EXPECT_EQ(Set(Record(1, Mode::kExclusive)), "ok");
  EXPECT_EQ(Set(Flock(2, Mode::kExclusive)), "ok");
  for (const LockTable::Key& other : {LockTable::Key(7, "b"), LockTable::Key(8, "a"), LockTable::Key(7, "")}) {
    const uint64_t handle = 100 + other.first + other.second.size() * 10 + (other.second == "b" ? 1 : 0);
    table_.Bind(handle, other);
    EXPECT_EQ(Set(Record(handle, Mode::kExclusive)), "ok") << other.first << other.second;
  }
}

TEST_F(LockTableTest, TheFirstBindDecides) {
  EXPECT_EQ(table_.KeyOf(77), std::nullopt);
  table_.Bind(77, {1, "old"});
  table_.Bind(77, {1, "new"});
  EXPECT_EQ(table_.KeyOf(77), LockTable::Key(1, "old"));
  table_.ReleaseHandle(77);
  EXPECT_EQ(table_.KeyOf(77), std::nullopt);
}

TEST_F(LockTableTest, RangesAreCutAndJoined) {
  EXPECT_EQ(Set(Record(1, Mode::kExclusive, 5, 24)), "ok");
  EXPECT_EQ(Map(), ".....xxxxxxxxxxxxxxxxxxxx.....");
  EXPECT_EQ(Set(Record(1, Mode::kUnlock, 10, 14)), "ok");
  EXPECT_EQ(Map(), ".....xxxxx.....xxxxxxxxxx.....");
  EXPECT_EQ(table_.held(), 2u) << "cut";
  EXPECT_EQ(Set(Record(1, Mode::kShared, 8, 16)), "ok");
  EXPECT_EQ(Map(), ".....xxxsssssssssxxxxxxxx.....");
  EXPECT_EQ(table_.held(), 3u);
  EXPECT_EQ(Set(Record(1, Mode::kExclusive, 8, 16)), "ok");
  EXPECT_EQ(Map(), ".....xxxxxxxxxxxxxxxxxxxx.....");
  EXPECT_EQ(table_.held(), 1u) << "joined on both sides";
  EXPECT_EQ(Set(Record(1, Mode::kUnlock, 0, 5)), "ok");
  EXPECT_EQ(Set(Record(1, Mode::kUnlock, 24, LockTable::kLastByte)), "ok");
  EXPECT_EQ(Map(), "......xxxxxxxxxxxxxxxxxx......");
  EXPECT_EQ(Set(Record(1, Mode::kShared)), "ok");
  EXPECT_EQ(table_.held(), 1u) << "swallowed";
  EXPECT_EQ(Map(), std::string(30, 's'));
}

TEST_F(LockTableTest, BytesSideBySideDoNotMeet) {
  EXPECT_EQ(Set(Record(1, Mode::kExclusive, 10, 19)), "ok");
  EXPECT_EQ(Set(Record(2, Mode::kExclusive, 0, 9)), "ok");
  EXPECT_EQ(Set(Record(3, Mode::kExclusive, 20, LockTable::kLastByte)), "ok");
  EXPECT_EQ(Set(Record(3, Mode::kExclusive, 19, 19)), kBlocked);
  EXPECT_EQ(Set(Record(2, Mode::kShared, 9, 10)), kBlocked);
  EXPECT_EQ(table_.held(), 3u);
}

TEST_F(LockTableTest, ConflictNamesTheLowest) {
  EXPECT_EQ(table_.Conflict(Record(3, Mode::kExclusive)), std::nullopt);
  EXPECT_EQ(Set(Record(1, Mode::kShared, 20, 25)), "ok");
  EXPECT_EQ(Set(Record(2, Mode::kExclusive, 10, 15)), "ok");
  const std::optional<Claim> held = table_.Conflict(Record(3, Mode::kExclusive));
  ASSERT_TRUE(held.has_value());
  EXPECT_EQ(held->first, 10u);
  EXPECT_EQ(held->last, 15u);
  EXPECT_EQ(held->mode, Mode::kExclusive);
  EXPECT_EQ(held->pid, 200);
  EXPECT_EQ(table_.Conflict(Record(3, Mode::kShared, 20, 25)), std::nullopt);
  EXPECT_EQ(table_.Conflict(Record(2, Mode::kExclusive, 10, 15)), std::nullopt) << "the own one";
}

// As Linux: the old flock is gone before the new one is tried.
TEST_F(LockTableTest, FlockIsLostWhenItsConversionFails) {
  EXPECT_EQ(Set(Flock(1, Mode::kShared)), "ok");
  EXPECT_EQ(Set(Flock(2, Mode::kShared)), "ok");
  EXPECT_EQ(Set(Flock(2, Mode::kExclusive)), kBlocked);
  EXPECT_EQ(Set(Flock(1, Mode::kExclusive)), "ok");
  EXPECT_EQ(Set(Record(1, Mode::kShared)), "ok");
  EXPECT_EQ(Set(Record(2, Mode::kShared)), "ok");
  EXPECT_EQ(Set(Record(2, Mode::kExclusive)), kBlocked);
  EXPECT_EQ(Set(Record(1, Mode::kExclusive)), kBlocked) << "a record lock is kept";
}

TEST_F(LockTableTest, WaitersAreGrantedInOrder) {
  EXPECT_EQ(Set(Record(1, Mode::kExclusive)), "ok");
  Wait(Record(2, Mode::kShared));
  Wait(Record(3, Mode::kExclusive));
  Wait(Record(4, Mode::kShared));
  EXPECT_TRUE(order_.empty());
  EXPECT_EQ(table_.waiting(), 3u);
  table_.ReleaseOwner(kFile, 1);
  EXPECT_THAT(order_, ElementsAre(2, 4)) << "what is not in conflict with what is held";
  EXPECT_EQ(Set(Record(2, Mode::kUnlock)), "ok");
  EXPECT_EQ(Set(Record(4, Mode::kUnlock)), "ok");
  EXPECT_THAT(order_, ElementsAre(2, 4, 3));
  for (const uint64_t owner : {2, 3, 4}) EXPECT_THAT(answers_[owner], ElementsAre("ok")) << "L2";
  EXPECT_EQ(table_.waiting(), 0u);
  EXPECT_EQ(Set(Record(5, Mode::kShared)), kBlocked) << "the granted one holds it";
}

TEST_F(LockTableTest, WaitIsOverAtOnceWhenItIsFree) {
  Wait(Flock(1, Mode::kExclusive));
  EXPECT_THAT(answers_[1], ElementsAre("ok"));
  Wait(Flock(2, Mode::kExclusive));
  EXPECT_EQ(Set(Record(1, Mode::kUnlock)), "ok") << "of another kind";
  EXPECT_TRUE(answers_[2].empty());
  table_.ReleaseHandle(1);
  EXPECT_THAT(answers_[2], ElementsAre("ok"));
}

TEST_F(LockTableTest, AConversionToSharedWakesReaders) {
  EXPECT_EQ(Set(Record(1, Mode::kExclusive, 0, 9)), "ok");
  Wait(Record(2, Mode::kShared, 5, 5));
  EXPECT_EQ(Set(Record(1, Mode::kShared, 0, 9)), "ok");
  EXPECT_THAT(answers_[2], ElementsAre("ok"));
}

// A grant may free bytes itself: the earlier waiter must not be forgotten.
TEST_F(LockTableTest, AGrantThatConvertsWakesEarlierWaiters) {
  EXPECT_EQ(Set(Record(1, Mode::kExclusive, 0, 9)), "ok");
  EXPECT_EQ(Set(Record(2, Mode::kExclusive, 20, 29)), "ok");
  Wait(Record(3, Mode::kShared, 0, 9));
  Wait(Record(1, Mode::kShared, 0, 29));
  table_.ReleaseOwner(kFile, 2);
  EXPECT_THAT(order_, ElementsAre(1, 3));
}

TEST_F(LockTableTest, AFlockThatWaitsLetsItsOldOneGo) {
  EXPECT_EQ(Set(Flock(1, Mode::kShared)), "ok");
  EXPECT_EQ(Set(Flock(2, Mode::kShared)), "ok");
  Wait(Flock(1, Mode::kExclusive));
  EXPECT_TRUE(order_.empty());
  EXPECT_EQ(Set(Flock(2, Mode::kExclusive)), "ok");
  EXPECT_EQ(Set(Flock(2, Mode::kUnlock)), "ok");
  EXPECT_THAT(answers_[1], ElementsAre("ok"));
}

TEST_F(LockTableTest, InterruptAnswersOnce) {
  EXPECT_EQ(Set(Flock(1, Mode::kExclusive)), "ok");
  const uint64_t second = Wait(Flock(2, Mode::kExclusive));
  const uint64_t third = Wait(Flock(3, Mode::kExclusive));
  table_.Interrupt(second);
  table_.Interrupt(second);
  EXPECT_THAT(answers_[2], ElementsAre(kInterrupted)) << "L2";
  EXPECT_EQ(Set(Flock(1, Mode::kUnlock)), "ok");
  EXPECT_THAT(answers_[3], ElementsAre("ok"));
  table_.Interrupt(third);
  table_.Interrupt(12345);
  EXPECT_THAT(answers_[3], ElementsAre("ok")) << "L2";
}

TEST_F(LockTableTest, InterruptBeforeTheWaitIsNotLost) {
  const uint64_t ticket = table_.NewTicket();
  table_.Interrupt(ticket);
  table_.SetOrWait(ticket, Flock(1, Mode::kExclusive), Note(1));
  EXPECT_THAT(answers_[1], ElementsAre(kInterrupted));
  EXPECT_EQ(table_.held(), 0u);
}

TEST_F(LockTableTest, OwnersLoseTheirRecordLocksThroughAllHandles) {
  Claim other = Record(1, Mode::kExclusive, 0, 9);
  other.handle = 2;
  EXPECT_EQ(Set(other), "ok");
  EXPECT_EQ(Set(Record(1, Mode::kExclusive, 10, 19)), "ok");
  EXPECT_EQ(Set(Record(3, Mode::kExclusive, 20, 29)), "ok");
  EXPECT_EQ(Set(Flock(1, Mode::kExclusive)), "ok");
  table_.ReleaseOwner(kFile, 1);
  EXPECT_EQ(Map(), "....................xxxxxxxxxx");
  EXPECT_EQ(Set(Flock(2, Mode::kShared)), kBlocked) << "not the flock";
}

// A RELEASE comes behind the close: what the owner has locked through a new handle meanwhile stays.
TEST_F(LockTableTest, AHandleTakesOnlyItsOwnLocksAlong) {
  EXPECT_EQ(Set(Record(1, Mode::kShared, 0, 19)), "ok");
  Claim later = Record(1, Mode::kShared, 10, 29);
  later.handle = 2;
  EXPECT_EQ(Set(later), "ok");
  EXPECT_EQ(table_.held(), 2u) << "not joined";
  table_.ReleaseHandle(1);
  EXPECT_EQ(Map(), "..........ssssssssssssssssssss");
  table_.ReleaseHandle(2);
  EXPECT_EQ(table_.held(), 0u);
}

TEST_F(LockTableTest, AHandleThatGoesAnswersItsWaiters) {
  EXPECT_EQ(Set(Record(1, Mode::kExclusive)), "ok");
  Wait(Record(2, Mode::kExclusive));
  table_.ReleaseHandle(2);
  EXPECT_THAT(answers_[2], ElementsAre(kFull));
  table_.ReleaseHandle(1);
  EXPECT_EQ(table_.held() + table_.waiting(), 0u);
}

TEST_F(LockTableTest, ClearAnswersAndForgets) {
  EXPECT_EQ(Set(Record(1, Mode::kExclusive)), "ok");
  Wait(Record(2, Mode::kExclusive));
  Wait(Record(3, Mode::kShared));
  table_.Clear(ErrorCode::kNoLocks);
  EXPECT_THAT(answers_[2], ElementsAre(kFull));
  EXPECT_THAT(answers_[3], ElementsAre(kFull));
  EXPECT_EQ(table_.held() + table_.waiting(), 0u);
  table_.Bind(4, kFile);
  EXPECT_EQ(Set(Record(4, Mode::kExclusive)), "ok");
}

TEST_F(LockTableTest, L3NoMoreThanTheLimits) {
  for (uint64_t i = 0; i < LockTable::kMaxLocks; ++i) {
    table_.Bind(1000 + i, {50 + i, "f"});
    ASSERT_EQ(Set(Record(1000 + i, Mode::kExclusive, 10, 19)), "ok") << i;
  }
  EXPECT_EQ(Set(Record(1, Mode::kShared)), kFull);
  EXPECT_EQ(Set(Record(1000, Mode::kUnlock, 15, 15)), kFull) << "would cut it in two";
  EXPECT_EQ(Set(Record(1000, Mode::kShared, 10, 19)), "ok") << "in its place";
  EXPECT_EQ(Set(Record(1000, Mode::kUnlock)), "ok");
  EXPECT_EQ(Set(Record(1, Mode::kExclusive)), "ok");
  for (uint64_t i = 0; i < LockTable::kMaxWaiting; ++i) Wait(Record(2, Mode::kExclusive));
  EXPECT_TRUE(order_.empty());
  Wait(Record(3, Mode::kExclusive));
  EXPECT_THAT(answers_[3], ElementsAre(kFull));
  table_.Clear(ErrorCode::kNoLocks);
  EXPECT_EQ(answers_[2].size(), LockTable::kMaxWaiting);
}

TEST_F(LockTableTest, L4DeadlocksAreRefused) {
  table_.Bind(100, {8, "b"});
  const auto in_b = [](uint64_t owner) {
    Claim claim = Record(owner, Mode::kExclusive);
    claim.handle = 100;
    return claim;
  };
  EXPECT_EQ(Set(Record(1, Mode::kExclusive, 0, 9)), "ok");
  EXPECT_EQ(Set(Record(2, Mode::kExclusive, 10, 19)), "ok");
  EXPECT_EQ(Set(in_b(3)), "ok");
  Wait(Record(3, Mode::kExclusive, 0, 0));
  Wait(in_b(2));
  EXPECT_TRUE(order_.empty());
  Wait(Record(1, Mode::kShared, 15, 15));
  EXPECT_THAT(answers_[1], ElementsAre(kDeadlock)) << "1 -> 2 -> 3 -> 1";
  EXPECT_EQ(Set(Record(1, Mode::kUnlock)), "ok");
  EXPECT_THAT(answers_[3], ElementsAre("ok")) << "the others go on";
}

// L1 against a plain array of bytes.
TEST_F(LockTableTest, RandomRangesMatchAModel) {
  constexpr uint64_t kBytes = 24;
  constexpr uint64_t kOwners = 4;
  std::mt19937 random(4711);
  std::array<std::array<Mode, kBytes>, kOwners + 1> model{};
  for (int step = 0; step < 20'000; ++step) {
    const uint64_t owner = 1 + random() % kOwners;
    const uint64_t first = random() % kBytes;
    const uint64_t last = first + random() % (kBytes - first);
    const Mode mode = static_cast<Mode>(random() % 3);
    bool blocked = false;
    for (uint64_t other = 1; other <= kOwners; ++other) {
      for (uint64_t byte = first; other != owner && byte <= last; ++byte) {
        const Mode held = model[other][byte];
        blocked = blocked || (mode == Mode::kExclusive && held != Mode::kUnlock) ||
                  (mode == Mode::kShared && held == Mode::kExclusive);
      }
    }
    ASSERT_EQ(Set(Record(owner, mode, first, last)), blocked ? kBlocked : "ok") << "step " << step;
    if (blocked) continue;
    for (uint64_t byte = first; byte <= last; ++byte) model[owner][byte] = mode;
    size_t runs = 0;
    for (uint64_t each = 1; each <= kOwners; ++each) {
      for (uint64_t byte = 0; byte < kBytes; ++byte) {
        const Mode before = byte == 0 ? Mode::kUnlock : model[each][byte - 1];
        if (model[each][byte] != Mode::kUnlock && model[each][byte] != before) ++runs;
      }
    }
    ASSERT_EQ(table_.held(), runs) << "step " << step;
  }
}

TEST_F(LockTableTest, ThreadsExcludeEachOther) {
  constexpr int kRounds = 500;
  std::atomic<int> inside{0};
  std::atomic<int> done{0};
  std::vector<std::thread> threads;
  for (uint64_t owner = 1; owner <= 4; ++owner) {
    threads.emplace_back([&, owner] {
      for (int round = 0; round < kRounds; ++round) {
        const auto outcome = std::make_shared<std::atomic<int>>(0);
        const uint64_t ticket = table_.NewTicket();
        table_.SetOrWait(ticket, Flock(owner, Mode::kExclusive), [outcome](const Status& status) {
          outcome->store(status.ok() ? 1 : 2);
          outcome->notify_one();
        });
        if (round % 7 == 0) table_.Interrupt(ticket);
        outcome->wait(0);
        if (outcome->load() == 2) continue;
        EXPECT_EQ(inside.fetch_add(1), 0);
        inside.fetch_sub(1);
        done.fetch_add(1);
        EXPECT_TRUE(table_.Set(Flock(owner, Mode::kUnlock)).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GE(done.load(), 4 * kRounds / 2);
  EXPECT_EQ(table_.held() + table_.waiting(), 0u);
}

}  // namespace
}  // namespace kvpagefs
