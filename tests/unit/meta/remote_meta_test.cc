// Every operation of MetaClient against the service.
#include "meta/remote_meta.h"

#include <thread>

#include "unit/meta/remote_meta_fixture.h"

namespace kvpagefs {
namespace {

using testing::ClientNode;
using testing::Same;
using testing::WaitFor;

class RemoteMetaTest : public testing::RemoteMetaFixture {
 protected:
  std::unique_ptr<ClientNode> node_ = Join("a");
  ClientNode& a_ = *node_;
};

TEST_F(RemoteMetaTest, PagesByNameAndId) {
  const PageInfo page = a_.Put("x", 7);
  EXPECT_TRUE(Same(*a_.FindPage(page.id), page));
  EXPECT_EQ(a_.Find("x"), page.id);
  EXPECT_EQ(a_.Lookup("y").code(), ErrorCode::kNotFound);
  EXPECT_EQ(a_.FindPage(a_.NewPage(1).id).code(), ErrorCode::kNotFound);
  const auto name = ClientNode::Ask<NameRef>([&](auto done) { a_->NameOf(page.id, done); });
  ASSERT_TRUE(name.ok());
  EXPECT_EQ(name->name, "x");
  EXPECT_EQ(name->parent, kRootDir);
  const auto nobody = ClientNode::Ask<NameRef>([&](auto done) { a_->NameOf(PageId::Make(9, 9), done); });
  EXPECT_EQ(nobody.code(), ErrorCode::kNotFound);
  EXPECT_EQ(a_.Unlink("x")->id, page.id);
  EXPECT_EQ(a_.Unlink("x").code(), ErrorCode::kNotFound);
  EXPECT_EQ(a_.Lookup("x").code(), ErrorCode::kNotFound);
}

TEST_F(RemoteMetaTest, PublishReplacesAndMerges) {
  const PageInfo first = a_.Put("x", 7);
  PageInfo equal = a_.NewPage(7);
  equal.mtime_ns = 700;
  const auto merged = a_.Publish("x", equal);
  ASSERT_TRUE(merged.ok());
  EXPECT_EQ(merged->page.id, first.id);
  EXPECT_EQ(merged->dropped, equal.id);
  EXPECT_EQ(a_.Find("x"), first.id);
  EXPECT_EQ(a_.FindPage(first.id)->mtime_ns, 700);
  const PageInfo other = a_.NewPage(8);
  const auto replaced = a_.Publish("x", other);
  ASSERT_TRUE(replaced.ok());
  EXPECT_EQ(replaced->dropped, first.id);
  EXPECT_TRUE(replaced->replaced);
  EXPECT_EQ(a_.Find("x"), other.id);
  EXPECT_EQ(a_.FindPage(first.id).code(), ErrorCode::kNotFound);
  EXPECT_EQ(a_.Publish("x", a_.NewPage(9), true).code(), ErrorCode::kExists);
  EXPECT_EQ(a_.PublishAs({DirId{99}, "y"}, a_.NewPage(9), {}, false).code(), ErrorCode::kNotFound);
  EXPECT_EQ(a_.Publish(std::string(kMaxNameBytes + 1, 'n'), a_.NewPage(9)).code(), ErrorCode::kNameTooLong);
}

TEST_F(RemoteMetaTest, Renames) {
  const PageInfo x = a_.Put("x", 1);
  const PageInfo y = a_.Put("y", 2);
  EXPECT_EQ(a_.Rename("x", "y", Namespace::RenameMode::kNoReplace).code(), ErrorCode::kExists);
  const auto outcome = a_.Rename("x", "y");
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->page.id, x.id);
  EXPECT_EQ(outcome->dropped, y.id);
  EXPECT_EQ(a_.Find("y"), x.id);
  EXPECT_EQ(a_.Find("x"), PageId{});
  EXPECT_EQ(a_.Rename("x", "z").code(), ErrorCode::kNotFound);
}

TEST_F(RemoteMetaTest, Directories) {
  const auto dir = a_.MakeDir("d");
  ASSERT_TRUE(dir.ok());
  EXPECT_EQ(dir->owner, (Ownership{7, 8, 0700}));
  EXPECT_EQ(a_.MakeDir("d").code(), ErrorCode::kExists);
  const PageInfo page = a_.Put("x", 1, dir->id);
  EXPECT_EQ(a_.Find("x", dir->id), page.id);
  const auto remove = [&](const std::string& name) {
    return ClientNode::Ask<void>([&](auto done) { a_->RemoveDir({kRootDir, name}, done); });
  };
  EXPECT_EQ(remove("d").code(), ErrorCode::kNotEmpty);
  EXPECT_EQ(a_.Unlink("d").code(), ErrorCode::kIsDirectory);
  ASSERT_TRUE(a_.Rename("d", "e").ok());
  EXPECT_EQ(std::get<DirInfo>(*a_.Lookup("e")).id, dir->id);
  EXPECT_EQ(a_.Lookup("d").code(), ErrorCode::kNotFound);
  ASSERT_TRUE(a_.Unlink("x", dir->id).ok());
  EXPECT_TRUE(remove("e").ok());
  EXPECT_EQ(remove("e").code(), ErrorCode::kNotFound);
  const auto root = ClientNode::Ask<DirInfo>([&](auto done) { a_->FindDir(kRootDir, done); });
  ASSERT_TRUE(root.ok());
  EXPECT_EQ(root->owner, (Ownership{5, 6, 0755}));
  const auto gone = ClientNode::Ask<DirInfo>([&](auto done) { a_->FindDir(DirId{999}, done); });
  EXPECT_EQ(gone.code(), ErrorCode::kNotFound);
}

TEST_F(RemoteMetaTest, ListsInPieces) {
  std::set<std::string> names;
  for (uint64_t i = 1; i <= 10; ++i) {
    names.insert("p" + std::to_string(i));
    (void)a_.Put("p" + std::to_string(i), i);
  }
  ASSERT_TRUE(a_.MakeDir("d").ok());
  std::set<std::string> listed;
  uint64_t cursor = 0;
  size_t directories = 0;
  for (;;) {
    const auto piece =
        ClientNode::Ask<std::vector<ListedEntry>>([&](auto done) { a_->List(kRootDir, cursor, 3, 1000, done); });
    ASSERT_TRUE(piece.ok());
    if (piece->empty()) break;
    EXPECT_LE(piece->size(), 3u);
    for (const ListedEntry& entry : *piece) {
      directories += entry.is_directory ? 1 : 0;
      if (!entry.is_directory) {
        EXPECT_TRUE(listed.insert(entry.name).second);
      }
    }
    cursor = piece->back().cursor;
  }
  EXPECT_EQ(listed, names);
  EXPECT_EQ(directories, 1u);
  const auto none =
      ClientNode::Ask<std::vector<ListedEntry>>([&](auto done) { a_->List(DirId{99}, 0, 3, 1000, done); });
  EXPECT_EQ(none.code(), ErrorCode::kNotFound);
}

TEST_F(RemoteMetaTest, Attributes) {
  const PageInfo page = a_.Put("x", 1);
  const DirId dir = a_.MakeDir("d")->id;
  AttributeChange change;
  change.set_mtime = change.set_mode = true;
  change.mtime_ns = 77;
  change.owner.mode = 0600;
  const auto changed = ClientNode::Ask<PageInfo>([&](auto done) { a_->ChangePage(page.id, change, done); });
  ASSERT_TRUE(changed.ok());
  EXPECT_EQ(changed->mtime_ns, 77);
  EXPECT_EQ(a_.FindPage(page.id)->owner, (Ownership{10, 20, 0600}));
  const auto changed_dir = ClientNode::Ask<DirInfo>([&](auto done) { a_->ChangeDir(dir, change, done); });
  ASSERT_TRUE(changed_dir.ok());
  EXPECT_EQ(changed_dir->mtime_ns, 77);
  const auto found = ClientNode::Ask<DirInfo>([&](auto done) { a_->FindDir(dir, done); });
  EXPECT_EQ(found->owner, (Ownership{7, 8, 0600}));
  ASSERT_TRUE(a_.SetPin(page.id, Pin::kHard).ok());
  EXPECT_EQ(a_.FindPage(page.id)->pin, Pin::kHard);
  EXPECT_EQ(a_.SetPin(PageId::Make(9, 9), Pin::kHard).code(), ErrorCode::kNotFound);
}

TEST_F(RemoteMetaTest, ExtendedAttributes) {
  const PageInfo page = a_.Put("x", 1, kRootDir, {{"user.made", "with it"}});
  const DirId dir = a_.MakeDir("d")->id;
  for (const uint64_t id : {page.id.value, dir.value}) {
    EXPECT_TRUE(a_.SetXattr(id, "user.k", "v").ok());
    EXPECT_EQ(*a_.GetXattr(id, "user.k"), "v");
    EXPECT_EQ(a_.SetXattr(id, "user.k", "w", Namespace::XattrMode::kCreate).code(), ErrorCode::kExists);
    EXPECT_EQ(a_.SetXattr(id, "user.n", "w", Namespace::XattrMode::kReplace).code(), ErrorCode::kNoAttribute);
    EXPECT_EQ(a_.GetXattr(id, "user.n").code(), ErrorCode::kNoAttribute);
  }
  const auto all = ClientNode::Ask<Xattrs>([&](auto done) { a_->GetXattrs(page.id.value, done); });
  ASSERT_TRUE(all.ok());
  EXPECT_THAT(*all,
              ::testing::UnorderedElementsAre(::testing::Pair("user.made", "with it"), ::testing::Pair("user.k", "v")));
  const auto remove = [&] {
    return ClientNode::Ask<void>([&](auto done) { a_->RemoveXattr(page.id.value, "user.k", done); });
  };
  EXPECT_TRUE(remove().ok());
  EXPECT_EQ(remove().code(), ErrorCode::kNoAttribute);
}

TEST_F(RemoteMetaTest, DescribeAndAnnounce) {
  const DirId dir = a_.MakeDir("d")->id;
  const PageInfo page = a_.Put("x", 1, dir);
  const auto describe = [&](PageId id) {
    return ClientNode::Ask<PageDescription>([&](auto done) { a_->Describe(id, done); });
  };
  const auto described = describe(page.id);
  ASSERT_TRUE(described.ok());
  EXPECT_THAT(described->path, ::testing::ElementsAre("d", "x"));
  EXPECT_TRUE(Same(described->page, page));
  EXPECT_EQ(describe(PageId::Make(9, 9)).code(), ErrorCode::kNotFound);
  PageDescription unknown;
  unknown.page = a_.NewPage(2);
  unknown.path = {"made", "anew"};
  const auto announced =
      ClientNode::Ask<Namespace::Outcome>([&](auto done) { a_->Announce(unknown, std::move(done)); });
  ASSERT_TRUE(announced.ok()) << announced.error().Describe();
  const DirId made = std::get<DirInfo>(*a_.Lookup("made")).id;
  EXPECT_EQ(a_.Find("anew", made), unknown.page.id);
  unknown.path.clear();
  unknown.page = a_.NewPage(3);
  const auto refused = ClientNode::Ask<Namespace::Outcome>([&](auto done) { a_->Announce(unknown, done); });
  EXPECT_EQ(refused.code(), ErrorCode::kNotFound);
}

TEST_F(RemoteMetaTest, SyncStatsAndIds) {
  (void)a_.Put("x", 1);
  EXPECT_TRUE(ClientNode::Ask<void>([&](auto done) { a_->Sync(done); }).ok());
  EXPECT_TRUE(WaitFor([&] { return a_->GetStats().pages == 1; }));
  EXPECT_EQ(a_->GetStats().directories, 1u);
  EXPECT_EQ(a_->Problem(), "");
  EXPECT_TRUE(a_->connected());
  EXPECT_NE(a_->number(), 0);
  EXPECT_EQ(a_->NewPageId().node(), a_->number());
  std::set<uint64_t> ids;
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(ids.insert(a_->NewPageId().value).second);
}

}  // namespace
}  // namespace kvpagefs
