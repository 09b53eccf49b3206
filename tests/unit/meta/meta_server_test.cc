// Names over the wire: what is answered, who is told, who is waited for.
#include "meta/meta_server.h"

#include "unit/meta/meta_server_fixture.h"

namespace kvpagefs {
namespace {

using testing::FakeNode;
using testing::kMs;

class MetaServerTest : public testing::MetaServerFixture {};
using Map = std::map<uint32_t, uint32_t>;

TEST_F(MetaServerTest, APublishedPageHasItsCopy) {  // D1
  const auto a = Node("a");
  const auto b = Node("b");
  const PageInfo page = PageOf(a->number(), 1);
  const auto outcome = a->Publish("p", page);
  ASSERT_TRUE(outcome.ok());
  EXPECT_FALSE(outcome->replaced());
  EXPECT_EQ(b->ReplicasOf("p"), (Map{{a->number(), kMemoryTier}}));
  EXPECT_TRUE(testing::Same(FromWire(b->Lookup("p")->page()), page));
  ASSERT_TRUE(b->Hold({{page.id, kBothTiers}}).ok());
  EXPECT_EQ(a->ReplicasOf("p"), (Map{{a->number(), kMemoryTier}, {b->number(), kBothTiers}}));
  wire::IdRequest by_id;
  by_id.set_id(page.id.value);
  const auto found = b->Ask<wire::EntryReply>(MetaMethod::kFindPage, by_id);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->name().name(), "p");
  EXPECT_EQ(found->name().parent(), kRootDir.value);
  EXPECT_EQ(found->replicas_size(), 2);
}

TEST_F(MetaServerTest, AFailedPublishLeavesNoCopy) {  // D1
  const auto a = Node("a");
  ASSERT_TRUE(a->Publish("p", PageOf(a->number(), 1)).ok());
  auto request = FakeNode::PublishRequestOf("p", PageOf(a->number(), 2));
  request.set_exclusive(true);
  EXPECT_EQ(a->Ask<wire::OutcomeReply>(MetaMethod::kPublish, request).code(), ErrorCode::kExists);
  EXPECT_EQ(server_->GetStats().pages_with_copies, 1u);
  request.set_tiers(0);
  EXPECT_EQ(a->Ask<wire::OutcomeReply>(MetaMethod::kPublish, request).code(), ErrorCode::kInvalid);
  // A second name for a page: what it has under the first one stays.
  EXPECT_EQ(a->Publish("q", PageOf(a->number(), 1)).code(), ErrorCode::kInvalid);
  EXPECT_EQ(a->ReplicasOf("p"), (Map{{a->number(), kMemoryTier}}));
}

TEST_F(MetaServerTest, TheLastOneWinsAndTheOthersAreTold) {  // D2
  const auto a = Node("a");
  const auto b = Node("b");
  const PageInfo first = PageOf(a->number(), 1);
  const PageInfo second = PageOf(b->number(), 1, 99);
  ASSERT_TRUE(a->Publish("p", first).ok());
  const uint64_t call = b->Start(MetaMethod::kPublish, FakeNode::PublishRequestOf("p", second));
  EXPECT_FALSE(b->IsAnswered(call));
  ASSERT_EQ(a->Revokes().size(), 1u);
  ASSERT_EQ(a->Revokes()[0].gone_size(), 1);
  EXPECT_EQ(a->Revokes()[0].gone(0), first.id.value);
  a->Acknowledge();
  const auto outcome = b->AnswerOf<wire::OutcomeReply>(call);
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->dropped(), first.id.value);
  EXPECT_TRUE(outcome->replaced());
  EXPECT_EQ(a->ReplicasOf("p"), (Map{{b->number(), kMemoryTier}}));
  EXPECT_EQ(a->Publish("p", first).code(), ErrorCode::kStale);  // D3: a late repetition
}

TEST_F(MetaServerTest, EqualContentIsOnePage) {
  const auto a = Node("a");
  const auto b = Node("b");
  const PageInfo first = PageOf(a->number(), 1, 7);
  const PageInfo second = PageOf(b->number(), 1, 7);
  ASSERT_TRUE(a->Publish("p", first).ok());
  const uint64_t call = b->Start(MetaMethod::kPublish, FakeNode::PublishRequestOf("p", second));
  ASSERT_EQ(a->Revokes().size(), 1u);  // times and owner are others
  EXPECT_EQ(a->Revokes()[0].renamed_size(), 1);
  EXPECT_EQ(a->Revokes()[0].gone_size(), 0);
  a->Acknowledge();
  const auto outcome = b->AnswerOf<wire::OutcomeReply>(call);
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->page().id(), first.id.value);
  EXPECT_EQ(outcome->dropped(), second.id.value);
  EXPECT_EQ(a->ReplicasOf("p"), (Map{{a->number(), kMemoryTier}}));
}

