// Nodes that come, go and come back, and a metadata daemon that does.
#include "meta/meta_server.h"

#include <atomic>
#include <chrono>
#include <thread>

#include "unit/meta/meta_server_fixture.h"

namespace kvpagefs {
namespace {

using test_files::TempDir;
using testing::FakeNode;
using testing::kMs;

class MetaServerNodesTest : public testing::MetaServerFixture {
 protected:
  void Synced(FakeNode* node) {
    const uint64_t call = node->Start(MetaMethod::kSync, wire::Empty());
    for (const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
         !Wait(node, call) && std::chrono::steady_clock::now() < deadline;) {
      std::this_thread::yield();
    }
  }
  static bool Wait(FakeNode* node, uint64_t call) { return node->IsAnswered(call); }
};
using Map = std::map<uint32_t, uint32_t>;

TEST_F(MetaServerNodesTest, APageThatLosesItsLastCopyLosesItsName) {  // D1
  const auto a = Node("a");
  const auto b = Node("b");
  const PageInfo page = PageOf(a->number(), 1);
  ASSERT_TRUE(a->Publish("p", page).ok());
  ASSERT_TRUE(b->Hold({{page.id, kSsdTier}}).ok());
  EXPECT_EQ(a->Hold({{page.id, kNoTier}})->dropped_size(), 0);
  EXPECT_EQ(a->ReplicasOf("p"), (Map{{b->number(), kSsdTier}}));
  const auto reply = b->Hold({{page.id, kNoTier}, {PageId::Make(9, 9), kNoTier}, {PageId::Make(9, 8), kSsdTier}});
  ASSERT_TRUE(reply.ok());
  ASSERT_EQ(reply->dropped_size(), 1);
  EXPECT_EQ(reply->dropped(0).name(), "p");
  ASSERT_EQ(reply->unknown_size(), 1);
  EXPECT_EQ(reply->unknown(0), PageId::Make(9, 8).value);
  EXPECT_EQ(a->Lookup("p").code(), ErrorCode::kNotFound);
}

TEST_F(MetaServerNodesTest, TheNamesOfADeadNodeGoAndComeBackWithIt) {
  const auto a = Node("a");
  const auto b = Node("b");
  std::vector<std::pair<PageId, uint32_t>> all;
  for (uint64_t i = 1; i <= 3000; ++i) {
    const PageInfo page = PageOf(a->number(), i);
    ASSERT_TRUE(a->Publish("p" + std::to_string(i), page).ok());
    if (i % 2 == 0) all.emplace_back(page.id, kSsdTier);
  }
  ASSERT_TRUE(b->Hold(all).ok());
  a->LoseLink();
  Pass(4000, {b.get()});
  EXPECT_EQ(server_->GetStats().names.pages, 3000u);  // it may come back
  Pass(2000, {b.get()});
  EXPECT_EQ(server_->GetStats().names.pages, 1500u);
  EXPECT_EQ(b->ReplicasOf("p2"), (Map{{b->number(), kSsdTier}}));
  EXPECT_EQ(b->Lookup("p1").code(), ErrorCode::kNotFound);
  EXPECT_EQ(server_->GetStats().nodes, 1u);
  a->Connect();
  ASSERT_TRUE(a->Join().ok());
  const auto held = a->Hold({{PageOf(a->number(), 1).id, kSsdTier}, {PageOf(a->number(), 2).id, kSsdTier}}, true);
  ASSERT_EQ(held->unknown_size(), 1);
  const auto announced = a->Announce({"p1"}, PageOf(a->number(), 1));
  ASSERT_TRUE(announced.ok());
  EXPECT_EQ(announced->results(0).code(), 0u);
  EXPECT_EQ(b->ReplicasOf("p1"), (Map{{a->number(), kSsdTier}}));
  EXPECT_EQ(b->ReplicasOf("p2").size(), 2u);
}

TEST_F(MetaServerNodesTest, ANodeThatReconnectsKeepsItsNames) {
  const auto a = Node("a");
  const auto b = Node("b");
  const PageInfo kept = PageOf(a->number(), 1);
  const PageInfo gone = PageOf(a->number(), 2);
  ASSERT_TRUE(a->Publish("kept", kept).ok());
  ASSERT_TRUE(a->Publish("gone", gone).ok());
  const uint16_t number = a->number();
  a->LoseLink();
  a->Connect();
  ASSERT_TRUE(a->Join().ok());
  EXPECT_EQ(a->number(), number);
  // What the earlier session said does not count, and the names wait for what the new one says.
  EXPECT_TRUE(b->Lookup("kept").ok());
  EXPECT_TRUE(b->ReplicasOf("kept").empty());
  Pass(3000, {a.get(), b.get()});
  EXPECT_TRUE(b->Lookup("gone").ok());
  ASSERT_TRUE(a->Hold({{kept.id, kSsdTier}}, true).ok());
  Pass(200, {a.get(), b.get()});
  EXPECT_EQ(b->ReplicasOf("kept"), (Map{{number, kSsdTier}}));
  EXPECT_EQ(b->Lookup("gone").code(), ErrorCode::kNotFound);
}

TEST_F(MetaServerNodesTest, APauseOfTheDaemonIsNobodysDeath) {
  const auto a = Node("a");
  const auto b = Node("b");
  ASSERT_TRUE(a->Publish("p", PageOf(a->number(), 1)).ok());
  const uint64_t call = b->Start(MetaMethod::kUnlink, FakeNode::Named("p"));
  clock_.Advance(100'000 * kMs);
  server_->Tick();
  EXPECT_FALSE(b->IsAnswered(call));
  EXPECT_FALSE(a->closed());
  a->Acknowledge();
  EXPECT_TRUE(b->IsAnswered(call));
  EXPECT_EQ(server_->GetStats().nodes, 2u);
  EXPECT_TRUE(a->Heartbeat());
}

TEST_F(MetaServerNodesTest, MembersAreToldWhenTheyChange) {
  const auto a = Node("a");
  wire::HeartbeatRequest heartbeat;
  heartbeat.mutable_use()->set_pages(7);
  const auto first = a->Ask<wire::HeartbeatReply>(MetaMethod::kHeartbeat, heartbeat);
  ASSERT_EQ(first->members_size(), 1);
  EXPECT_EQ(first->members(0).state(), "up");
  EXPECT_EQ(first->members(0).name(), "name-a");
  EXPECT_EQ(first->members(0).use().pages(), 7u);
  heartbeat.set_members_version(first->members_version());
  EXPECT_EQ(a->Ask<wire::HeartbeatReply>(MetaMethod::kHeartbeat, heartbeat)->members_size(), 0);
  const auto b = Node("b");
  EXPECT_EQ(a->Ask<wire::HeartbeatReply>(MetaMethod::kHeartbeat, heartbeat)->members_size(), 2);
}

TEST_F(MetaServerNodesTest, PageCountersStartAboveAllThatWereSeen) {
  const auto a = Node("a");
  ASSERT_TRUE(a->Publish("p", PageOf(a->number(), uint64_t{1} << 47)).ok());
  a->Connect();
  EXPECT_EQ(a->Join()->first_page_counter(), (uint64_t{1} << 47) + 1);
  SystemClock system;
  clock_.Advance(system.WallNs());
  FakeNode b(server_.get(), "b");
  EXPECT_GT(b.Join()->first_page_counter(), uint64_t{60'000'000} << 16);
}

TEST_F(MetaServerNodesTest, RestartWithAStoreKeepsNamesForTheGracePeriod) {
  const TempDir dir;
  Restart(dir.path());
  PageInfo first;
  PageInfo deleted;
  uint16_t number_a = 0;
  uint16_t number_b = 0;
  {
    const auto a = Node("a");
    const auto b = Node("b");
    number_a = a->number();
    number_b = b->number();
    first = PageOf(a->number(), 1);
    deleted = PageOf(a->number(), 3);
    ASSERT_TRUE(a->Publish("held", first).ok());
    ASSERT_TRUE(a->Publish("lost", PageOf(a->number(), 2)).ok());
    ASSERT_TRUE(a->Publish("deleted", deleted).ok());
    a->LoseLink();
    EXPECT_TRUE(b->Ask<wire::EntryReply>(MetaMethod::kUnlink, FakeNode::Named("deleted")).ok());
    Synced(b.get());
    server_->Tick();
  }
  Restart(dir.path());
  FakeNode b(server_.get(), "b");
  ASSERT_TRUE(b.Join().ok());
  EXPECT_EQ(b.number(), number_b);
  ASSERT_TRUE(b.Hold({}, true).ok());
  FakeNode a(server_.get(), "a");
  const auto joined = a.Join();
  ASSERT_TRUE(joined.ok());
  EXPECT_EQ(a.number(), number_a);
  EXPECT_GT(joined->first_page_counter(), 2u);
  EXPECT_TRUE(b.Lookup("lost").ok());
  EXPECT_TRUE(b.ReplicasOf("lost").empty());
  // Longer than the grace period: `a` is still telling what it has.
  Pass(12'000, {&a, &b});
  EXPECT_TRUE(b.Lookup("lost").ok());
  const auto held = a.Hold({{first.id, kSsdTier}, {deleted.id, kSsdTier}}, true);
  ASSERT_EQ(held->unknown_size(), 1);
  EXPECT_EQ(FromResultCode(a.Announce({"deleted"}, deleted)->results(0).code()).code(), ErrorCode::kStale);  // D3
  Pass(300, {&a, &b});
  EXPECT_EQ(b.ReplicasOf("held"), (Map{{number_a, kSsdTier}}));
  EXPECT_EQ(b.Lookup("lost").code(), ErrorCode::kNotFound);
  EXPECT_EQ(b.Lookup("deleted").code(), ErrorCode::kNotFound);
}

TEST_F(MetaServerNodesTest, InTheGracePeriodOneNodesEvictionTakesNoName) {
  const TempDir dir;
  Restart(dir.path());
  PageInfo page;
  {
    const auto a = Node("a");
    page = PageOf(a->number(), 1);
    ASSERT_TRUE(a->Publish("p", page).ok());
    Synced(a.get());
  }
  Restart(dir.path());
  const auto b = Node("b");
  EXPECT_EQ(b->Hold({{page.id, kNoTier}})->dropped_size(), 0);
  const auto a = Node("a");
  ASSERT_TRUE(a->Hold({{page.id, kSsdTier}}).ok());
  Pass(11'000, {a.get(), b.get()});
  EXPECT_TRUE(b->Lookup("p").ok());
  EXPECT_EQ(a->Hold({{page.id, kNoTier}})->dropped_size(), 1);
}

TEST_F(MetaServerNodesTest, APauseMovesTheGracePeriod) {
  const TempDir dir;
  Restart(dir.path());
  {
    const auto a = Node("a");
    ASSERT_TRUE(a->Publish("p", PageOf(a->number(), 1)).ok());
    Synced(a.get());
  }
  Restart(dir.path());
  const auto b = Node("b");
  clock_.Advance(60'000 * kMs);
  server_->Tick();
  EXPECT_TRUE(b->Lookup("p").ok());
  Pass(9'500, {b.get()});
  EXPECT_TRUE(b->Lookup("p").ok());
  Pass(1'000, {b.get()});
  EXPECT_EQ(b->Lookup("p").code(), ErrorCode::kNotFound);
}

// Every look at it takes a while, so that a Tick does little.
class SlowClock final : public Clock {
 public:
  int64_t MonotonicNs() const override { return now_ns_.fetch_add(6 * kMs); }
  int64_t WallNs() const override { return now_ns_.load(); }

 private:
  mutable std::atomic<int64_t> now_ns_{1};
};

TEST_F(MetaServerNodesTest, TheWalkGoesInStepsAndMissesNothingThatMoves) {
  const TempDir dir;
  Restart(dir.path());
  {
    const auto a = Node("a");
    const auto publish_in = [&](const std::string& dir_name, const std::string& name, uint64_t counter) {
      wire::MakeDirRequest make;
      *make.mutable_name() = FakeNode::Named(dir_name).name();
      (void)a->Ask<wire::EntryReply>(MetaMethod::kMakeDir, make);
      auto request = FakeNode::PublishRequestOf(name, PageOf(1, counter));
      request.mutable_name()->set_parent(a->Lookup(dir_name)->dir().id());
      ASSERT_TRUE(a->Ask<wire::OutcomeReply>(MetaMethod::kPublish, request).ok());
    };
    for (uint64_t i = 1; i <= 3000; ++i) publish_in("d", "p" + std::to_string(i), i);
    publish_in("e", "m", 4000);
    Synced(a.get());
  }
  server_.reset();
  const SlowClock slow;
  MetaServer::Options options;
  options.state_dir = dir.path();
  options.timeout_ms = 60'000;
  auto server = MetaServer::Open(options, &slow, Log::Discard());
  ASSERT_TRUE(server.ok());
  FakeNode b(server->get(), "b");
  b.JoinAndTellAll();
  bool moved = false;
  int steps = 0;
  for (int i = 0; i < 50'000 && (*server)->GetStats().names.pages > 0; ++i) {
    ASSERT_TRUE(b.Heartbeat());
    (*server)->Tick();
    const uint64_t left = (*server)->GetStats().names.pages;
    steps += left < 3001 ? 1 : 0;
    if (moved || left == 3001) continue;
    moved = true;  // the walk is in "d", and has been in the root
    const auto found = b.Lookup("e");
    wire::RenameRequest rename;
    ToWire(NameView{DirId{found->dir().id()}, "m"}, rename.mutable_from());
    ToWire(NameView{kRootDir, "m"}, rename.mutable_to());
    ASSERT_TRUE(b.Ask<wire::OutcomeReply>(MetaMethod::kRename, rename).ok());
  }
  EXPECT_TRUE(moved);
  EXPECT_GT(steps, 3);
  EXPECT_EQ((*server)->GetStats().names.pages, 0u);
}

TEST_F(MetaServerNodesTest, ADaemonWithoutAStoreIsRebuilt) {
  const auto before = Node("a");
  ASSERT_TRUE(before->Publish("p", PageOf(before->number(), 1)).ok());
  Restart("");
  const auto a = Node("a");
  const PageInfo old = PageOf(a->number(), 1, 5);
  const PageInfo newer = PageOf(a->number(), 2, 6);
  ASSERT_EQ(a->Hold({{newer.id, kSsdTier}, {old.id, kSsdTier}})->unknown_size(), 2);
  EXPECT_EQ(a->Announce({"d", "p"}, newer)->results(0).code(), 0u);
  const auto late = a->Announce({"d", "p"}, old);
  EXPECT_EQ(FromResultCode(late->results(0).code()).code(), ErrorCode::kExists);
  wire::IdRequest id;
  id.set_id(newer.id.value);
  const auto found = a->Ask<wire::EntryReply>(MetaMethod::kFindPage, id);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->name().name(), "p");
  EXPECT_EQ(found->replicas_size(), 1);
  EXPECT_EQ(server_->GetStats().pages_with_copies, 1u);
}

TEST_F(MetaServerNodesTest, AnAnnouncedPageReplacesAnOlderOne) {
  const auto a = Node("a");
  const auto b = Node("b");
  const PageInfo old = PageOf(a->number(), 1);
  ASSERT_TRUE(a->Publish("p", old).ok());
  const PageInfo newer = PageOf(b->number(), 2, 9);
  ASSERT_GT(newer.id, old.id);
  wire::AnnounceRequest request;
  wire::Announced* announced = request.add_pages();
  ToWire(newer, announced->mutable_page());
  announced->set_description(EncodeDescription({.page = newer, .path = {"p"}, .xattrs = {}}));
  announced->set_tiers(kSsdTier);
  const uint64_t call = b->Start(MetaMethod::kAnnounce, request);
  EXPECT_FALSE(b->IsAnswered(call));
  EXPECT_EQ(a->Revokes().at(0).gone(0), old.id.value);
  a->Acknowledge();
  ASSERT_TRUE(b->AnswerOf<wire::AnnounceReply>(call).ok());
  EXPECT_EQ(b->AnswerOf<wire::AnnounceReply>(call)->results(0).outcome().dropped(), old.id.value);
}

}  // namespace
}  // namespace kvpagefs
