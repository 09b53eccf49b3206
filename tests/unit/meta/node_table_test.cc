#include "meta/node_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <set>

namespace kvpagefs {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kTick = kSecond / 10;

class NodeTableTest : public ::testing::Test {
 protected:
  static NodeTable::Joining Node(const std::string& identity, uint16_t number = 0, uint64_t ssd_bytes = 100) {
    NodeTable::Joining joining{
        .identity = identity, .name = "name-" + identity, .address = "10.0.0.1:1", .number = number, .use = {}};
    joining.use.ssd_bytes = ssd_bytes;
    return joining;
  }
  NodeTable::Joined Join(const NodeTable::Joining& joining) {
    const auto joined = table_.Join(joining, now_);
    EXPECT_TRUE(joined.ok());
    return *joined;
  }
  // Time passes in ticks; those in `speaking` send a word at each.
  std::vector<NodeSlot> Pass(int64_t time, const std::vector<NodeSlot>& speaking) {
    std::vector<NodeSlot> ended;
    for (const int64_t end = now_ + time; now_ < end;) {
      now_ += kTick;
      for (const NodeSlot slot : speaking) table_.Heard(slot, now_);
      const auto ticked = table_.Tick(now_);
      EXPECT_EQ(ticked.paused_ns, 0);
      ended.insert(ended.end(), ticked.ended.begin(), ticked.ended.end());
    }
    return ended;
  }
  std::optional<Member> MemberOf(uint16_t number) {
    for (const Member& member : table_.Members(now_)) {
      if (member.number == number) return member;
    }
    return std::nullopt;
  }