TEST_F(MetaServerTest, AnEqualPageWithoutACopyGivesWay) {  // D1
  const auto a = Node("a");
  const auto b = Node("b");
  ASSERT_TRUE(a->Publish("p", PageOf(a->number(), 1, 7)).ok());
  ASSERT_TRUE(a->Publish("r", PageOf(a->number(), 2, 9)).ok());
  a->LoseLink();
  a->Connect();
  ASSERT_TRUE(a->Join().ok());  // tells what it has only later
  const PageInfo page = PageOf(b->number(), 1, 7);
  const uint64_t call = b->Start(MetaMethod::kPublish, FakeNode::PublishRequestOf("p", page));
  a->Acknowledge();
  const auto outcome = b->AnswerOf<wire::OutcomeReply>(call);
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->page().id(), page.id.value);
  EXPECT_EQ(outcome->dropped(), 0u);
  EXPECT_EQ(b->ReplicasOf("p"), (Map{{b->number(), kMemoryTier}}));
  // The same by rename.
  ASSERT_TRUE(b->Publish("t", PageOf(b->number(), 2, 9)).ok());
  wire::RenameRequest rename;
  *rename.mutable_from() = FakeNode::Named("t").name();
  *rename.mutable_to() = FakeNode::Named("r").name();
  const uint64_t renamed = b->Start(MetaMethod::kRename, rename);
  a->Acknowledge();
  ASSERT_TRUE(b->AnswerOf<wire::OutcomeReply>(renamed).ok());
  EXPECT_EQ(b->ReplicasOf("r"), (Map{{b->number(), kMemoryTier}}));
}

TEST_F(MetaServerTest, UnlinkWaitsForTheHolders) {  // D2
  const auto a = Node("a");
  const auto b = Node("b");
  const auto c = Node("c");
  const PageInfo page = PageOf(a->number(), 1);
  ASSERT_TRUE(a->Publish("p", page).ok());
  ASSERT_TRUE(b->Hold({{page.id, kSsdTier}}).ok());
  const uint64_t call = c->Start(MetaMethod::kUnlink, FakeNode::Named("p"));
  EXPECT_EQ(a->Lookup("p").code(), ErrorCode::kNotFound);
  a->Acknowledge();
  EXPECT_FALSE(c->IsAnswered(call));
  b->Acknowledge();
  ASSERT_TRUE(c->AnswerOf<wire::EntryReply>(call).ok());
  EXPECT_EQ(c->AnswerOf<wire::EntryReply>(call)->page().id(), page.id.value);
  EXPECT_EQ(server_->GetStats().pages_with_copies, 0u);
  EXPECT_EQ(c->Ask<wire::EntryReply>(MetaMethod::kUnlink, FakeNode::Named("p")).code(), ErrorCode::kNotFound);
}

TEST_F(MetaServerTest, TheOnlyHolderIsNotToldOfItsOwnUnlink) {
  const auto a = Node("a");
  ASSERT_TRUE(a->Publish("p", PageOf(a->number(), 1)).ok());
  EXPECT_TRUE(a->Ask<wire::EntryReply>(MetaMethod::kUnlink, FakeNode::Named("p")).ok());
  EXPECT_TRUE(a->Revokes().empty());
}

TEST_F(MetaServerTest, ASilentHolderEndsAfterItsLimit) {  // D4
  const auto a = Node("a");
  const auto b = Node("b");
  const PageInfo page = PageOf(a->number(), 1);
  ASSERT_TRUE(a->Publish("p", page).ok());
  ASSERT_TRUE(a->Publish("q", PageOf(a->number(), 2)).ok());
  const uint64_t call = b->Start(MetaMethod::kUnlink, FakeNode::Named("p"));
  Pass(900, {a.get(), b.get()});  // heartbeats are no acknowledgement
  EXPECT_FALSE(b->IsAnswered(call));
  Pass(200, {b.get()});
  EXPECT_TRUE(b->AnswerOf<wire::EntryReply>(call).ok());
  EXPECT_TRUE(a->closed());
  EXPECT_FALSE(a->Heartbeat());
  // Nobody waits for it again.
  EXPECT_TRUE(b->Ask<wire::EntryReply>(MetaMethod::kUnlink, FakeNode::Named("q")).ok());
  // It comes back with what it had, and nothing deleted comes back with it (D3).
  a->Connect();
  ASSERT_TRUE(a->Join().ok());
  const auto held = a->Hold({{page.id, kSsdTier}}, true);
  ASSERT_TRUE(held.ok());
  ASSERT_EQ(held->unknown_size(), 1);
  const auto announced = a->Announce({"p"}, page);
  ASSERT_TRUE(announced.ok());
  EXPECT_EQ(FromResultCode(announced->results(0).code()).code(), ErrorCode::kStale);
  EXPECT_EQ(b->Lookup("p").code(), ErrorCode::kNotFound);
}

