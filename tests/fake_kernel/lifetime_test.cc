// fs/session.h, fs/node.h: sessions end in any state. The checks are the asserts of the node's parts and the leak
// checker.
#include "fake_kernel_fixture.h"

namespace kvpagefs {
namespace {

using LifetimeTest = FakeKernelTest;

TEST_F(LifetimeTest, ClosedConnectionEndsTheSession) {
  EXPECT_FALSE(session_->WaitUntilEnded(0));
  kernel_.Disconnect();
  EXPECT_TRUE(session_->WaitUntilEnded(kDeadlineMs));
}

TEST_F(LifetimeTest, StopEndsTheSession) {
  session_->Stop();
  EXPECT_TRUE(session_->WaitUntilEnded(kDeadlineMs));
}

TEST_F(LifetimeTest, OpenPagesAreLetGoWithTheSession) {
  const OpenReply page = me_.Put("a", "one");
  ASSERT_EQ(me_.Open(page.node).error, 0);
  ASSERT_EQ(other_.Open(page.node).error, 0);
  ASSERT_EQ(me_.Opendir().error, 0);
  kernel_.Disconnect();
  ASSERT_TRUE(session_->WaitUntilEnded(kDeadlineMs));
  session_.reset();
  EXPECT_EQ(state().tier->GetStats().holds, 0u);
  EXPECT_EQ(state().open_pages.size(), 0u);
}

TEST_F(LifetimeTest, UnfinishedPagesAreDroppedWithTheSession) {
  const OpenReply file = me_.Create("a");
  ASSERT_EQ(me_.Write(file, "half"), 0);
  const OpenReply sealed = me_.Create("b");
  ASSERT_EQ(me_.Write(sealed, "whole"), 0);
  ASSERT_EQ(me_.Flush(sealed), 0);
  session_.reset();
  EXPECT_EQ(state().drafts.size(), 0u);
  EXPECT_EQ(state().tier->GetStats().drafts, 0u);
  EXPECT_EQ(state().tier->GetStats().holds, 0u);
  EXPECT_EQ(state().meta->GetStats().pages, 1u) << "what was sealed stays";
}

TEST_F(LifetimeTest, PromisesAreLetGoWithTheNode) {
  const OpenReply page = me_.Put("a", "one");
  EXPECT_EQ(me_.Open(page.node, O_WRONLY).error, ESTALE);
  const OpenReply gone = me_.Put("b", "x");
  ASSERT_EQ(me_.Put("b", "new").error, 0);
  EXPECT_EQ(other_.Open(gone.node).error, ESTALE);
  EXPECT_EQ(other_.Lookup("b").error, 0);
  EXPECT_TRUE(state().retries.any());
}

TEST_F(LifetimeTest, ReleasesInAnyOrder) {
  const OpenReply file = me_.Create("a");
  ASSERT_EQ(me_.Write(file, "one"), 0);
  const OpenReply second = me_.Open(file.node, O_RDWR);
  ASSERT_EQ(me_.Flush(file), 0);
  const OpenReply reader = other_.Open(other_.Lookup("a").node());
  ASSERT_EQ(other_.Unlink("a"), 0);
  ASSERT_EQ(me_.Release(file), 0);
  EXPECT_EQ(me_.Read(second), "one");
  ASSERT_EQ(me_.Release(second), 0);
  EXPECT_EQ(other_.Read(reader), "one");
  ASSERT_EQ(other_.Release(reader), 0);
  const MemoryTier::Stats stats = state().tier->GetStats();
  EXPECT_EQ(stats.holds, 0u);
  EXPECT_EQ(stats.drafts, 0u);
  EXPECT_EQ(stats.pages, 0u);
}

TEST_F(LifetimeTest, EvictedPageIsENOENTAndItsNameGoes) {
  const OpenReply page = me_.Put("a", "one");
  ASSERT_EQ(other_.Lookup("a").node(), page.node);
  // Makes room by force.
  ASSERT_TRUE(state().tier->NewDraft()->Reserve(state().tier->GetStats().capacity_bytes - 4096).ok());
  EXPECT_EQ(other_.Lookup("a").error, ENOENT);
  EXPECT_EQ(other_.Open(page.node).error, ESTALE);
  EXPECT_EQ(other_.Open(page.node).error, ENOENT);
  EXPECT_EQ(Count(Counter::kNamesDropped), 1u);
}

TEST_F(LifetimeTest, ManyClientsAtOnce) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      Client client(&kernel_, static_cast<uint32_t>(gettid()));
      for (int i = 0; i < 50; ++i) {
        const std::string name = fmt::format("page{}", i % 7);
        const std::string bytes = fmt::format("{} {}", t, i);
        EXPECT_EQ(client.Put(name, bytes).error, 0);
        const std::string now = client.Contents(name);
        EXPECT_NE(now, "errno 116") << "ESTALE reached a program";
        if (i % 11 == 0) client.Unlink(name);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(state().tier->GetStats().holds, 0u);
  EXPECT_EQ(state().tier->GetStats().drafts, 0u);
  EXPECT_EQ(state().meta->GetStats().pages, state().tier->GetStats().pages);
}

}  // namespace
}  // namespace kvpagefs
