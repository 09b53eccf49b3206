// What is answered without asking, and how it ends when another node changes it: R1, R2 and D2.
#include <thread>

#include "unit/meta/remote_meta_fixture.h"

namespace kvpagefs {
namespace {

using testing::ClientNode;
using testing::WaitFor;

class RemoteMetaKnownTest : public testing::RemoteMetaFixture {
 protected:
  size_t Asked() {
    return service_.counting().Count(MetaMethod::kLookup) + service_.counting().Count(MetaMethod::kFindPage);
  }
  // The node has fetched a copy, and the service knows.
  void Fetched(ClientNode& node, ClientNode& other, PageId id) {
    node->NoteHeld(id, kMemoryTier);
    ASSERT_TRUE(WaitFor([&] { return node.SeenBy(other, id) == kMemoryTier; }));
  }

  std::unique_ptr<ClientNode> node_a_ = Join("a");
  std::unique_ptr<ClientNode> node_b_ = Join("b");
  ClientNode& a_ = *node_a_;
  ClientNode& b_ = *node_b_;
};

TEST_F(RemoteMetaKnownTest, WhatItPublishedIsLookedUpWithoutACall) {
  const PageInfo page = a_.Put("x", 1);
  const size_t asked = Asked();
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(a_.Find("x"), page.id);
    EXPECT_TRUE(testing::Same(*a_.FindPage(page.id), page));
    EXPECT_EQ(ClientNode::Ask<NameRef>([&](auto done) { a_->NameOf(page.id, done); })->name, "x");
  }
  EXPECT_EQ(Asked(), asked) << "R1";
  // The other node has no copy: it asks each time.
  EXPECT_EQ(b_.Find("x"), page.id);
  EXPECT_EQ(b_.Find("x"), page.id);
  EXPECT_EQ(Asked(), asked + 2) << "R1";
}

TEST_F(RemoteMetaKnownTest, ACopyMakesItsNameKnown) {
  const PageInfo page = a_.Put("x", 1);
  Fetched(b_, a_, page.id);
  ASSERT_TRUE(WaitFor([&] {
    const size_t asked = Asked();
    return b_.Find("x") == page.id && Asked() == asked;
  })) << "R1";
  ASSERT_TRUE(b_.Drop({page.id}).ok());
  const size_t asked = Asked();
  EXPECT_EQ(b_.Find("x"), page.id);
  EXPECT_EQ(Asked(), asked + 1) << "R1: without a copy nobody tells of changes";
}

TEST_F(RemoteMetaKnownTest, AnotherNodesChangesAreSeen) {
  const PageInfo page = a_.Put("x", 1);
  EXPECT_EQ(a_.Find("x"), page.id);
  AttributeChange change;
  change.set_mtime = true;
  change.mtime_ns = 88;
  ASSERT_TRUE(ClientNode::Ask<PageInfo>([&](auto done) { b_->ChangePage(page.id, change, done); }).ok());
  EXPECT_EQ(a_.FindPage(page.id)->mtime_ns, 88) << "R1";
  ASSERT_TRUE(b_.SetPin(page.id, Pin::kSoft).ok());
  EXPECT_EQ(a_.FindPage(page.id)->pin, Pin::kSoft) << "R1";
  ASSERT_TRUE(b_.SetXattr(page.id.value, "user.k", "v").ok());
  EXPECT_EQ(*a_.GetXattr(page.id.value, "user.k"), "v");
  ASSERT_TRUE(b_.Rename("x", "y").ok());
  EXPECT_EQ(a_.Find("x"), PageId{}) << "R1";
  EXPECT_EQ(a_.Find("y"), page.id) << "R1";
  EXPECT_FALSE(a_.IsGone(page.id));
  const PageInfo later = b_.Put("y", 2);
  EXPECT_EQ(a_.Find("y"), later.id) << "R1";
  EXPECT_TRUE(a_.IsGone(page.id)) << "R2";
  ASSERT_TRUE(a_.Unlink("y").ok());
  EXPECT_TRUE(b_.IsGone(later.id)) << "R2";
  EXPECT_EQ(b_.Find("y"), PageId{}) << "R1";
}

TEST_F(RemoteMetaKnownTest, ARenameOverAnothersPageTakesItsBytes) {
  const PageInfo x = a_.Put("x", 1);
  const PageInfo y = b_.Put("y", 2);
  ASSERT_TRUE(a_.Rename("x", "y").ok());
  EXPECT_TRUE(b_.IsGone(y.id)) << "R2";
  EXPECT_EQ(b_.Find("y"), x.id) << "R1";
  EXPECT_EQ(b_.Find("x"), PageId{}) << "R1";
}

TEST_F(RemoteMetaKnownTest, BytesAreGoneBeforeTheUnlinkIsAnswered) {
  std::atomic<bool> answered{false};
  std::atomic<bool> early{false};
  std::promise<void> entered;
  std::promise<void> may_go;
  ClientNode c(service_, "c");
  c.set_on_gone([&] {
    entered.set_value();
    EXPECT_EQ(may_go.get_future().wait_for(net_test::kPatience), std::future_status::ready);
    early = answered.load();
  });
  c.Start();
  ASSERT_TRUE(c->WaitUntilJoined(60'000));
  const PageInfo page = c.Put("x", 1);
  const size_t beats = service_.counting().Count(MetaMethod::kHeartbeat);
  a_->Unlink({kRootDir, "x"}, [&](const Result<PageInfo>& unlinked) {
    EXPECT_TRUE(unlinked.ok());
    answered = true;
  });
  net_test::Await(entered.get_future());
  // Whatever the service would say to anybody in the meantime.
  EXPECT_TRUE(WaitFor([&] { return service_.counting().Count(MetaMethod::kHeartbeat) > beats + 4; }));
  EXPECT_EQ(b_.Find("x"), PageId{});
  EXPECT_FALSE(answered);
  may_go.set_value();
  EXPECT_TRUE(WaitFor([&] { return answered.load(); }));
  EXPECT_FALSE(early) << "R2";
  EXPECT_TRUE(c.IsGone(page.id)) << "R2";
}

TEST_F(RemoteMetaKnownTest, ReplicasFollowTheCopies) {
  const PageInfo page = a_.Put("x", 1);
  EXPECT_EQ(a_.SeenBy(b_, page.id), kMemoryTier);
  EXPECT_THAT(*a_.Locate(page.id), ::testing::IsEmpty()) << "not its own";
  a_->NoteHeld(page.id, kBothTiers);
  EXPECT_TRUE(WaitFor([&] { return a_.SeenBy(b_, page.id) == kBothTiers; }));
  Fetched(b_, a_, page.id);
  EXPECT_THAT(*a_.Drop({page.id}), ::testing::IsEmpty()) << "another node has a copy";
  EXPECT_EQ(b_.Find("x"), page.id);
  const auto names = b_.Drop({page.id});
  ASSERT_EQ(names->size(), 1u);
  EXPECT_EQ((*names)[0].name, "x");
  EXPECT_EQ(a_.Find("x"), PageId{});
  EXPECT_EQ(b_.Locate(page.id).code(), ErrorCode::kNotFound);
}

TEST_F(RemoteMetaKnownTest, ANodeThatJustJoinedHasAnAddress) {
  const auto node = Join("c");
  const PageInfo page = node->Put("x", 1);
  const auto replicas = a_.Locate(page.id);
  ASSERT_EQ(replicas->size(), 1u);
  EXPECT_EQ((*replicas)[0].node, (*node)->number());
  EXPECT_EQ(a_->AddressOf((*replicas)[0].node), "address-of-c");
  EXPECT_EQ(a_->AddressOf(999), "");
  EXPECT_TRUE(WaitFor([&] { return b_->Members().size() == 3; }));
}

}  // namespace
}  // namespace kvpagefs