TEST_F(MetaServerTest, AHolderWithoutItsLinkIsNotWaitedFor) {  // D4
  const auto a = Node("a");
  const auto b = Node("b");
  ASSERT_TRUE(a->Publish("p", PageOf(a->number(), 1)).ok());
  a->LoseLink();
  EXPECT_TRUE(b->Ask<wire::EntryReply>(MetaMethod::kUnlink, FakeNode::Named("p")).ok());
}

TEST_F(MetaServerTest, AHolderThatLosesItsLinkMeanwhileIsNotWaitedFor) {  // D4
  const auto a = Node("a");
  const auto b = Node("b");
  ASSERT_TRUE(a->Publish("p", PageOf(a->number(), 1)).ok());
  const uint64_t call = b->Start(MetaMethod::kUnlink, FakeNode::Named("p"));
  EXPECT_FALSE(b->IsAnswered(call));
  a->LoseLink();
  EXPECT_TRUE(b->IsAnswered(call));
}

TEST_F(MetaServerTest, ADeathEndsTheWait) {
  const auto a = Node("a");
  const auto b = Node("b");
  ASSERT_TRUE(a->Publish("p", PageOf(a->number(), 1)).ok());
  const uint64_t call = b->Start(MetaMethod::kUnlink, FakeNode::Named("p"));
  const auto late = std::exchange(a->link()->calls, {});
  a->Connect();
  ASSERT_TRUE(a->Join().ok());  // a new session: the old one cannot answer any more
  EXPECT_TRUE(b->IsAnswered(call));
  late[0].done(ErrorCode::kUnavailable);
  EXPECT_TRUE(a->Heartbeat());
}

TEST_F(MetaServerTest, ANodeThatIsStillTellingIsToldToo) {  // D2
  const auto a = Node("a");
  const auto b = Node("b");
  const PageInfo page = PageOf(a->number(), 1);
  ASSERT_TRUE(a->Publish("p", page).ok());
  b->LoseLink();
  b->Connect();
  ASSERT_TRUE(b->Join().ok());
  const uint64_t call = a->Start(MetaMethod::kUnlink, FakeNode::Named("p"));
  EXPECT_FALSE(a->IsAnswered(call));
  EXPECT_EQ(b->Revokes().at(0).gone(0), page.id.value);
  b->Acknowledge();
  EXPECT_TRUE(a->IsAnswered(call));
}

TEST_F(MetaServerTest, RenamesAndChangesReachTheHolders) {
  const auto a = Node("a");
  const auto b = Node("b");
  const PageInfo page = PageOf(a->number(), 1);
  ASSERT_TRUE(a->Publish("p", page).ok());
  wire::RenameRequest rename;
  *rename.mutable_from() = FakeNode::Named("p").name();
  *rename.mutable_to() = FakeNode::Named("q").name();
  std::vector<uint64_t> calls = {b->Start(MetaMethod::kRename, rename)};
  wire::ChangeRequest change;
  change.set_id(page.id.value);
  change.set_set_mode(true);
  change.mutable_owner()->set_mode(0600);
  calls.push_back(b->Start(MetaMethod::kChangePage, change));
  wire::PinRequest pin;
  pin.set_id(page.id.value);
  pin.set_pin(2);
  calls.push_back(b->Start(MetaMethod::kSetPin, pin));
  wire::XattrRequest xattr;
  xattr.set_id(page.id.value);
  xattr.set_key("user.k");
  xattr.set_value("v");
  calls.push_back(b->Start(MetaMethod::kSetXattr, xattr));
  calls.push_back(b->Start(MetaMethod::kRemoveXattr, xattr));
  ASSERT_EQ(a->Revokes().size(), calls.size());
  for (const wire::RevokeRequest& revoke : a->Revokes()) {
    ASSERT_EQ(revoke.renamed_size(), 1);
    EXPECT_EQ(revoke.renamed(0), page.id.value);
  }
  for (const uint64_t call : calls) EXPECT_FALSE(b->IsAnswered(call));
  a->Acknowledge();
  for (const uint64_t call : calls) EXPECT_TRUE(b->AnswerOf<wire::Empty>(call).ok());
  EXPECT_EQ(b->Lookup("q")->page().pin(), 2u);
  EXPECT_EQ(b->Lookup("q")->page().owner().mode(), 0600u);
  // One's own changes need no telling.
  EXPECT_TRUE(a->Ask<wire::Empty>(MetaMethod::kSetPin, pin).ok());
}

