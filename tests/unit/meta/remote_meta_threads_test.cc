// Stopping, and many threads at a time.
#include <atomic>
#include <thread>

#include "unit/meta/remote_meta_fixture.h"

namespace kvpagefs {
namespace {

using testing::ClientNode;
using testing::WaitFor;

class RemoteMetaThreadsTest : public testing::RemoteMetaFixture {};

TEST_F(RemoteMetaThreadsTest, AStopAnswersWhatIsUnderWay) {
  const auto node = Join("a");
  ClientNode& a = *node;
  const PageInfo page = a.Put("x", 1);
  for (const MetaMethod method : {MetaMethod::kLookup, MetaMethod::kFindPage, MetaMethod::kPublish, MetaMethod::kUnlink,
                                  MetaMethod::kRename, MetaMethod::kSync}) {
    service_.counting().Hold(method);
  }
  auto lookup = ClientNode::Begin<EntryInfo>([&](auto done) { a->Lookup({kRootDir, "y"}, done); });
  auto locate = ClientNode::Begin<Replicas>([&](auto done) { a->Locate(PageId::Make(9, 9), done); });
  auto publish = ClientNode::Begin<Namespace::Outcome>(
      [&](auto done) { a->Publish({kRootDir, "z"}, a.NewPage(2), {}, false, done); });
  auto unlink = ClientNode::Begin<PageInfo>([&](auto done) { a->Unlink({kRootDir, "x"}, done); });
  auto rename = ClientNode::Begin<Namespace::Outcome>(
      [&](auto done) { a->Rename({kRootDir, "x"}, {kRootDir, "w"}, Namespace::RenameMode::kReplace, done); });
  auto sync = ClientNode::Begin<void>([&](auto done) { a->Sync(done); });
  ASSERT_TRUE(WaitFor([&] { return service_.counting().held() == 6; }));
  a->Stop();
  EXPECT_EQ(net_test::Await(std::move(lookup)).code(), ErrorCode::kNotFound);
  EXPECT_EQ(net_test::Await(std::move(locate)).code(), ErrorCode::kUnavailable);
  EXPECT_TRUE(net_test::Await(std::move(publish)).ok()) << "kept";
  EXPECT_EQ(net_test::Await(std::move(unlink)).code(), ErrorCode::kUnavailable);
  EXPECT_EQ(net_test::Await(std::move(rename)).code(), ErrorCode::kUnavailable);
  EXPECT_EQ(net_test::Await(std::move(sync)).code(), ErrorCode::kUnavailable);
  EXPECT_EQ(a.Find("x"), page.id);
  EXPECT_FALSE(a->connected());
  a->Stop();
}

TEST_F(RemoteMetaThreadsTest, StopWhileTheServiceIsGone) {
  const auto node = Join("a");
  StopService(*node);
  (void)node->Put("x", 1);
  (*node)->Stop();
  ClientNode never(service_, "b");
  never.Start();
  EXPECT_FALSE(never->WaitUntilJoined(1));
  never->Stop();
  const ClientNode not_even_started(service_, "c");
}

TEST_F(RemoteMetaThreadsTest, StopsAmidCallsOfManyThreads) {
  for (int round = 0; round < 5; ++round) {
    ClientNode node(service_, "a" + std::to_string(round));
    node.Start();
    ASSERT_TRUE(node->WaitUntilJoined(60'000));
    std::atomic<bool> stopped{false};
    std::atomic<int> begun{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        const std::string name = "n" + std::to_string(round * 10 + t);
        for (uint64_t i = 1; !stopped; ++i) {
          const PageInfo page = node.Put(name, i);
          ++begun;
          (void)node.Lookup(name);
          (void)node.Lookup("nobody's");
          node->NoteHeld(page.id, kMemoryTier);
          EXPECT_TRUE(node.Drop({page.id}).ok());
        }
      });
    }
    EXPECT_TRUE(WaitFor([&] { return begun > 20; }));
    node->Stop();
    const int at_the_stop = begun;
    EXPECT_TRUE(WaitFor([&] { return begun > at_the_stop + 20; })) << "answered here";
    stopped = true;
    for (std::thread& thread : threads) thread.join();
  }
}

TEST_F(RemoteMetaThreadsTest, ACallWithoutAnAnswerEnds) {
  const auto node = Join("a", 50);
  service_.counting().Hold(MetaMethod::kLookup);
  EXPECT_EQ(node->Lookup("x").code(), ErrorCode::kNotFound);
}

// Two nodes and a few names that all of their threads want.
class TwoNodes : public RemoteMetaThreadsTest {
 protected:
  static constexpr int kNames = 4;
  static std::string NameOf(uint64_t i) { return "n" + std::to_string(i % kNames); }

  void Run(ClientNode* node, uint64_t seed) {
    std::minstd_rand random(static_cast<uint32_t>(seed));
    for (uint64_t i = 0; i < 150; ++i) {
      const std::string name = NameOf(random());
      switch (random() % 6) {
        case 0: Publish(node, name, seed * 1000 + i); break;
        case 1: Publish(node, name, 1 + random() % 3); break;
        case 2: (void)node->Lookup(name); break;
        case 3: Copy(node, name); break;
        case 4: EXPECT_TRUE(node->Drop({node->Put(name, seed * 1000 + i).id}).ok()); break;
        default: {
          if (random() % 2 == 0) {
            (void)node->Unlink(name);
          } else {
            (void)node->Rename(name, NameOf(random()));
          }
        }
      }
    }
  }
  static void Publish(ClientNode* node, const std::string& name, uint64_t content) {
    const auto outcome = node->Publish(name, node->NewPage(content));
    EXPECT_TRUE(outcome.ok()) << outcome.error().Describe();
  }
  // As a fetch does.
  static void Copy(ClientNode* node, const std::string& name) {
    const PageId id = node->Find(name);
    if (id.valid()) (*node)->NoteHeld(id, kMemoryTier);
  }
  // What the service says, asked by somebody who remembers nothing.
  static std::map<std::string, uint64_t> NamesOf(ClientNode* node) {
    std::map<std::string, uint64_t> names;
    for (uint64_t i = 0; i < kNames; ++i) {
      const PageId id = node->Find(NameOf(i));
      if (id.valid()) names[NameOf(i)] = id.value;
    }
    return names;
  }
};

TEST_F(TwoNodes, AgreeInTheEnd) {
  const auto a = Join("a");
  const auto b = Join("b");
  std::vector<std::thread> threads;
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    threads.emplace_back([&, seed] { Run(a.get(), seed); });
    threads.emplace_back([&, seed] { Run(b.get(), seed + 100); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto* node : {&a, &b}) (*node)->WaitUntilTold();
  const auto stranger = Join("c");
  const auto names = NamesOf(stranger.get());
  EXPECT_EQ(NamesOf(a.get()), names) << "R1";
  EXPECT_EQ(NamesOf(b.get()), names) << "R1";
}

}  // namespace
}  // namespace kvpagefs
