// Unlink, rename and replacement while files are open: readers keep their bytes, writers follow or lose their name.
#include "fake_kernel_fixture.h"

namespace kvpagefs {
namespace {

using NamesTest = FakeKernelTest;

TEST_F(NamesTest, OpenPageKeepsItsBytesWithoutAName) {
  const OpenReply page = other_.Put("a", std::string(10'000, 'x'));
  const OpenReply file = me_.Open(page.node);
  ASSERT_EQ(file.error, 0);
  EXPECT_EQ(me_.Getattr(page.node).attr.nlink, 1u);
  ASSERT_EQ(other_.Unlink("a"), 0);
  EXPECT_EQ(me_.Lookup("a").error, ENOENT);
  const AttrReply attr = me_.Getattr(page.node);
  ASSERT_EQ(attr.error, 0);
  EXPECT_EQ(attr.attr.nlink, 0u);
  EXPECT_EQ(attr.attr.size, 10'000u);
  EXPECT_EQ(attr.attr.blocks, 24u);
  EXPECT_EQ(me_.Read(file), std::string(10'000, 'x'));
  EXPECT_GT(state().tier->GetStats().held_bytes, 0u);
  ASSERT_EQ(me_.Release(file), 0);
  EXPECT_EQ(state().tier->GetStats().held_bytes, 0u);
  EXPECT_EQ(state().open_pages.size(), 0u);
}

TEST_F(NamesTest, ReplacedPageKeepsItsReaders) {
  const OpenReply page = other_.Put("a", "old");
  const OpenReply file = me_.Open(page.node);
  ASSERT_EQ(other_.Put("b", "new").error, 0);
  ASSERT_EQ(other_.Rename("b", "a"), 0);
  EXPECT_EQ(me_.Read(file), "old");
  EXPECT_EQ(me_.Getattr(page.node).attr.nlink, 0u);
  EXPECT_EQ(me_.Contents("a"), "new");
  EXPECT_EQ(me_.Lookup("b").error, ENOENT);
  me_.Release(file);
}

TEST_F(NamesTest, EqualContentUnderOneNameIsOnePage) {
  const OpenReply first = other_.Put("a", "same");
  const OpenReply file = me_.Open(first.node);
  ASSERT_EQ(other_.Put("a", "same").error, 0);
  EXPECT_EQ(me_.Lookup("a").node(), first.node);
  EXPECT_EQ(me_.Getattr(first.node).attr.nlink, 1u);
  EXPECT_EQ(state().tier->GetStats().pages, 1u);
  me_.Release(file);
}

TEST_F(NamesTest, RenameSealsAndPublishes) {
  const OpenReply file = me_.Create("a.tmp");
  ASSERT_EQ(me_.Write(file, "bytes"), 0);
  EXPECT_EQ(other_.Rename("a.tmp", "a"), ENOENT) << "not theirs";
  ASSERT_EQ(me_.Rename("a.tmp", "a"), 0);
  EXPECT_EQ(other_.Contents("a"), "bytes");
  EXPECT_EQ(me_.Lookup("a.tmp").error, ENOENT);
  ASSERT_EQ(me_.Write(file, "BYTES"), 0);
  EXPECT_EQ(me_.Lookup("a").node(), file.node) << "the writer followed its page";
  ASSERT_EQ(me_.Flush(file), 0);
  EXPECT_EQ(other_.Contents("a"), "BYTES");
  EXPECT_EQ(other_.Lookup("a.tmp").error, ENOENT);
  me_.Release(file);
}

TEST_F(NamesTest, WriterFollowsItsPageThroughARenameByOthers) {
  const OpenReply file = me_.Create("a");
  ASSERT_EQ(me_.Write(file, "one"), 0);
  ASSERT_EQ(me_.Flush(file), 0);
  ASSERT_EQ(me_.Write(file, "two"), 0);
  ASSERT_EQ(other_.Rename("a", "b"), 0);
  ASSERT_EQ(me_.Flush(file), 0);
  EXPECT_EQ(other_.Contents("b"), "two");
  EXPECT_EQ(other_.Lookup("a").error, ENOENT);
  me_.Release(file);
}

TEST_F(NamesTest, RenameFlags) {
  ASSERT_EQ(me_.Put("a", "one").error, 0);
  ASSERT_EQ(me_.Put("b", "two").error, 0);
  EXPECT_EQ(me_.Rename("a", "b", RENAME_NOREPLACE), EEXIST);
  EXPECT_EQ(me_.Rename("a", "b", RENAME_EXCHANGE), EINVAL);
  EXPECT_EQ(me_.Rename("a", "c", RENAME_NOREPLACE), 0);
  EXPECT_EQ(me_.Contents("c"), "one");
  EXPECT_EQ(me_.Rename("a", "b"), ENOENT);
  EXPECT_EQ(me_.Contents("b"), "two");
}

TEST_F(NamesTest, UnlinkedDraftNeverPublishes) {
  const OpenReply file = me_.Create("a", O_RDWR);
  ASSERT_EQ(me_.Write(file, "gone"), 0);
  ASSERT_EQ(me_.Unlink("a"), 0);
  EXPECT_EQ(me_.Lookup("a").error, ENOENT);
  EXPECT_EQ(me_.Read(file), "gone");
  EXPECT_EQ(me_.Getattr(file.node).attr.nlink, 0u);
  ASSERT_EQ(me_.Flush(file), 0);
  EXPECT_EQ(other_.Lookup("a").error, ENOENT) << "D2";
  ASSERT_EQ(me_.Release(file), 0);
  EXPECT_EQ(other_.Lookup("a").error, ENOENT) << "D2";
  EXPECT_EQ(state().tier->GetStats().draft_bytes, 0u);
}

TEST_F(NamesTest, UnlinkOfAPageConcernsItsWriter) {
  const OpenReply file = me_.Create("a");
  ASSERT_EQ(me_.Write(file, "one"), 0);
  ASSERT_EQ(me_.Flush(file), 0);
  ASSERT_EQ(me_.Write(file, "two"), 0);
  ASSERT_EQ(other_.Unlink("a"), 0);
  ASSERT_EQ(me_.Flush(file), 0);
  EXPECT_EQ(other_.Lookup("a").error, ENOENT) << "D2: dropped files never publish";
  me_.Release(file);
}

TEST_F(NamesTest, UnlinkOfSomebodyElsesDraftIsENOENT) {
  const OpenReply file = me_.Create("a");
  EXPECT_EQ(other_.Unlink("a"), ENOENT);
  ASSERT_EQ(me_.Flush(file), 0);
  EXPECT_EQ(other_.Lookup("a").error, 0);
  me_.Release(file);
}

TEST_F(NamesTest, DirectoryWithADraftIsNotEmpty) {
  const uint64_t dir = me_.Mkdir("d").node();
  const OpenReply file = me_.Create("a", O_WRONLY, dir);
  EXPECT_EQ(other_.Rmdir("d"), ENOTEMPTY);
  ASSERT_EQ(me_.Unlink("a", dir), 0);
  EXPECT_EQ(other_.Rmdir("d"), 0);
  EXPECT_EQ(me_.Release(file), 0);
  EXPECT_EQ(me_.Create("b", O_WRONLY, dir).error, ENOENT);
}

TEST_F(NamesTest, TwoWritersOfOneNameLastOneWins) {
  const OpenReply mine = me_.Create("a");
  const OpenReply theirs = other_.Create("a");
  EXPECT_NE(mine.node, theirs.node);
  ASSERT_EQ(me_.Write(mine, "mine"), 0);
  ASSERT_EQ(other_.Write(theirs, "theirs"), 0);
  ASSERT_EQ(me_.Flush(mine), 0);
  EXPECT_EQ(me_.Contents("a"), "mine");
  ASSERT_EQ(other_.Flush(theirs), 0);
  EXPECT_EQ(me_.Contents("a"), "theirs");
  me_.Release(mine);
  other_.Release(theirs);
}

TEST_F(NamesTest, ReservedDirectoryIsReadOnly) {
  const EntryReply dir = me_.Lookup(".kvpagefs");
  ASSERT_EQ(dir.error, 0);
  EXPECT_EQ(me_.Create(".kvpagefs").error, EPERM);
  EXPECT_EQ(me_.Create("x", O_WRONLY, dir.node()).error, EPERM);
  EXPECT_EQ(me_.Unlink("status", dir.node()), EPERM);
  EXPECT_EQ(me_.Rmdir(".kvpagefs"), EPERM);
  ASSERT_EQ(me_.Put("a", "x").error, 0);
  EXPECT_EQ(me_.Rename("a", ".kvpagefs"), EPERM);
  const OpenReply status = me_.Open(me_.Lookup("status", dir.node()).node());
  ASSERT_EQ(status.error, 0);
  EXPECT_THAT(me_.Read(status), testing::HasSubstr("state serving\n"));
  me_.Release(status);
}

}  // namespace
}  // namespace kvpagefs
