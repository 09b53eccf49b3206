// Without the service.
#include "unit/meta/remote_meta_fixture.h"

namespace kvpagefs {
namespace {

using testing::ClientNode;
using testing::WaitFor;

class RemoteMetaOfflineTest : public testing::RemoteMetaFixture {
 protected:
  // Until everything that was kept is with the service.
  void ExpectPublished(const std::string& name, PageId id, DirId dir = kRootDir) {
    EXPECT_TRUE(WaitFor([&] {
      const auto entry = ClientNode::Ask<EntryInfo>([&](auto done) { observer()->Lookup({dir, name}, done); });
      return entry.ok() && std::holds_alternative<PageInfo>(*entry) && std::get<PageInfo>(*entry).id == id;
    })) << name;
  }
  RemoteMeta* observer() { return (*observer_).operator->(); }

  std::unique_ptr<ClientNode> observer_ = Join("observer");
  std::unique_ptr<ClientNode> node_ = Join("a");
  ClientNode& a_ = *node_;
  ClientNode& b_ = *observer_;
};

TEST_F(RemoteMetaOfflineTest, LastKnownNames) {
  const DirId dir = a_.MakeDir("d")->id;
  const PageInfo x = a_.Put("x", 1);
  const PageInfo in_dir = a_.Put("y", 2, dir);
  StopService(a_);
  EXPECT_FALSE(a_->connected());
  EXPECT_THAT(a_->Problem(), ::testing::StartsWith("no metadata daemon"));
  EXPECT_EQ(a_.Find("x"), x.id);
  EXPECT_EQ(a_.Find("y", dir), in_dir.id);
  EXPECT_EQ(a_.FindPage(x.id)->id, x.id);
  EXPECT_EQ(std::get<DirInfo>(*a_.Lookup("d")).id, dir);
  EXPECT_EQ(ClientNode::Ask<DirInfo>([&](auto done) { a_->FindDir(dir, done); })->id, dir);
  EXPECT_EQ(a_.Lookup("nobody's").code(), ErrorCode::kNotFound);
  EXPECT_EQ(a_.FindPage(PageId::Make(9, 9)).code(), ErrorCode::kNotFound);
  EXPECT_EQ(a_.MakeDir("d").code(), ErrorCode::kExists);
  EXPECT_TRUE(ClientNode::Ask<PageDescription>([&](auto done) { a_->Describe(in_dir.id, done); }).ok());
}

TEST_F(RemoteMetaOfflineTest, WhatChangesNamesOfOthersIsRefused) {
  const PageInfo x = a_.Put("x", 1);
  StopService(a_);
  const auto unavailable = ErrorCode::kUnavailable;
  EXPECT_EQ(a_.Unlink("x").code(), unavailable);
  EXPECT_EQ(a_.Rename("x", "y").code(), unavailable);
  EXPECT_EQ(a_.MakeDir("new").code(), unavailable);
  EXPECT_EQ(a_.SetPin(x.id, Pin::kHard).code(), unavailable);
  EXPECT_EQ(a_.SetXattr(x.id.value, "user.k", "v").code(), unavailable);
  EXPECT_EQ(a_.Locate(PageId::Make(9, 9)).code(), unavailable);
  EXPECT_EQ(ClientNode::Ask<void>([&](auto done) { a_->RemoveDir({kRootDir, "d"}, done); }).code(), unavailable);
  EXPECT_EQ(ClientNode::Ask<void>([&](auto done) { a_->Sync(done); }).code(), unavailable);
  EXPECT_EQ(ClientNode::Ask<std::vector<ListedEntry>>([&](auto done) { a_->List(kRootDir, 0, 9, 99, done); }).code(),
            unavailable);
  EXPECT_EQ(a_.Find("x"), x.id) << "nothing has changed";
}

TEST_F(RemoteMetaOfflineTest, PublishedLater) {
  StopService(a_);
  const PageInfo x = a_.Put("x", 1, kRootDir, {{"user.k", "v"}});
  EXPECT_EQ(a_.Find("x"), x.id);
  EXPECT_TRUE(a_.SetPin(x.id, Pin::kSoft).ok()) << "nobody else knows it";
  EXPECT_EQ(*a_.GetXattr(x.id.value, "user.k"), "v");
  const PageInfo temporary = a_.Put("y.tmp", 2);
  EXPECT_EQ(a_.Rename("y.tmp", "y")->page.id, temporary.id);
  const PageInfo unlinked = a_.Put("z", 3);
  EXPECT_EQ(a_.Unlink("z")->id, unlinked.id);
  const PageInfo replaced = a_.Put("w", 4);
  const PageInfo w = a_.NewPage(5);
  EXPECT_EQ(a_.Publish("w", w)->dropped, replaced.id);
  StartService(a_);
  ASSERT_TRUE(b_->WaitUntilJoined(60'000));
  ExpectPublished("x", x.id);
  ExpectPublished("y", temporary.id);
  ExpectPublished("w", w.id);
  EXPECT_EQ(b_.Find("z"), PageId{});
  EXPECT_EQ(b_.FindPage(x.id)->pin, Pin::kSoft);
  EXPECT_EQ(*b_.GetXattr(x.id.value, "user.k"), "v");
  EXPECT_EQ(a_.SeenBy(b_, x.id), kMemoryTier);
  for (const PageId id : {x.id, temporary.id, w.id}) EXPECT_FALSE(a_.IsGone(id));
}

TEST_F(RemoteMetaOfflineTest, ExclusiveKeepsANameThatIsKnown) {
  const PageInfo x = a_.Put("x", 1);
  StopService(a_);
  EXPECT_EQ(a_.Publish("x", a_.NewPage(2), true).code(), ErrorCode::kExists);
  EXPECT_EQ(a_.Find("x"), x.id);
  const PageInfo y = a_.NewPage(3);
  EXPECT_TRUE(a_.Publish("y", y, true).ok());
  EXPECT_EQ(a_.Publish("y", a_.NewPage(4), true).code(), ErrorCode::kExists);
  (void)a_.Put("z.tmp", 5);
  EXPECT_EQ(a_.Rename("z.tmp", "x", Namespace::RenameMode::kNoReplace).code(), ErrorCode::kExists);
  EXPECT_EQ(a_.Find("x"), x.id);
  EXPECT_EQ(a_.Find("y"), y.id);
}

TEST_F(RemoteMetaOfflineTest, IntoADirectoryThatTheServiceLost) {
  const DirId dir = a_.MakeDir("d")->id;
  StopService(a_);
  const PageInfo x = a_.Put("x", 1, dir);
  StartService(a_);
  ASSERT_TRUE(b_->WaitUntilJoined(60'000));
  EXPECT_TRUE(WaitFor([&] { return b_.FindPage(x.id).ok(); }));
  const auto made = b_.Lookup("d");
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(b_.Find("x", std::get<DirInfo>(*made).id), x.id);
  EXPECT_FALSE(a_.IsGone(x.id));
}

TEST_F(RemoteMetaOfflineTest, APageThatCannotBePublishedGoes) {
  StopService(a_);
  const PageInfo x = a_.Put("x", 1);
  service_.Start();
  ASSERT_TRUE(b_->WaitUntilJoined(60'000));
  // Whoever of the two is first: the name is a page in the end, or the page is gone.
  const auto dir = b_.MakeDir("x");
  ASSERT_TRUE(WaitFor([&] { return dir.ok() ? a_.IsGone(x.id) : b_.Find("x") == x.id; }));
}

TEST_F(RemoteMetaOfflineTest, UnlinkedWhileItIsSent) {
  StopService(a_);
  const PageInfo x = a_.Put("x", 1);
  service_.HoldFromTheStart({MetaMethod::kPublish, MetaMethod::kHoldings});
  StartService(a_);
  ASSERT_TRUE(b_->WaitUntilJoined(60'000));
  ASSERT_TRUE(WaitFor([&] { return service_.counting().Count(MetaMethod::kPublish) > 0; }));
  EXPECT_EQ(a_.Unlink("x")->id, x.id);
  service_.counting().Release();
  a_.WaitUntilTold();
  // Its publication is taken back when it is answered.
  EXPECT_TRUE(WaitFor([&] { return b_.Find("x") == PageId{}; }));
  EXPECT_EQ(a_.Find("x"), PageId{}) << "R1";
}

TEST_F(RemoteMetaOfflineTest, DropsAreAnswered) {
  const PageInfo x = a_.Put("x", 1);
  const PageInfo y = a_.Put("y", 2);
  const PageInfo kept = a_.Put("z", 3);
  StopService(a_);
  const PageInfo unsent = a_.Put("u", 4);
  const auto names = a_.Drop({x.id, unsent.id});
  ASSERT_TRUE(names.ok());
  ASSERT_EQ(names->size(), 1u);
  EXPECT_EQ((*names)[0].name, "u");
  EXPECT_TRUE(a_.Drop({y.id})->empty());
  EXPECT_EQ(a_.Find("x"), PageId{});
  StartService(a_);
  ASSERT_TRUE(b_->WaitUntilJoined(60'000));
  ExpectPublished("z", kept.id);
  EXPECT_EQ(b_.Find("x"), PageId{}) << "R3: not in the new inventory";
  EXPECT_EQ(b_.Find("u"), PageId{});
}

}  // namespace
}  // namespace kvpagefs
