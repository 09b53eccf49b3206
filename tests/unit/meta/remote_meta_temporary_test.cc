// Names that stay on the node until they are renamed.
#include "unit/meta/remote_meta_fixture.h"

namespace kvpagefs {
namespace {

using testing::ClientNode;

class RemoteMetaTemporaryTest : public testing::RemoteMetaFixture {
 protected:
  std::unique_ptr<ClientNode> node_a_ = Join("a");
  std::unique_ptr<ClientNode> node_b_ = Join("b");
  ClientNode& a_ = *node_a_;
  ClientNode& b_ = *node_b_;
};

TEST_F(RemoteMetaTemporaryTest, OnlyThisNodeKnowsThem) {
  const PageInfo page = a_.Put("x.tmp1", 1);
  EXPECT_EQ(service_.counting().Count(MetaMethod::kPublish), 0u);
  EXPECT_EQ(a_.Find("x.tmp1"), page.id);
  EXPECT_TRUE(testing::Same(*a_.FindPage(page.id), page));
  EXPECT_EQ(b_.Find("x.tmp1"), PageId{});
  // A name of the same text on another node is another page.
  const PageInfo other = b_.Put("x.tmp1", 2);
  EXPECT_EQ(a_.Find("x.tmp1"), page.id);
  EXPECT_EQ(b_.Find("x.tmp1"), other.id);
  const auto described = ClientNode::Ask<PageDescription>([&](auto done) { a_->Describe(page.id, done); });
  ASSERT_TRUE(described.ok()) << "or it would never be written to SSD";
  EXPECT_TRUE(testing::Same(described->page, page));
  EXPECT_TRUE(described->path.empty()) << "it means nothing after a restart";
}

TEST_F(RemoteMetaTemporaryTest, ReplaceAndExclusive) {
  const PageInfo first = a_.Put("x.tmp", 1);
  EXPECT_EQ(a_.Publish("x.tmp", a_.NewPage(2), true).code(), ErrorCode::kExists);
  const PageInfo second = a_.NewPage(3);
  const auto outcome = a_.Publish("x.tmp", second);
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->dropped, first.id);
  EXPECT_TRUE(outcome->replaced);
  EXPECT_EQ(a_.Find("x.tmp"), second.id);
  EXPECT_TRUE(a_.Publish("y.tmp", a_.NewPage(2), true).ok());
}

TEST_F(RemoteMetaTemporaryTest, RenamedToItsFinalName) {
  const PageInfo page = a_.Put("x.tmp", 1, kRootDir, {{"user.k", "v"}});
  const auto outcome = a_.Rename("x.tmp", "x");
  ASSERT_TRUE(outcome.ok()) << outcome.error().Describe();
  EXPECT_EQ(outcome->page.id, page.id);
  EXPECT_EQ(a_.Find("x.tmp"), PageId{});
  EXPECT_EQ(a_.Find("x"), page.id);
  EXPECT_EQ(b_.Find("x"), page.id);
  EXPECT_EQ(*b_.GetXattr(page.id.value, "user.k"), "v");
  EXPECT_EQ(a_.SeenBy(b_, page.id), kMemoryTier);
}

TEST_F(RemoteMetaTemporaryTest, RenamedOverAFinalName) {
  const PageInfo there = b_.Put("x", 1);
  const PageInfo page = a_.Put("x.tmp", 2);
  EXPECT_EQ(a_.Rename("x.tmp", "x", Namespace::RenameMode::kNoReplace).code(), ErrorCode::kExists);
  EXPECT_EQ(a_.Find("x.tmp"), page.id) << "it stays what it was";
  EXPECT_EQ(b_.Find("x"), there.id);
  const auto outcome = a_.Rename("x.tmp", "x");
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->dropped, there.id);
  EXPECT_TRUE(b_.IsGone(there.id)) << "R2";
  EXPECT_EQ(b_.Find("x"), page.id);
}

