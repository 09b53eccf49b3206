// fs/draft_file.h, fs/sealing.h: who sees a page when. D1-D3 are the invariants of DraftFile.
#include "fake_kernel_fixture.h"

namespace kvpagefs {
namespace {

using VisibilityTest = FakeKernelTest;

TEST_F(VisibilityTest, UnsealedPageIsSeenByItsProcessOnly) {
  const OpenReply file = me_.Create("a");
  ASSERT_EQ(file.error, 0);
  ASSERT_EQ(me_.Write(file, "one"), 0);
  EXPECT_EQ(me_.Lookup("a").node(), file.node);
  EXPECT_EQ(other_.Lookup("a").error, ENOENT);
  ASSERT_EQ(me_.Flush(file), 0);
  EXPECT_EQ(other_.Lookup("a").error, 0);
  EXPECT_EQ(other_.Contents("a"), "one") << "visibility never waits for RELEASE";
  ASSERT_EQ(me_.Release(file), 0);
  EXPECT_EQ(other_.Contents("a"), "one");
}

TEST_F(VisibilityTest, DraftEntriesAreNotCached) {
  const OpenReply file = me_.Create("a");
  EXPECT_EQ(file.entry.entry_valid + file.entry.entry_valid_nsec, 0u);
  EXPECT_EQ(file.entry.attr_valid + file.entry.attr_valid_nsec, 0u);
  const EntryReply found = me_.Lookup("a");
  EXPECT_EQ(found.entry.entry_valid + found.entry.attr_valid, 0u);
  EXPECT_EQ(me_.Getattr(file.node).valid_seconds, 0u);
  ASSERT_EQ(me_.Flush(file), 0);
  EXPECT_EQ(other_.Lookup("a").entry.attr_valid, 1u);
  me_.Release(file);
}

TEST_F(VisibilityTest, FlushByAProcessThatOnlyInheritedDoesNotSeal) {
  const OpenReply file = me_.Create("a");
  ASSERT_EQ(me_.Write(file, "half"), 0);
  ASSERT_EQ(other_.Flush(file), 0);
  EXPECT_EQ(other_.Lookup("a").error, ENOENT);
  ASSERT_EQ(me_.Write(file, " and half", 4), 0);
  ASSERT_EQ(me_.Flush(file), 0);
  EXPECT_EQ(other_.Contents("a"), "half and half");
  me_.Release(file);
}

TEST_F(VisibilityTest, FlushByAProcessThatInheritedAndWroteSeals) {
  const OpenReply file = me_.Create("a");
  ASSERT_EQ(other_.Write(file, "by the child"), 0);
  ASSERT_EQ(other_.Flush(file), 0);
  EXPECT_EQ(other_.Contents("a"), "by the child");
  me_.Release(file);
}

TEST_F(VisibilityTest, SecondFlushChangesNothing) {
  const OpenReply file = me_.Create("a");
  ASSERT_EQ(me_.Write(file, "one"), 0);
  ASSERT_EQ(me_.Flush(file), 0);
  ASSERT_EQ(me_.Flush(file), 0);
  EXPECT_EQ(Count(Counter::kSeals), 1u);
  EXPECT_EQ(other_.Contents("a"), "one");
  me_.Release(file);
  EXPECT_EQ(Count(Counter::kSeals), 1u);
}

TEST_F(VisibilityTest, WriteAfterFlushMakesANewVersion) {
  const OpenReply file = me_.Create("a", O_RDWR);
  ASSERT_EQ(me_.Write(file, "one"), 0);
  ASSERT_EQ(me_.Flush(file), 0);
  const OpenReply reader = other_.Open(other_.Lookup("a").node());
  ASSERT_EQ(me_.Write(file, "TWO"), 0);
  EXPECT_EQ(me_.Read(file), "TWO");
  EXPECT_EQ(other_.Contents("a"), "one") << "D1: the sealed version stays until the next seal";
  ASSERT_EQ(me_.Flush(file), 0);
  EXPECT_EQ(other_.Contents("a"), "TWO");
  EXPECT_EQ(other_.Read(reader), "one");
  other_.Release(reader);
  me_.Release(file);
}

TEST_F(VisibilityTest, ReleaseSealsWhatCameAfterTheLastFlush) {
  const OpenReply file = me_.Create("a");
  ASSERT_EQ(me_.Write(file, "one"), 0);
  ASSERT_EQ(me_.Flush(file), 0);
  ASSERT_EQ(me_.Write(file, "two"), 0);
  ASSERT_EQ(me_.Release(file), 0);
  EXPECT_EQ(other_.Contents("a"), "two");
  EXPECT_EQ(state().drafts.size(), 0u);
}

TEST_F(VisibilityTest, FsyncSeals) {
  const OpenReply file = me_.Create("a");
  ASSERT_EQ(me_.Write(file, "one"), 0);
  ASSERT_EQ(me_.Fsync(file), 0);
  EXPECT_EQ(other_.Contents("a"), "one");
  me_.Release(file);
}

TEST_F(VisibilityTest, TwoHandlesSealAtTheLastFlush) {
  const OpenReply first = me_.Create("a");
  const OpenReply second = me_.Open(first.node, O_WRONLY);
  ASSERT_EQ(second.error, 0);
  ASSERT_EQ(me_.Write(first, "one"), 0);
  ASSERT_EQ(me_.Write(second, "two", 3), 0);
  ASSERT_EQ(me_.Flush(first), 0);
  EXPECT_EQ(other_.Lookup("a").error, ENOENT);
  ASSERT_EQ(me_.Flush(second), 0);
  EXPECT_EQ(other_.Contents("a"), "onetwo");
  me_.Release(first);
  me_.Release(second);
}

TEST_F(VisibilityTest, PageOfAKilledWriterNeverAppears) {
  const OpenReply file = other_.Create("a");
  ASSERT_EQ(other_.Write(file, "half"), 0);
  other_process_.Kill();
  ASSERT_EQ(other_.Flush(file), 0);
  EXPECT_EQ(me_.Lookup("a").error, ENOENT);
  EXPECT_EQ(other_.Release(file), 0);
  EXPECT_EQ(me_.Lookup("a").error, ENOENT) << "D2";
  EXPECT_EQ(Count(Counter::kAbandonedDrafts), 1u);
  EXPECT_EQ(state().tier->GetStats().draft_bytes, 0u);
}

// The second version was written into the kernel's cache of the inode that the first version has for its own.
TEST_F(VisibilityTest, KernelCacheOfAnAbandonedVersionIsNotServed) {
  const OpenReply file = other_.Create("a");
  ASSERT_EQ(other_.Write(file, "one"), 0);
  ASSERT_EQ(other_.Flush(file), 0);
  ASSERT_EQ(other_.Write(file, "half"), 0);
  other_process_.Kill();
  ASSERT_EQ(other_.Flush(file), 0);
  ASSERT_EQ(other_.Release(file), 0);
  const EntryReply found = me_.Lookup("a");
  ASSERT_EQ(found.error, 0);
  const OpenReply reader = me_.Open(found.node());
  ASSERT_EQ(reader.error, 0);
  EXPECT_EQ(me_.Read(reader), "one");
  EXPECT_TRUE(found.node() != file.node || (reader.open.open_flags & FOPEN_KEEP_CACHE) == 0)
      << "the kernel would answer from the cache with bytes that were never published";
  me_.Release(reader);
}

TEST_F(VisibilityTest, FileCreatedForReadingIsPublishedEmpty) {
  const OpenReply file = me_.Create("lock", O_RDONLY);
  ASSERT_EQ(file.error, 0);
  me_.Flush(file);
  ASSERT_EQ(me_.Release(file), 0);
  EXPECT_EQ(other_.Lookup("lock").error, 0);
}

TEST_F(VisibilityTest, CreateOverOwnDraftHonoursTruncate) {
  const OpenReply first = me_.Create("a");
  ASSERT_EQ(me_.Write(first, "old bytes"), 0);
  const OpenReply second = me_.Create("a", O_WRONLY | O_TRUNC);
  ASSERT_EQ(second.error, 0);
  EXPECT_EQ(second.entry.attr.size, 0u);
  EXPECT_EQ(me_.Create("a", O_WRONLY | O_EXCL).error, EEXIST);
  me_.Flush(first);
  me_.Flush(second);
  EXPECT_EQ(other_.Contents("a"), "");
  me_.Release(first);
  me_.Release(second);
}

TEST_F(VisibilityTest, MknodIsAnEmptyPageAtOnce) {
  const EntryReply made = me_.Mknod("a");
  ASSERT_EQ(made.error, 0);
  EXPECT_EQ(other_.Lookup("a").error, 0);
  EXPECT_EQ(me_.Mknod("a").error, EEXIST);
  EXPECT_TRUE(Eventually([&] { return state().drafts.size() == 0; })) << "the worker tidies up behind its answer";
}

}  // namespace
}  // namespace kvpagefs
