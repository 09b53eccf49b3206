// The service is restarted, with and without what it knew.
#include "unit/meta/remote_meta_fixture.h"

namespace kvpagefs {
namespace {

using testing::ClientNode;
using testing::WaitFor;

class RemoteMetaRestartTest : public testing::RemoteMetaFixture {
 protected:
  explicit RemoteMetaRestartTest(Store store = Store::kNone) : testing::RemoteMetaFixture(store) {}

  void Restart() {
    StopService(a_);
    StartService(a_);
    ASSERT_TRUE(b_->WaitUntilJoined(60'000));
  }
  // Looked for by the node without a copy.
  PageId AtTheService(const std::string& name) { return b_.Find(name); }

  std::unique_ptr<ClientNode> node_a_ = Join("a");
  std::unique_ptr<ClientNode> node_b_ = Join("b");
  ClientNode& a_ = *node_a_;
  ClientNode& b_ = *node_b_;
};

class RemoteMetaStoreTest : public RemoteMetaRestartTest {
 protected:
  RemoteMetaStoreTest() : RemoteMetaRestartTest(Store::kKept) {}
};

TEST_F(RemoteMetaRestartTest, EverythingIsAnnouncedAgain) {
  const DirId dir = a_.MakeDir("d")->id;
  PageInfo x = a_.Put("x", 1);
  const PageInfo y = a_.Put("y", 2, dir);
  ASSERT_TRUE(a_.SetPin(x.id, Pin::kHard).ok());
  AttributeChange change;
  change.set_mtime = change.set_uid = true;
  change.mtime_ns = 1234;
  change.owner.uid = 4321;
  x = *ClientNode::Ask<PageInfo>([&](auto done) { a_->ChangePage(x.id, change, done); });
  a_->NoteHeld(x.id, kBothTiers);
  const uint16_t number = a_->number();
  Restart();
  ASSERT_TRUE(WaitFor([&] { return AtTheService("x") == x.id && b_.FindPage(y.id).ok(); }));
  EXPECT_EQ(a_->number(), number);
  const PageInfo again = *b_.FindPage(x.id);
  EXPECT_EQ(again.mtime_ns, 1234);
  EXPECT_EQ(again.owner, (Ownership{4321, 20, 0644}));
  EXPECT_EQ(again.pin, Pin::kHard);
  EXPECT_EQ(again.checksum, x.checksum);
  EXPECT_EQ(again.bytes, x.bytes);
  EXPECT_EQ(a_.SeenBy(b_, x.id), kBothTiers);
  EXPECT_EQ(a_.Find("y", std::get<DirInfo>(*b_.Lookup("d")).id), y.id);
  EXPECT_FALSE(a_.IsGone(x.id));
  EXPECT_FALSE(a_.IsGone(y.id));
  // And goes on as before.
  ASSERT_TRUE(b_.Unlink("x").ok());
  EXPECT_TRUE(a_.IsGone(x.id)) << "R2";
  EXPECT_EQ(a_.Find("x"), PageId{}) << "R1";
}

TEST_F(RemoteMetaRestartTest, IdsAreNotUsedTwice) {
  const PageInfo x = a_.Put("x", 1);
  Restart();
  EXPECT_GT(a_->NewPageId().value, x.id.value);
  ClientNode later(service_, "c");
  later.Start();
  ASSERT_TRUE(later->WaitUntilJoined(60'000));
  EXPECT_NE(later->number(), a_->number());
}

TEST_F(RemoteMetaRestartTest, TheLaterOneOfTwoKeepsTheName) {
  // Each has a page of that name by the time the service is back.
  StopService(a_);
  ASSERT_TRUE(WaitFor([&] { return !b_->connected(); }));
  const PageInfo of_a = a_.Put("x", 1);
  const PageInfo of_b = b_.Put("x", 2);
  service_.Start();
  ASSERT_TRUE(a_->WaitUntilJoined(60'000));
  ASSERT_TRUE(b_->WaitUntilJoined(60'000));
  ASSERT_TRUE(WaitFor([&] { return a_.IsGone(of_a.id) || b_.IsGone(of_b.id); }));
  EXPECT_NE(a_.IsGone(of_a.id), b_.IsGone(of_b.id));
  const PageId winner = a_.IsGone(of_a.id) ? of_b.id : of_a.id;
  EXPECT_EQ(a_.Find("x"), winner);
  EXPECT_EQ(b_.Find("x"), winner);
}

TEST_F(RemoteMetaRestartTest, TemporaryPagesStay) {
  const PageInfo page = a_.Put("x.tmp", 1);
  a_->NoteHeld(page.id, kMemoryTier);
  Restart();
  EXPECT_EQ(a_.Find("x.tmp"), page.id);
  ASSERT_TRUE(a_.Rename("x.tmp", "x").ok());
  EXPECT_EQ(AtTheService("x"), page.id);
  EXPECT_FALSE(a_.IsGone(page.id));
}

TEST_F(RemoteMetaStoreTest, NamesAreThereAtOnce) {
  const PageInfo x = a_.Put("x", 1, kRootDir, {{"user.k", "v"}});
  ASSERT_TRUE(ClientNode::Ask<void>([&](auto done) { a_->Sync(done); }).ok());
  Restart();
  EXPECT_EQ(AtTheService("x"), x.id);
  EXPECT_EQ(*b_.GetXattr(x.id.value, "user.k"), "v");
  EXPECT_TRUE(WaitFor([&] { return a_.SeenBy(b_, x.id) == kMemoryTier; }));
  EXPECT_FALSE(a_.IsGone(x.id));
}

TEST_F(RemoteMetaStoreTest, WhatWasDeletedDoesNotComeBack) {
  const PageInfo x = a_.Put("x", 1);
  const PageInfo y = a_.Put("y", 2);
  const PageInfo marker = a_.Put("z", 3);
  // The node is not there when the others delete and replace: its inventory has the pages still.
  const uint16_t number = a_->number();
  a_->Stop();
  ASSERT_TRUE(b_.Unlink("x").ok());
  const PageInfo later = b_.Put("y", 4);
  ASSERT_TRUE(ClientNode::Ask<void>([&](auto done) { b_->Sync(done); }).ok());
  StopService(b_);
  service_.Start();
  ClientNode again(service_, "a");
  for (const auto& [page, name] : {std::pair(x, "x"), std::pair(y, "y"), std::pair(marker, "z")}) {
    again.Keep({page, {name}, {}});
  }
  again.Start({{x.id, kSsdTier}, {y.id, kSsdTier}, {marker.id, kSsdTier}});
  ASSERT_TRUE(again->WaitUntilJoined(60'000));
  ASSERT_TRUE(b_->WaitUntilJoined(60'000));
  EXPECT_EQ(again->number(), number);
  EXPECT_TRUE(WaitFor([&] { return again.IsGone(x.id) && again.IsGone(y.id); }));
  EXPECT_EQ(b_.Find("x"), PageId{});
  EXPECT_EQ(b_.Find("y"), later.id);
  EXPECT_EQ(b_.Find("z"), marker.id);
  EXPECT_FALSE(again.IsGone(marker.id));
}

}  // namespace
}  // namespace kvpagefs