TEST_F(RemoteMetaTemporaryTest, RenamedOntoAPageOfEqualContent) {
  const PageInfo there = b_.Put("x", 1);
  const PageInfo page = a_.Put("x.tmp", 1);
  const auto outcome = a_.Rename("x.tmp", "x");
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->page.id, there.id);
  EXPECT_EQ(outcome->dropped, page.id);
  EXPECT_EQ(a_.Find("x.tmp"), PageId{});
  EXPECT_EQ(a_.Find("x"), there.id);
  EXPECT_EQ(a_.SeenBy(b_, there.id), kNoTier) << "the bytes that this node has are another page's";
}

TEST_F(RemoteMetaTemporaryTest, RenamedToAnotherTemporaryName) {
  const PageInfo x = a_.Put("x.tmp", 1);
  const PageInfo y = a_.Put("y.tmp", 2);
  EXPECT_EQ(a_.Rename("x.tmp", "y.tmp", Namespace::RenameMode::kNoReplace).code(), ErrorCode::kExists);
  const auto outcome = a_.Rename("x.tmp", "y.tmp");
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->dropped, y.id);
  EXPECT_EQ(a_.Find("y.tmp"), x.id);
  EXPECT_EQ(a_.Find("x.tmp"), PageId{});
  EXPECT_EQ(service_.counting().Count(MetaMethod::kPublish), 0u);
}

TEST_F(RemoteMetaTemporaryTest, AttributesGoWithThePage) {
  const PageInfo page = a_.Put("x.tmp", 1);
  const uint64_t id = page.id.value;
  ASSERT_TRUE(a_.SetXattr(id, "user.k", "v").ok());
  ASSERT_TRUE(a_.SetXattr(id, "user.gone", "v").ok());
  EXPECT_EQ(a_.SetXattr(id, "user.k", "w", Namespace::XattrMode::kCreate).code(), ErrorCode::kExists);
  ASSERT_TRUE(ClientNode::Ask<void>([&](auto done) { a_->RemoveXattr(id, "user.gone", done); }).ok());
  EXPECT_EQ(a_.GetXattr(id, "user.gone").code(), ErrorCode::kNoAttribute);
  EXPECT_EQ(ClientNode::Ask<Xattrs>([&](auto done) { a_->GetXattrs(id, done); })->size(), 1u);
  ASSERT_TRUE(a_.SetPin(page.id, Pin::kHard).ok());
  AttributeChange change;
  change.set_mtime = true;
  change.mtime_ns = 99;
  ASSERT_TRUE(ClientNode::Ask<PageInfo>([&](auto done) { a_->ChangePage(page.id, change, done); }).ok());
  EXPECT_EQ(service_.counting().Count(MetaMethod::kSetXattr), 0u);
  ASSERT_TRUE(a_.Rename("x.tmp", "x").ok());
  const auto seen = b_.FindPage(page.id);
  ASSERT_TRUE(seen.ok());
  EXPECT_EQ(seen->pin, Pin::kHard);
  EXPECT_EQ(seen->mtime_ns, 99);
  EXPECT_EQ(*b_.GetXattr(id, "user.k"), "v");
}

TEST_F(RemoteMetaTemporaryTest, UnlinkedAndDropped) {
  const PageInfo page = a_.Put("x.tmp", 1);
  EXPECT_EQ(a_.Unlink("x.tmp")->id, page.id);
  EXPECT_EQ(a_.Find("x.tmp"), PageId{});
  EXPECT_EQ(a_.Unlink("x.tmp").code(), ErrorCode::kNotFound);
  const PageInfo evicted = a_.Put("y.tmp", 2);
  a_->NoteHeld(evicted.id, kMemoryTier);
  const auto names = a_.Drop({evicted.id});
  ASSERT_EQ(names->size(), 1u);
  EXPECT_EQ((*names)[0].name, "y.tmp");
  EXPECT_EQ(a_.Find("y.tmp"), PageId{});
  EXPECT_EQ(service_.counting().Count(MetaMethod::kUnlink), 1u) << "the one of a name that nobody has";
}

}  // namespace
}  // namespace kvpagefs
