// fs/retry_table.h: an inode that stands for no name any more, or that must not be written to, is answered with ESTALE
// once; what the kernel does then succeeds. A program never sees ESTALE.
#include "fake_kernel_fixture.h"
#include "fs/sealing.h"

namespace kvpagefs {
namespace {

class StaleTest : public FakeKernelTest {
 protected:
  // The inode of a page that another one has replaced since.
  uint64_t ReplacedNode(std::string_view name, std::string_view now) {
    const uint64_t node = other_.Put(name, "replaced").node;
    EXPECT_EQ(other_.Put(name, now).error, 0);
    return node;
  }
};

TEST_F(StaleTest, OpenForWritingLeadsToAPrivateInode) {
  const OpenReply page = other_.Put("a", "one");
  EXPECT_EQ(me_.Open(page.node, O_WRONLY).error, ESTALE);
  const EntryReply found = me_.Lookup("a");
  EXPECT_NE(found.node(), page.node);
  EXPECT_EQ(found.entry.attr.size, 3u);
  const OpenReply file = me_.Open(found.node(), O_RDWR);
  ASSERT_EQ(file.error, 0);
  EXPECT_EQ(other_.Lookup("a").node(), page.node) << "nobody else is led there";
  ASSERT_EQ(me_.Write(file, "two", 3), 0);
  EXPECT_EQ(me_.Read(file), "onetwo");
  EXPECT_EQ(other_.Contents("a"), "one");
  ASSERT_EQ(me_.Flush(file), 0);
  EXPECT_EQ(other_.Contents("a"), "onetwo");
  ASSERT_EQ(me_.Release(file), 0);
  EXPECT_EQ(state().drafts.size(), 0u);
}

TEST_F(StaleTest, OpenForWritingWithoutAWriteChangesNothing) {
  const OpenReply page = other_.Put("a", "one");
  EXPECT_EQ(me_.Open(page.node, O_WRONLY).error, ESTALE);
  const OpenReply file = me_.Open(me_.Lookup("a").node(), O_WRONLY);
  ASSERT_EQ(me_.Flush(file), 0);
  ASSERT_EQ(me_.Release(file), 0);
  EXPECT_EQ(other_.Lookup("a").node(), page.node);
  EXPECT_EQ(Count(Counter::kSeals), 1u);
}

TEST_F(StaleTest, OpenWithTruncateStartsEmpty) {
  const OpenReply page = other_.Put("a", "one");
  EXPECT_EQ(me_.Open(page.node, O_WRONLY | O_TRUNC).error, ESTALE);
  const OpenReply file = me_.Open(me_.Lookup("a").node(), O_WRONLY | O_TRUNC);
  ASSERT_EQ(file.error, 0);
  EXPECT_EQ(other_.Contents("a"), "one");
  ASSERT_EQ(me_.Flush(file), 0);
  EXPECT_EQ(other_.Contents("a"), "");
  me_.Release(file);
}

TEST_F(StaleTest, PromisedFileIsNotShownToOtherThreadsOfOtherProcesses) {
  const OpenReply page = other_.Put("a", "one");
  EXPECT_EQ(me_.Open(page.node, O_WRONLY).error, ESTALE);
  EXPECT_EQ(other_.Open(page.node, O_WRONLY).error, ESTALE);
  const uint64_t mine = me_.Lookup("a").node();
  const uint64_t theirs = other_.Lookup("a").node();
  EXPECT_NE(mine, theirs);
  const OpenReply file = me_.Open(mine, O_WRONLY);
  EXPECT_EQ(file.error, 0);
  me_.Release(file);
  // The other process never comes back for its file.
  for (const auto& late : state().retries.Expire(INT64_MAX)) ReleaseHandle(state(), late);
  EXPECT_EQ(state().drafts.size(), 0u);
}

TEST_F(StaleTest, OpenOfAReplacedPageSucceedsAtTheSecondTry) {
  const uint64_t node = ReplacedNode("a", "new");
  EXPECT_EQ(me_.Open(node).error, ESTALE);
  const OpenReply file = me_.Open(me_.Lookup("a").node());
  ASSERT_EQ(file.error, 0);
  EXPECT_EQ(me_.Read(file), "new");
  me_.Release(file);
}

TEST_F(StaleTest, GrantedPageOpensAlthoughItWasReplacedInBetween) {
  const uint64_t node = ReplacedNode("a", "new");
  EXPECT_EQ(me_.Open(node).error, ESTALE);
  const uint64_t found = me_.Lookup("a").node();
  ASSERT_EQ(other_.Put("a", "newer").error, 0);
  const OpenReply file = me_.Open(found);
  ASSERT_EQ(file.error, 0);
  EXPECT_EQ(me_.Read(file), "new");
  EXPECT_EQ(me_.Getattr(found).attr.nlink, 0u);
  me_.Release(file);
  EXPECT_EQ(me_.Contents("a"), "newer");
}

TEST_F(StaleTest, GrantedPageOpensAlthoughItWasDeletedInBetween) {
  const uint64_t node = ReplacedNode("a", "new");
  EXPECT_EQ(me_.Open(node).error, ESTALE);
  const uint64_t found = me_.Lookup("a").node();
  ASSERT_EQ(other_.Unlink("a"), 0);
  const OpenReply file = me_.Open(found);
  ASSERT_EQ(file.error, 0);
  EXPECT_EQ(me_.Read(file), "new");
  me_.Release(file);
}

TEST_F(StaleTest, SecondStaleOpenWithoutALookUpIsENOENT) {
  const uint64_t node = ReplacedNode("a", "new");
  EXPECT_EQ(me_.Open(node).error, ESTALE);
  EXPECT_EQ(me_.Open(node).error, ENOENT) << "a second ESTALE would reach the program";
  EXPECT_EQ(me_.Open(node).error, ESTALE) << "a new system call";
}

TEST_F(StaleTest, GetattrOfAReplacedPageTwice) {
  const uint64_t node = ReplacedNode("a", "new");
  EXPECT_EQ(me_.Getattr(node).error, ESTALE);
  const uint64_t found = me_.Lookup("a").node();
  EXPECT_EQ(me_.Getattr(found).attr.size, 3u);
}

TEST_F(StaleTest, GetattrOfAGrantedPageThatWasReplacedInBetween) {
  const uint64_t node = ReplacedNode("a", "new");
  EXPECT_EQ(me_.Getattr(node).error, ESTALE);
  const uint64_t found = me_.Lookup("a").node();
  ASSERT_EQ(other_.Put("a", "newer").error, 0);
  EXPECT_NE(me_.Getattr(found).error, ESTALE) << "never twice in one system call";
}

// The look-up that the kernel repeats must already lead to a private inode: it would not repeat it again.
TEST_F(StaleTest, OpenForWritingOfAReplacedPageIsStaleOnlyOnce) {
  const uint64_t node = ReplacedNode("a", "new");
  EXPECT_EQ(me_.Open(node, O_WRONLY).error, ESTALE);
  const OpenReply file = me_.Open(me_.Lookup("a").node(), O_WRONLY);
  EXPECT_EQ(file.error, 0);
  if (file.error == 0) me_.Release(file);
}

TEST_F(StaleTest, TruncateOfAReplacedPageIsStaleOnlyOnce) {
  const uint64_t node = ReplacedNode("a", "new");
  EXPECT_EQ(me_.Truncate(node, 1).error, ESTALE);
  EXPECT_EQ(me_.Truncate(me_.Lookup("a").node(), 1).error, 0);
  EXPECT_EQ(other_.Contents("a"), "n");
}

TEST_F(StaleTest, TruncateByPath) {
  const OpenReply page = other_.Put("a", "one");
  EXPECT_EQ(me_.Truncate(page.node, 5).error, ESTALE);
  const EntryReply found = me_.Lookup("a");
  EXPECT_NE(found.node(), page.node);
  const AttrReply after = me_.Truncate(found.node(), 5);
  ASSERT_EQ(after.error, 0);
  EXPECT_EQ(after.attr.size, 5u);
  EXPECT_EQ(other_.Contents("a"), std::string("one\0\0", 5));
  EXPECT_TRUE(Eventually([&] { return state().drafts.size() == 0; })) << "let go behind the reply";
}

// What remains of one system call must not spoil the next one.
TEST_F(StaleTest, RetryThatFoundNothingLeavesNoTrace) {
  const uint64_t gone = other_.Put("gone", "x").node;
  ASSERT_EQ(other_.Unlink("gone"), 0);
  const uint64_t node = ReplacedNode("a", "new");
  EXPECT_EQ(me_.Open(gone).error, ESTALE);
  EXPECT_EQ(me_.Lookup("gone").error, ENOENT);
  EXPECT_EQ(me_.Open(node).error, ESTALE) << "another system call of the same thread";
  const OpenReply file = me_.Open(me_.Lookup("a").node());
  EXPECT_EQ(file.error, 0);
  if (file.error == 0) me_.Release(file);
}

// Deleted when the kernel checked its entry, there again when it made a new one, replaced when it opened that.
TEST_F(StaleTest, NameThatComesAndGoesDuringTheRetryIsStaleOnlyOnce) {
  for (const int flags : {O_WRONLY, O_RDONLY}) {
    const uint64_t node = ReplacedNode("a", "second");
    ASSERT_EQ(me_.Open(node, flags).error, ESTALE);
    ASSERT_EQ(other_.Unlink("a"), 0);
    EXPECT_EQ(me_.Lookup("a").error, ENOENT);
    other_.Put("a", "third");
    const uint64_t found = me_.Lookup("a").node();
    other_.Put("a", "fourth");
    const OpenReply file = me_.Open(found, flags);
    ASSERT_EQ(file.error, 0) << flags;
    me_.Release(file);
  }
}

// Without default-permissions the kernel knows from us alone whether access(2) finds something.
TEST_F(StaleTest, AccessAsksWhetherThePageIsThere) {
  const uint64_t node = other_.Put("a", "one").node;
  EXPECT_EQ(me_.Access(node), 0);
  const OpenReply reader = other_.Open(node);
  ASSERT_EQ(other_.Unlink("a"), 0);
  EXPECT_EQ(me_.Access(node), 0) << "open, so it is there by /proc/self/fd";
  ASSERT_EQ(other_.Release(reader), 0);
  EXPECT_EQ(me_.Access(node), ESTALE);
  EXPECT_EQ(me_.Lookup("a").error, ENOENT);
  const OpenReply draft = me_.Create("b");
  EXPECT_EQ(me_.Access(draft.node), 0);
  me_.Release(draft);
  EXPECT_EQ(me_.Access(me_.Lookup(".kvpagefs").node()), 0);
}

TEST_F(StaleTest, AccessOfAGrantedPageThatWasReplacedInBetween) {
  const uint64_t node = ReplacedNode("a", "new");
  EXPECT_EQ(me_.Access(node), ESTALE);
  const uint64_t found = me_.Lookup("a").node();
  ASSERT_EQ(other_.Put("a", "newer").error, 0);
  EXPECT_EQ(me_.Access(found), 0);
}

TEST_F(StaleTest, DirectoryThatIsGoneIsStale) {
  const uint64_t dir = me_.Mkdir("d").node();
  EXPECT_EQ(me_.Access(dir), 0);
  ASSERT_EQ(me_.Rmdir("d"), 0);
  EXPECT_EQ(me_.Access(dir), ESTALE);
  EXPECT_EQ(me_.Lookup("d").error, ENOENT);
  EXPECT_EQ(me_.Getattr(dir).error, ESTALE);
  EXPECT_EQ(me_.Lookup("d").error, ENOENT);
  EXPECT_EQ(me_.Lookup("x", dir).error, ENOENT);
}

}  // namespace
}  // namespace kvpagefs
