// What the service is told of copies: R2 and R3.
#include "unit/meta/remote_meta_fixture.h"

namespace kvpagefs {
namespace {

using testing::ClientNode;
using testing::WaitFor;

class RemoteMetaHoldingsTest : public testing::RemoteMetaFixture {
 protected:
  std::unique_ptr<ClientNode> node_a_ = Join("a");
  std::unique_ptr<ClientNode> node_b_ = Join("b");
  ClientNode& a_ = *node_a_;
  ClientNode& b_ = *node_b_;
};

TEST_F(RemoteMetaHoldingsTest, TheLastWordCounts) {
  const PageInfo page = a_.Put("x", 1);
  const PageInfo other = a_.Put("y", 2);
  for (int round = 0; round < 50; ++round) {
    b_->NoteHeld(page.id, kMemoryTier);
    b_->NoteHeld(page.id, kBothTiers);
    EXPECT_TRUE(b_.Drop({page.id})->empty());
    EXPECT_EQ(b_.SeenBy(a_, page.id), kNoTier) << "R3";
    b_->NoteHeld(page.id, kBothTiers);
    b_->NoteHeld(page.id, kSsdTier);
    EXPECT_TRUE(b_.Drop({other.id})->empty()) << "answered behind what was told before";
    EXPECT_EQ(b_.SeenBy(a_, page.id), kSsdTier) << "R3";
  }
  EXPECT_FALSE(b_.IsGone(page.id));
}

TEST_F(RemoteMetaHoldingsTest, ManyAtOnce) {
  const PageInfo page = a_.Put("x", 1);
  std::vector<PageId> pages;
  for (uint64_t i = 0; i < 10'000; ++i) pages.push_back(PageId::Make(77, 1 + i));
  pages.push_back(page.id);
  const auto names = a_.Drop(pages);
  ASSERT_TRUE(names.ok());
  ASSERT_EQ(names->size(), 1u) << "the last one, in the third request";
  EXPECT_EQ((*names)[0].name, "x");
}

TEST_F(RemoteMetaHoldingsTest, NothingToDrop) { EXPECT_TRUE(a_.Drop({})->empty()); }

TEST_F(RemoteMetaHoldingsTest, APageThatNobodyKnowsLeaves) {
  const PageId id = PageId::Make(77, 1);
  a_->NoteHeld(id, kMemoryTier);
  EXPECT_TRUE(WaitFor([&] { return a_.IsGone(id); })) << "R2";
  // In the inventory: with a description it gets its name back, without one it leaves.
  ClientNode c(service_, "c");
  PageInfo kept = testing::Page(5);
  kept.id = PageId::Make(78, 1);
  const PageId lost = PageId::Make(78, 2);
  c.Keep({kept, {"kept", "here"}, {{"user.k", "v"}}});
  c.Start({{kept.id, kSsdTier}, {lost, kSsdTier}});
  EXPECT_TRUE(WaitFor([&] { return c.IsGone(lost) && b_.FindPage(kept.id).ok(); })) << "R2";
  EXPECT_FALSE(c.IsGone(kept.id));
  EXPECT_EQ(*b_.GetXattr(kept.id.value, "user.k"), "v");
  EXPECT_EQ(c.SeenBy(b_, kept.id), kSsdTier);
}

TEST_F(RemoteMetaHoldingsTest, DeletedWhileItsFetchIsTold) {
  const PageInfo page = a_.Put("x", 1);
  service_.counting().Hold(MetaMethod::kHoldings);
  b_->NoteHeld(page.id, kMemoryTier);
  ASSERT_TRUE(WaitFor([&] { return service_.counting().held() == 1; }));
  ASSERT_TRUE(a_.Unlink("x").ok());
  service_.counting().Release();
  EXPECT_TRUE(WaitFor([&] { return b_.IsGone(page.id); })) << "R2";
  EXPECT_EQ(b_.Find("x"), PageId{});
}

TEST_F(RemoteMetaHoldingsTest, ALostLinkAnswersDrops) {
  const PageInfo x = a_.Put("x", 1);
  const PageInfo y = a_.Put("y", 2);
  service_.counting().Hold(MetaMethod::kHoldings);
  auto sent = ClientNode::Begin<std::vector<NameRef>>(
      [&](auto done) { a_->DropPages(std::vector<PageId>{x.id}, std::move(done)); });
  ASSERT_TRUE(WaitFor([&] { return service_.counting().held() == 1; }));
  auto waiting = ClientNode::Begin<std::vector<NameRef>>(
      [&](auto done) { a_->DropPages(std::vector<PageId>{y.id}, std::move(done)); });
  service_.Stop();
  EXPECT_TRUE(net_test::Await(std::move(sent))->empty());
  EXPECT_TRUE(net_test::Await(std::move(waiting))->empty());
}

TEST_F(RemoteMetaHoldingsTest, AStopAnswersDrops) {
  const PageInfo x = a_.Put("x", 1);
  const PageInfo y = a_.Put("y", 2);
  service_.counting().Hold(MetaMethod::kHoldings);
  auto sent = ClientNode::Begin<std::vector<NameRef>>(
      [&](auto done) { a_->DropPages(std::vector<PageId>{x.id}, std::move(done)); });
  ASSERT_TRUE(WaitFor([&] { return service_.counting().held() == 1; }));
  auto waiting = ClientNode::Begin<std::vector<NameRef>>(
      [&](auto done) { a_->DropPages(std::vector<PageId>{y.id}, std::move(done)); });
  a_->Stop();
  EXPECT_TRUE(net_test::Await(std::move(sent))->empty());
  EXPECT_TRUE(net_test::Await(std::move(waiting))->empty());
  EXPECT_TRUE(a_.Drop({PageId::Make(1, 1)})->empty());
}

}  // namespace
}  // namespace kvpagefs
