// fs/draft_table.h: the inode of a page is its writer's alone while that has it open; the others get an alias.
#include "fake_kernel_fixture.h"

namespace kvpagefs {
namespace {

class AliasTest : public FakeKernelTest {
 protected:
  // A sealed page whose writer keeps it open.
  OpenReply SealedButOpen(std::string_view name, std::string_view bytes) {
    const OpenReply file = me_.Create(name, O_RDWR);
    EXPECT_EQ(me_.Write(file, bytes), 0);
    EXPECT_EQ(me_.Flush(file), 0);
    return file;
  }
};

TEST_F(AliasTest, OthersGetAnAliasWithTheSameNumber) {
  const OpenReply file = SealedButOpen("a", "one");
  const EntryReply found = other_.Lookup("a");
  ASSERT_EQ(found.error, 0);
  EXPECT_NE(found.node(), file.node);
  EXPECT_EQ(found.entry.attr.ino, file.node) << "st_ino is the page id";
  EXPECT_EQ(other_.Lookup("a").node(), found.node()) << "one alias for everybody";
  EXPECT_EQ(other_.Getattr(found.node()).attr.ino, file.node);
  const OpenReply reader = other_.Open(found.node());
  ASSERT_EQ(reader.error, 0);
  EXPECT_EQ(other_.Read(reader), "one");
  other_.Release(reader);
  me_.Release(file);
}

TEST_F(AliasTest, ForgottenAliasGivesWayToThePagesOwnInode) {
  const OpenReply file = SealedButOpen("a", "one");
  const uint64_t alias = other_.Lookup("a").node();
  EXPECT_EQ(other_.Lookup("a").node(), alias);
  me_.Release(file);
  EXPECT_EQ(other_.Lookup("a").node(), alias) << "the kernel still knows the alias: three look-ups";
  kernel_.Forget(alias, 2);
  EXPECT_EQ(other_.Lookup("a").node(), alias) << "one look-up was left";
  kernel_.ForgetMany({{alias, 1}, {file.node, 1}, {alias, 1}});
  // Nobody answers a FORGET, and another worker may answer the look-up before it is served.
  const auto own_inode = [&] {
    const uint64_t node = other_.Lookup("a").node();
    if (node == alias) kernel_.Forget(alias, 1);
    return node == file.node;
  };
  EXPECT_TRUE(Eventually(own_inode));
  EXPECT_EQ(other_.Contents("a"), "one");
}

TEST_F(AliasTest, AliasForgottenWhileTheWriterHasItOpenIsReplacedByANewOne) {
  const OpenReply file = SealedButOpen("a", "one");
  const uint64_t first = other_.Lookup("a").node();
  kernel_.Forget(first, 1);
  uint64_t second = 0;
  const auto other_alias = [&] {
    second = other_.Lookup("a").node();
    if (second == first) kernel_.Forget(first, 1);
    return second != first;
  };
  EXPECT_TRUE(Eventually(other_alias)) << "ids are never used twice";
  EXPECT_NE(second, file.node);
  me_.Release(file);
}

TEST_F(AliasTest, ForgetOfUnknownIdsIsHarmless) {
  const OpenReply file = SealedButOpen("a", "one");
  const uint64_t alias = other_.Lookup("a").node();
  kernel_.Forget(0x7777'0000'0000'1234, 3);
  kernel_.Forget(FUSE_ROOT_ID, 1);
  kernel_.Forget(file.node, 1000);
  kernel_.ForgetMany({{2, 1}, {99, 7}});
  EXPECT_EQ(other_.Lookup("a").node(), alias);
  me_.Release(file);
}

TEST_F(AliasTest, WriterKeepsItsInodeOverSeveralVersions) {
  const OpenReply file = SealedButOpen("a", "one");
  const uint64_t first = other_.Lookup("a").node();
  ASSERT_EQ(me_.Write(file, "two"), 0);
  EXPECT_EQ(me_.Lookup("a").node(), file.node) << "shown to its process while it writes";
  EXPECT_EQ(other_.Lookup("a").node(), first) << "the alias of the published version";
  ASSERT_EQ(me_.Flush(file), 0);
  const EntryReply second = other_.Lookup("a");
  EXPECT_NE(second.node(), first);
  EXPECT_NE(second.node(), file.node);
  EXPECT_EQ(other_.Contents("a"), "two");
  me_.Release(file);
}

TEST_F(AliasTest, PageWithoutAWriterHasNoAlias) {
  const OpenReply file = me_.Put("a", "one");
  EXPECT_EQ(other_.Lookup("a").node(), file.node);
  EXPECT_EQ(me_.Lookup("a").node(), file.node);
}

TEST_F(AliasTest, AttributesAndXattrsReachThePageBehindAnAlias) {
  const OpenReply file = SealedButOpen("a", "one");
  const uint64_t alias = other_.Lookup("a").node();
  fuse_setattr_in change{};
  change.valid = FATTR_MODE;
  change.mode = 0600;
  ASSERT_EQ(other_.Setattr(alias, change).error, 0);
  ASSERT_EQ(other_.Setxattr(alias, "user.k", "v"), 0);
  EXPECT_EQ(other_.Getxattr(alias, "user.k"), "v");
  EXPECT_EQ(other_.Getxattr(alias, "user.kvpagefs.page_id"), fmt::format("{:016x}", file.node));
  me_.Release(file);
  EXPECT_EQ(other_.Getattr(alias).attr.mode & 07777, 0600u);
}

}  // namespace
}  // namespace kvpagefs