TEST_F(MetaServerTest, DirectoriesAndLists) {
  const auto a = Node("a");
  wire::MakeDirRequest make;
  *make.mutable_name() = FakeNode::Named("d").name();
  make.mutable_owner()->set_mode(0700);
  const auto made = a->Ask<wire::EntryReply>(MetaMethod::kMakeDir, make);
  ASSERT_TRUE(made.ok());
  wire::IdRequest id;
  id.set_id(made->dir().id());
  const auto found = a->Ask<wire::EntryReply>(MetaMethod::kFindDir, id);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->name().name(), "d");
  id.set_id(kRootDir.value);
  EXPECT_FALSE(a->Ask<wire::EntryReply>(MetaMethod::kFindDir, id)->has_name());
  ASSERT_TRUE(a->Publish("p", PageOf(a->number(), 1)).ok());
  wire::ListRequest list;
  list.set_dir(kRootDir.value);
  list.set_max_entries(UINT64_MAX);
  list.set_max_bytes(UINT64_MAX);
  const auto listed = a->Ask<wire::ListReply>(MetaMethod::kList, list);
  ASSERT_TRUE(listed.ok());
  ASSERT_EQ(listed->entries_size(), 2);
  EXPECT_TRUE(listed->entries(0).is_directory());
  EXPECT_EQ(listed->entries(1).name(), "p");
  EXPECT_TRUE(a->Ask<wire::Empty>(MetaMethod::kRemoveDir, FakeNode::Named("d")).ok());
  EXPECT_EQ(a->Ask<wire::Empty>(MetaMethod::kRemoveDir, FakeNode::Named("d")).code(), ErrorCode::kNotFound);
  EXPECT_TRUE(a->Ask<wire::Empty>(MetaMethod::kSync, wire::Empty()).ok());
}

TEST_F(MetaServerTest, ALinkThatHasNotJoinedChangesNothing) {  // D5
  const auto a = Node("a");
  ASSERT_TRUE(a->Publish("p", PageOf(a->number(), 1)).ok());
  FakeNode tool(server_.get(), "tool");
  EXPECT_TRUE(tool.Lookup("p").ok());
  EXPECT_TRUE(tool.Ask<wire::MembersReply>(MetaMethod::kMembers, wire::Empty()).ok());
  wire::ListRequest list;
  list.set_dir(kRootDir.value);
  EXPECT_TRUE(tool.Ask<wire::ListReply>(MetaMethod::kList, list).ok());
  for (const MetaMethod method :
       {MetaMethod::kHeartbeat, MetaMethod::kHoldings, MetaMethod::kAnnounce, MetaMethod::kPublish, MetaMethod::kRename,
        MetaMethod::kUnlink, MetaMethod::kMakeDir, MetaMethod::kRemoveDir, MetaMethod::kChangePage,
        MetaMethod::kChangeDir, MetaMethod::kSetPin, MetaMethod::kSetXattr, MetaMethod::kGetXattr,
        MetaMethod::kRemoveXattr, MetaMethod::kGetXattrs, MetaMethod::kSync}) {
    EXPECT_EQ(tool.Ask<wire::Empty>(method, wire::Empty()).code(), ErrorCode::kNotPermitted)
        << static_cast<int>(method);
  }
  EXPECT_EQ(tool.Ask<wire::Empty>(static_cast<MetaMethod>(99), wire::Empty()).code(), ErrorCode::kNotSupported);
  EXPECT_EQ(tool.Ask<wire::Empty>(MetaMethod::kRevoke, wire::Empty()).code(), ErrorCode::kNotSupported);
}

TEST_F(MetaServerTest, ListsThatAreTooLongAreRefused) {
  const auto a = Node("a");
  std::vector<std::pair<PageId, uint32_t>> many(4097, {PageId::Make(1, 1), 1});
  EXPECT_EQ(a->Hold(many).code(), ErrorCode::kInvalid);
  wire::AnnounceRequest request;
  for (int i = 0; i < 4097; ++i) request.add_pages();
  EXPECT_EQ(a->Ask<wire::AnnounceReply>(MetaMethod::kAnnounce, request).code(), ErrorCode::kInvalid);
}

}  // namespace
}  // namespace kvpagefs