  int64_t now_ = kSecond;
  NodeTable table_{{}, kSecond};
};

TEST_F(NodeTableTest, AnIdentityKeepsItsNumber) {
  const auto a = Join(Node("a"));
  const auto b = Join(Node("b"));
  EXPECT_NE(a.number, b.number);
  const auto again = Join(Node("a", 77));
  EXPECT_EQ(again.number, a.number);
  EXPECT_NE(again.slot, a.slot);
  EXPECT_EQ(again.ended, a.slot);  // S1
  EXPECT_FALSE(table_.IsAlive(a.slot));
  EXPECT_TRUE(table_.IsAlive(again.slot));
}

TEST_F(NodeTableTest, ANodeGetsTheNumberItHadUnlessSomebodyHasIt) {
  EXPECT_EQ(Join(Node("a", 40)).number, 40);
  EXPECT_NE(Join(Node("b", 40)).number, 40);
}

TEST_F(NodeTableTest, NumbersOfNodesWithoutSsdComeBackLate) {  // S4
  const auto brief = Join(Node("brief", 0, 0));
  const auto lasting = Join(Node("lasting"));
  Pass(6 * kSecond, {});
  EXPECT_FALSE(MemberOf(brief.number).has_value());
  EXPECT_TRUE(MemberOf(lasting.number).has_value());
  EXPECT_NE(Join(Node("other", brief.number)).number, brief.number);
  now_ += NodeTable::kForgetNs;
  EXPECT_EQ(Join(Node("later", brief.number)).number, brief.number);
  EXPECT_NE(Join(Node("latest", lasting.number)).number, lasting.number);
  EXPECT_NE(Join(Node("brief", brief.number)).number, brief.number);
}

TEST_F(NodeTableTest, NumbersRunOut) {
  for (int i = 1; i <= 65'535; ++i) {
    const auto joined = Join(Node("n" + std::to_string(i)));
    table_.End(joined.slot, now_);
    table_.Free(joined.slot);
  }
  EXPECT_EQ(table_.Join(Node("one more"), now_).code(), ErrorCode::kInvalid);
  EXPECT_EQ(table_.Join(Node("one-more"), now_).code(), ErrorCode::kUnavailable);
  EXPECT_EQ(Join(Node("n7")).number, 7);
}

TEST_F(NodeTableTest, ASilentNodeEnds) {
  const auto a = Join(Node("a"));
  const auto b = Join(Node("b"));
  EXPECT_TRUE(Pass(4 * kSecond, {a.slot}).empty());
  EXPECT_EQ(Pass(2 * kSecond, {a.slot}), std::vector<NodeSlot>{b.slot});
  EXPECT_TRUE(table_.IsAlive(a.slot));
  EXPECT_FALSE(table_.IsAlive(b.slot));
  EXPECT_EQ(MemberOf(b.number)->state, "down");
  EXPECT_EQ(table_.Sweepable(now_), std::vector<NodeSlot>{b.slot});
  table_.Heard(b.slot, now_);  // too late
  EXPECT_FALSE(table_.IsAlive(b.slot));
}

TEST_F(NodeTableTest, APauseIsNobodysDeath) {  // S3
  const auto a = Join(Node("a"));
  Pass(2 * kSecond, {a.slot});
  for (int i = 0; i < 5; ++i) {
    now_ += 100 * kSecond;
    const auto ticked = table_.Tick(now_);
    EXPECT_TRUE(ticked.ended.empty());
    EXPECT_EQ(ticked.paused_ns, 100 * kSecond);
  }
  EXPECT_TRUE(Pass(4 * kSecond, {}).empty());
  EXPECT_EQ(Pass(kSecond, {}), std::vector<NodeSlot>{a.slot});
}

TEST_F(NodeTableTest, AWordDuringThePauseDoesNotCountTwice) {
  const auto a = Join(Node("a"));
  now_ += 100 * kSecond;
  table_.Heard(a.slot, now_);
  EXPECT_TRUE(table_.Tick(now_).ended.empty());
  EXPECT_EQ(Pass(5 * kSecond, {}), std::vector<NodeSlot>{a.slot});
}

TEST_F(NodeTableTest, AReplacedSessionIsSweptWhenTheLaterOneHasToldAll) {  // S2
  const auto first = Join(Node("a"));
  const auto second = Join(Node("a"));
  EXPECT_TRUE(table_.Sweepable(now_).empty());
  const auto third = Join(Node("a"));
  EXPECT_TRUE(table_.Sweepable(now_).empty());
  table_.SetComplete(second.slot);  // has ended: nothing happens
  EXPECT_TRUE(table_.Sweepable(now_).empty());
  table_.SetComplete(third.slot);
  EXPECT_EQ(table_.Sweepable(now_).size(), 2u);
  table_.Free(first.slot);
  EXPECT_EQ(table_.Sweepable(now_), std::vector<NodeSlot>{second.slot});
}

TEST_F(NodeTableTest, AReplacedSessionIsSweptWhenTheLaterOneEnds) {  // S2
  Join(Node("a"));
  const auto second = Join(Node("a"));
  table_.End(second.slot, now_);
  EXPECT_TRUE(table_.Sweepable(now_).empty());  // it may come back at once
  Pass(5 * kSecond, {});
  EXPECT_EQ(table_.Sweepable(now_).size(), 2u);
}

TEST_F(NodeTableTest, SlotsAreTakenAgainOnlyWhenFree) {  // S1
  const auto first = Join(Node("a"));
  std::set<NodeSlot> taken = {first.slot};
  for (int i = 0; i < 65'534; ++i) {
    ASSERT_TRUE(taken.insert(Join(Node("a")).slot).second);
  }
  EXPECT_EQ(table_.Join(Node("a"), now_).code(), ErrorCode::kUnavailable);
  table_.Free(first.slot);
  EXPECT_EQ(Join(Node("a")).slot, first.slot);
}

TEST_F(NodeTableTest, MembersAndTheirVersion) {
  uint64_t version = table_.members_version();
  const auto changed = [&] { return table_.members_version() != std::exchange(version, table_.members_version()); };
  const auto a = Join(Node("a"));
  EXPECT_TRUE(changed());
  EXPECT_EQ(MemberOf(a.number)->state, "joining");
  EXPECT_TRUE(table_.AnyJoining(now_, kSecond));
  EXPECT_FALSE(table_.AnyJoining(now_ + kSecond, kSecond));
  table_.SetComplete(a.slot);
  EXPECT_TRUE(changed());
  EXPECT_FALSE(table_.AnyJoining(now_, kSecond));
  EXPECT_EQ(MemberOf(a.number)->state, "up");
  NodeUse use;
  use.pages = 9;
  table_.SetUse(a.slot, use);
  EXPECT_FALSE(changed());
  EXPECT_EQ(MemberOf(a.number)->use.pages, 9u);
  Pass(kSecond, {});
  EXPECT_EQ(MemberOf(a.number)->heard_ms_ago, 1000u);
  table_.End(a.slot, now_);
  EXPECT_TRUE(changed());
  table_.End(a.slot, now_);
  EXPECT_FALSE(changed());
}

TEST_F(NodeTableTest, KeptNodesComeBack) {
  const auto a = Join(Node("a"));
  Join(Node("memory-only", 0, 0));
  const auto kept = table_.Kept();
  ASSERT_EQ(kept, (std::vector<NodeTable::Known>{{a.number, "a", "name-a"}}));
  NodeTable later({}, now_);
  EXPECT_TRUE(later.Restore(kept[0]));
  EXPECT_FALSE(later.Restore(kept[0]));
  EXPECT_FALSE(later.Restore({0, "b", "b"}));
  EXPECT_FALSE(later.Restore({9, "", "b"}));
  EXPECT_EQ(later.Members(now_)[0].state, "down");
  EXPECT_NE(later.Join(Node("b", a.number), now_)->number, a.number);
  EXPECT_EQ(later.Join(Node("a"), now_)->number, a.number);
}

TEST_F(NodeTableTest, WhatIsNoWordIsRefused) {
  NodeTable::Joining bad = Node("");
  EXPECT_EQ(table_.Join(bad, now_).code(), ErrorCode::kInvalid);
  bad = Node("a b");
  EXPECT_EQ(table_.Join(bad, now_).code(), ErrorCode::kInvalid);
  bad = Node(std::string(256, 'a'));
  EXPECT_EQ(table_.Join(bad, now_).code(), ErrorCode::kInvalid);
  bad = Node("a");
  bad.name = "\n";
  EXPECT_EQ(table_.Join(bad, now_).code(), ErrorCode::kInvalid);
  bad = Node("a");
  bad.address = "\x80";
  EXPECT_EQ(table_.Join(bad, now_).code(), ErrorCode::kInvalid);
  bad.address = "";  // serves nobody
  EXPECT_TRUE(table_.Join(bad, now_).ok());
}

TEST_F(NodeTableTest, CountersOfPagesAreRememberedByNumber) {
  EXPECT_EQ(table_.FirstCounter(3), 1u);
  table_.SawPage(PageId::Make(3, 70));
  table_.SawPage(PageId::Make(3, 50));
  table_.SawPage(PageId::Make(4, 90));
  EXPECT_EQ(table_.FirstCounter(3), 71u);
}

TEST_F(NodeTableTest, RandomHistoriesKeepTheInvariants) {
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    std::mt19937 random(seed);
    NodeTable table({}, now_);
    std::map<std::string, uint16_t> numbers;
    std::map<std::string, NodeSlot> current;
    for (int i = 0; i < 2000; ++i) {
      now_ += static_cast<int64_t>(random() % 20) * kTick;
      const std::string identity(1, static_cast<char>('a' + random() % 5));
      switch (random() % 5) {
        case 0: {
          const auto joined = table.Join(Node(identity, static_cast<uint16_t>(random() % 7)), now_);
          ASSERT_TRUE(joined.ok());
          if (numbers.contains(identity)) {
            ASSERT_EQ(numbers[identity], joined->number);
          }
          numbers[identity] = joined->number;
          current[identity] = joined->slot;
          break;
        }
        case 1: table.Heard(current[identity], now_); break;
        case 2: table.SetComplete(current[identity]); break;
        case 3: table.Tick(now_); break;
        default:
          for (const NodeSlot slot : table.Sweepable(now_)) table.Free(slot);
      }
      std::set<uint16_t> distinct;
      for (const auto& [name, number] : numbers) ASSERT_TRUE(distinct.insert(number).second);
      for (const Member& member : table.Members(now_)) {
        ASSERT_EQ(member.state != "down", table.IsAlive(current[member.name.substr(5)]));  // S1
      }
    }
  }
}

}  // namespace
}  // namespace kvpagefs
