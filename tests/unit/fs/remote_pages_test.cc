#include "fs/remote_pages.h"

#include <thread>

#include "remote_pages_fixture.h"

namespace kvpagefs {
namespace {

TEST_F(RemotePagesTest, Sizes) {
  uint64_t counter = 1;
  for (const uint64_t bytes : {0u, 1u, 4095u, 4096u, 4097u, 1u << 20}) {
    const std::string content = Pattern(bytes, ++counter);
    const FetchedPage page = PageOf(counter, content);
    nodes_[2]->Put(page.id, content);
    cluster_.SetReplicas(page.id, {{2, kMemoryTier}});
    RemoteRead read = Start(page);
    ASSERT_TRUE(net_test::Await(std::move(read.ended)).ok()) << bytes;
    EXPECT_EQ(read.memory->substr(0, bytes), content);
    EXPECT_EQ(read.memory->substr(bytes), std::string(read.memory->size() - bytes, '-')) << "nothing behind the end";
  }
  EXPECT_EQ(Count(Counter::kRemoteFetches), 6u);
  EXPECT_EQ(nodes_[2]->served(), 6u);
}

TEST_F(RemotePagesTest, MemoryBeforeSsd) {
  const FetchedPage page = PageOf(1, "bytes");
  for (auto& [number, node] : nodes_) node->Put(page.id, "bytes");
  cluster_.SetReplicas(page.id, {{2, kSsdTier}, {3, kSsdTier}, {4, kBothTiers}});
  for (int i = 0; i < 5; ++i) EXPECT_EQ(Fetch(page), "bytes");
  EXPECT_EQ(nodes_[4]->served(), 5u);
  EXPECT_EQ(cluster_.forgotten(), 0);
}

TEST_F(RemotePagesTest, LessLoadedFirst) {
  const FetchedPage busy = PageOf(1, "busy");
  nodes_[2]->Put(busy.id, "busy");
  cluster_.SetReplicas(busy.id, {{2, kMemoryTier}});
  nodes_[2]->SetSilent(true);
  RemoteRead waiting = Start(busy);
  ASSERT_TRUE(WaitFor([&] { return nodes_[2]->waiting() == 1; }));
  EXPECT_EQ(peers_.load(2), 1u);
  EXPECT_EQ(peers_.load(3), 0u);
  const FetchedPage page = PageOf(2, "bytes");
  nodes_[3]->Put(page.id, "bytes");
  cluster_.SetReplicas(page.id, {{2, kMemoryTier}, {3, kMemoryTier}});
  EXPECT_EQ(Fetch(page), "bytes");
  EXPECT_EQ(nodes_[2]->asked(), 1);
  nodes_[2]->Release();
  EXPECT_TRUE(net_test::Await(std::move(waiting.ended)).ok());
  EXPECT_EQ(peers_.load(2), 0u);
}

TEST_F(RemotePagesTest, WrongBytesFromOneCopy) {
  const std::string content = Pattern(10'000, 1);
  const FetchedPage page = PageOf(1, content);
  nodes_[2]->PutWrong(page);
  nodes_[3]->Put(page.id, content);
  cluster_.SetReplicas(page.id, {{2, kMemoryTier}, {3, kSsdTier}});
  EXPECT_EQ(Fetch(page), content);
  EXPECT_EQ(Count(Counter::kRemoteWrongBytes), 1u);
  EXPECT_EQ(Count(Counter::kRemoteFetches), 1u);
}

TEST_F(RemotePagesTest, ACopyThatIsGoneOrAnotherPage) {
  const FetchedPage page = PageOf(1, "bytes");
  nodes_[2]->Put(page.id, "other bytes");
  nodes_[4]->Put(page.id, "bytes");
  cluster_.SetReplicas(page.id, {{2, kBothTiers}, {3, kMemoryTier}, {4, kSsdTier}});
  EXPECT_EQ(Fetch(page), "bytes");
  EXPECT_EQ(Count(Counter::kRemoteFailures), 2u);
}

TEST_F(RemotePagesTest, ADeadNode) {
  const FetchedPage page = PageOf(1, "bytes");
  nodes_[3]->Put(page.id, "bytes");
  nodes_[2]->Close();
  cluster_.SetReplicas(page.id, {{2, kMemoryTier}, {3, kSsdTier}});
  EXPECT_EQ(Fetch(page, 4'000), "bytes");
}

TEST_F(RemotePagesTest, ASilentNode) {
  const FetchedPage page = PageOf(1, "bytes");
  nodes_[2]->Put(page.id, "bytes");
  nodes_[2]->SetSilent(true);
  nodes_[3]->Put(page.id, "bytes");
  cluster_.SetReplicas(page.id, {{2, kMemoryTier}, {3, kSsdTier}});
  EXPECT_EQ(Fetch(page, 4'000), "bytes");
  EXPECT_EQ(nodes_[2]->asked(), 1);
  EXPECT_EQ(Count(Counter::kRemoteFailures), 1u);
}

TEST_F(RemotePagesTest, ANodeWithoutAnAddress) {
  const FetchedPage page = PageOf(1, "bytes");
  nodes_[3]->Put(page.id, "bytes");
  cluster_.SetReplicas(page.id, {{77, kMemoryTier}, {3, kSsdTier}});
  EXPECT_EQ(Fetch(page), "bytes");
}

TEST_F(RemotePagesTest, NoCopy) {
  const FetchedPage page = PageOf(1, "bytes");
  EXPECT_EQ(Fetch(page), NotFound());
  EXPECT_EQ(cluster_.locates(), 2) << "asked once more, because copies move";
  cluster_.SetReplicas(page.id, {{2, kMemoryTier}, {3, kMemoryTier}});
  EXPECT_EQ(Fetch(page), NotFound());
  EXPECT_EQ(nodes_[2]->asked() + nodes_[3]->asked(), 2) << "nobody is asked twice";
  cluster_.SetReachable(false);
  EXPECT_EQ(Fetch(page), NotFound());
}

TEST_F(RemotePagesTest, TheCopyHasMoved) {
  const FetchedPage page = PageOf(1, "bytes");
  nodes_[4]->Put(page.id, "bytes");
  cluster_.SetReplicas(page.id, {{2, kMemoryTier}});
  cluster_.SetMoved(page.id, {{2, kMemoryTier}, {4, kMemoryTier}});
  EXPECT_EQ(Fetch(page), "bytes");
  EXPECT_EQ(cluster_.forgotten(), 1);
  EXPECT_EQ(nodes_[2]->asked(), 1);
}

TEST_F(RemotePagesTest, TheDeadline) {
  const FetchedPage page = PageOf(1, "bytes");
  nodes_[2]->Put(page.id, "bytes");
  cluster_.SetReplicas(page.id, {{2, kMemoryTier}});
  EXPECT_EQ(Fetch(page, 0), NotFound());
  EXPECT_EQ(nodes_[2]->asked(), 0) << "too late before it began";
  nodes_[2]->SetSilent(true);
  RemoteRead late = Start(page, 300);
  EXPECT_EQ(net_test::Await(std::move(late.ended)).code(), ErrorCode::kNotFound);
  late.memory.reset();
  EXPECT_TRUE(WaitFor([&] { return late.kept.expired(); })) << "nobody holds the memory any more";
}

TEST_F(RemotePagesTest, ManyAtATime) {
  constexpr uint64_t kPages = 24;
  std::vector<FetchedPage> pages;
  std::vector<std::string> contents;
  for (uint64_t i = 0; i < kPages; ++i) {
    contents.push_back(Pattern(i * 9'973 % 300'000, i + 1));
    pages.push_back(PageOf(i + 1, contents.back()));
    for (auto& [number, node] : nodes_) node->Put(pages.back().id, contents.back());
    cluster_.SetReplicas(pages.back().id, {{2, kMemoryTier}, {3, kMemoryTier}, {4, kMemoryTier}});
  }
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < 3; ++round) {
        std::vector<RemoteRead> reads;
        for (uint64_t i = 0; i < kPages; ++i) reads.push_back(Start(pages[(i + t) % kPages]));
        for (uint64_t i = 0; i < kPages; ++i) {
          const std::string& content = contents[(i + t) % kPages];
          EXPECT_TRUE(net_test::Await(std::move(reads[i].ended)).ok());
          EXPECT_EQ(reads[i].memory->substr(0, content.size()), content);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Count(Counter::kRemoteFetches), 4 * 3 * kPages);
  for (auto& [number, node] : nodes_) {
    EXPECT_GT(node->served(), 0u);
    EXPECT_EQ(peers_.load(number), 0u);
  }
}

TEST_F(RemotePagesTest, AnAddressThatChanges) {
  const FetchedPage page = PageOf(1, "bytes");
  nodes_[2]->Put(page.id, "bytes");
  cluster_.SetReplicas(page.id, {{2, kMemoryTier}});
  EXPECT_EQ(Fetch(page), "bytes");
  const std::string before = nodes_[2]->address();
  nodes_[2]->Close();
  nodes_[3]->Close();
  nodes_[2]->Listen();
  if (nodes_[2]->address() == before) GTEST_SKIP() << "the system gave the same port again";
  cluster_.SetMember(2, nodes_[2]->address());
  EXPECT_EQ(Fetch(page), "bytes");
  peers_.Prune();
  EXPECT_EQ(Fetch(page), "bytes");
}

TEST_F(RemotePagesTest, PruneLetsGoOfThoseThatLeft) {
  const FetchedPage page = PageOf(1, "bytes");
  nodes_[2]->Put(page.id, "bytes");
  nodes_[2]->SetSilent(true);
  cluster_.SetReplicas(page.id, {{2, kMemoryTier}});
  RemoteRead read = Start(page);
  ASSERT_TRUE(WaitFor([&] { return nodes_[2]->waiting() == 1; }));
  peers_.Prune();
  EXPECT_EQ(peers_.load(2), 1u) << "a member";
  cluster_.SetMember(2, nodes_[2]->address(), "down");
  peers_.Prune();
  EXPECT_EQ(net_test::Await(std::move(read.ended)).code(), ErrorCode::kNotFound);
  EXPECT_EQ(peers_.load(2), 0u);
  cluster_.SetMember(2, nodes_[2]->address());
  nodes_[2]->Release();
  EXPECT_EQ(Fetch(page), "bytes") << "and it may come back";
}

TEST_F(RemotePagesTest, AStopEndsWhatIsUnderWay) {
  const std::string content = Pattern(100'000, 1);
  const FetchedPage page = PageOf(1, content);
  nodes_[2]->Put(page.id, content);
  nodes_[2]->SetSilent(true);
  nodes_[3]->Close();
  const FetchedPage connecting = PageOf(2, "bytes");
  cluster_.SetReplicas(page.id, {{2, kMemoryTier}});
  cluster_.SetReplicas(connecting.id, {{3, kMemoryTier}});
  std::vector<RemoteRead> reads;
  for (int i = 0; i < 8; ++i) reads.push_back(Start(page));
  reads.push_back(Start(connecting));
  ASSERT_TRUE(WaitFor([&] { return nodes_[2]->waiting() == 8; }));
  peers_.Stop();
  for (RemoteRead& read : reads) {
    EXPECT_EQ(net_test::Await(std::move(read.ended)).code(), ErrorCode::kNotFound);
    EXPECT_EQ(read.memory.use_count(), 1) << "nobody holds the memory any more";
  }
  nodes_[2]->Release();
  for (const RemoteRead& read : reads) EXPECT_EQ(read.memory->find_first_not_of('-'), std::string::npos);
  EXPECT_EQ(Fetch(page), NotFound());
}

TEST_F(RemotePagesTest, StopsAmidManyReads) {
  const std::string content = Pattern(200'000, 1);
  const FetchedPage page = PageOf(1, content);
  for (auto& [number, node] : nodes_) node->Put(page.id, content);
  cluster_.SetReplicas(page.id, {{2, kMemoryTier}, {3, kMemoryTier}, {4, kMemoryTier}});
  std::atomic<int> good{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (;;) {
        const std::string got = Fetch(page);
        if (got == NotFound()) return;
        EXPECT_TRUE(got == content);
        ++good;
      }
    });
  }
  EXPECT_TRUE(WaitFor([&] { return good > 50; }));
  peers_.Stop();
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace kvpagefs
