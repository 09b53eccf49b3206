// What happens when a node or the metadata daemon dies, stops or comes back (ARCHITECTURE.md, "Failures").
#include <algorithm>
#include <csignal>

#include <sys/mount.h>

#include "tests/mount/cluster_fixture.h"

namespace kvpagefs::mount_test {
namespace {

class ClusterFaults : public ClusterTest {
 protected:
  ClusterFaults() { timeout_ms_ = 2'000; }

  // Of any test here; how long a failure takes is said by the time-outs.
  static constexpr double kDeadlineSeconds = 60;

  bool EventuallyHas(size_t node, size_t begin, size_t end) {
    return WaitUntil(
        [&] {
          for (size_t i = begin; i < end; ++i) {
            int64_t error = 0;
            if (CheckPage(i, ReadFile(Path(node, Name(i)), &error)) != "" || error != 0) return false;
          }
          return true;
        },
        Seconds(kDeadlineSeconds));
  }
  bool EventuallyConnected(size_t node) {
    return WaitUntil([&] { return Connected(node); }, Seconds(kDeadlineSeconds));
  }
};

TEST_F(ClusterFaults, PagesOfAKilledNodeAreMisses) {
  StartCluster(3);
  KVP_RETURN_IF_NOT_RUNNING();
  Write(0, 0, 10);
  Write(1, 10, 20);
  EXPECT_EQ(CountRight(2, 0, 3), 3u) << "copies that outlive their owner";
  // Registered: otherwise the owner's death takes the names along.
  ASSERT_TRUE(WaitUntil([&] { return Xattr(1, Name(2), "user.kvpagefs.replicas").find("n3:") != std::string::npos; },
                        Seconds(20)));
  KillNode(0);
  EXPECT_TRUE(WaitUntil([&] { return List(nodes_[1]->dir()).size() == 13; }, Seconds(kDeadlineSeconds)));
  EXPECT_EQ(CountRight(1, 0, 20), 13u);
  EXPECT_EQ(CountRight(2, 0, 20), 13u);
  // The names are free.
  Write(1, 5, 10, 2);
  EXPECT_EQ(CountRight(2, 0, 20), 18u);
}

TEST_F(ClusterFaults, ARestartedNodeBringsItsSsdPagesBack) {
  StartCluster(0);
  KVP_RETURN_IF_NOT_RUNNING();
  StartNode(0, SsdArguments(0));
  StartNode(1, {});
  KVP_RETURN_IF_NOT_RUNNING();
  Write(0, 0, 20);
  ASSERT_TRUE(WaitUntil([&] { return Number(0, "ssd_pages") == 20; }, Seconds(kDeadlineSeconds)));
  KillNode(0);
  // Deleted and replaced while it was away.
  ASSERT_EQ(Sys(unlink(Path(1, Name(3)).c_str())), 0);
  Write(1, 4, 5, 2);
  StartNode(0, SsdArguments(0));
  KVP_RETURN_IF_NOT_RUNNING();
  EXPECT_TRUE(EventuallyHas(1, 5, 20));
  EXPECT_TRUE(EventuallyHas(1, 0, 3));
  EXPECT_EQ(Open(Path(1, Name(3)), O_RDONLY).result(), -ENOENT);
  EXPECT_EQ(Open(Path(0, Name(3)), O_RDONLY).result(), -ENOENT);
  EXPECT_TRUE(Contents(Path(0, Name(4))) == MakePage(4, 2, kPageBytes));
}

TEST_F(ClusterFaults, AMetadataDaemonWithoutAStoreIsRebuiltByTheNodes) {
  StartCluster(2);
  KVP_RETURN_IF_NOT_RUNNING();
  ASSERT_EQ(Sys(mkdir(Path(0, "d").c_str(), 0755)), 0);
  ASSERT_EQ(Value(WriteFile(Path(0, "d/page"), "bytes")), "0");
  Write(0, 0, 10);
  Write(1, 10, 20);
  meta_->Kill();
  ASSERT_EQ(meta_->Start(), "");
  EXPECT_TRUE(EventuallyHas(0, 0, 20));
  EXPECT_TRUE(EventuallyHas(1, 0, 20));
  EXPECT_TRUE(WaitUntil([&] { return Contents(Path(1, "d/page")) == "bytes"; }, Seconds(kDeadlineSeconds)));
  EXPECT_EQ(Contents(Path(0, "d/page")), "bytes");
  EXPECT_EQ(List(nodes_[1]->dir()).size(), 21u);
  Write(1, 20, 22);
  EXPECT_EQ(CountRight(0, 0, 22), 22u);
}

TEST_F(ClusterFaults, WithItsStoreNothingDeletedComesBack) {
  StartCluster(0);
  KVP_RETURN_IF_NOT_RUNNING();
  meta_ = std::make_unique<MetaProcess>(
      test_options_, std::vector<std::string>{"--heartbeat", "200ms", "--node-timeout", "2s", "--state-dir",
                                              scratch_.path() + "/meta"});
  ASSERT_EQ(meta_->Start(), "");
  StartNode(0, SsdArguments(0));
  StartNode(1, {});
  KVP_RETURN_IF_NOT_RUNNING();
  Write(0, 0, 20);
  ASSERT_TRUE(WaitUntil([&] { return Number(0, "ssd_pages") == 20; }, Seconds(kDeadlineSeconds)));
  // One whose pages cannot be told of now.
  KillNode(0);
  for (size_t i = 0; i < 5; ++i) ASSERT_EQ(Sys(unlink(Path(1, Name(i)).c_str())), 0) << i;
  const Fd dir = Open(nodes_[1]->dir(), O_RDONLY | O_DIRECTORY);
  ASSERT_EQ(Sys(fsync(dir.get())), 0);
  meta_->Kill();
  ASSERT_EQ(meta_->Start(), "");
  StartNode(0, SsdArguments(0));
  KVP_RETURN_IF_NOT_RUNNING();
  EXPECT_TRUE(EventuallyConnected(1));
  EXPECT_TRUE(EventuallyHas(1, 5, 20));
  EXPECT_EQ(CountRight(0, 0, 20), 15u);
  EXPECT_EQ(CountRight(1, 0, 20), 15u);
}

TEST_F(ClusterFaults, WithoutTheMetadataDaemonANodeGoesOn) {
  StartCluster(2);
  KVP_RETURN_IF_NOT_RUNNING();
  Write(0, 0, 5);
  ASSERT_EQ(Sys(mkdir(Path(0, "d").c_str(), 0755)), 0);
  meta_->Kill();
  ASSERT_TRUE(WaitUntil([&] { return !Connected(0) && !Connected(1); }, Seconds(kDeadlineSeconds)));
  EXPECT_EQ(nodes_[0]->Status()["state"], "degraded");
  EXPECT_EQ(CountRight(0, 0, 5), 5u) << "its own pages";
  EXPECT_EQ(Open(Path(1, Name(0)), O_RDONLY).result(), -ENOENT) << "what it does not have is a miss";
  EXPECT_EQ(Open(Path(0, "unknown"), O_RDONLY).result(), -ENOENT);
  // New pages are kept, and published later.
  Write(0, 5, 10);
  ASSERT_EQ(Value(WriteFile(Path(0, "d/page.tmp"), "bytes")), "0");
  ASSERT_EQ(Sys(rename(Path(0, "d/page.tmp").c_str(), Path(0, "d/page").c_str())), 0);
  EXPECT_EQ(CountRight(0, 0, 10), 10u);
  ASSERT_EQ(meta_->Start(), "");
  EXPECT_TRUE(EventuallyHas(1, 0, 10));
  EXPECT_TRUE(WaitUntil([&] { return Contents(Path(1, "d/page")) == "bytes"; }, Seconds(kDeadlineSeconds)));
  EXPECT_TRUE(WaitUntil([&] { return nodes_[0]->Status()["state"] == "serving"; }, Seconds(kDeadlineSeconds)));
}

TEST_F(ClusterFaults, AStoppedMetadataDaemonTakesNobodyForDead) {
  StartCluster(2);
  KVP_RETURN_IF_NOT_RUNNING();
  Write(0, 0, 10);
  Write(1, 10, 20);
  meta_->Pause();
  // Both notice; more than enough for every time-out to have passed.
  EXPECT_TRUE(WaitUntil([&] { return !Connected(0) && !Connected(1); }, Seconds(kDeadlineSeconds)));
  EXPECT_EQ(CountRight(0, 0, 10), 10u);
  meta_->Resume();
  EXPECT_TRUE(EventuallyConnected(0));
  EXPECT_TRUE(EventuallyConnected(1));
  EXPECT_TRUE(EventuallyHas(0, 0, 20));
  EXPECT_TRUE(EventuallyHas(1, 0, 20));
}

TEST_F(ClusterFaults, AStoppedNodeHoldsUpNobody) {
  StartCluster(3);
  KVP_RETURN_IF_NOT_RUNNING();
  Write(0, 0, 10);
  Write(1, 10, 20);
  EXPECT_EQ(CountRight(1, 0, 3), 3u);
  ASSERT_TRUE(WaitUntil([&] { return Xattr(1, Name(2), "user.kvpagefs.replicas").find("n2:") != std::string::npos; },
                        Seconds(20)));
  kill(nodes_[0]->pid(), SIGSTOP);
  // Who deletes its pages does not wait for it for long.
  ASSERT_EQ(Sys(unlink(Path(1, Name(7)).c_str())), 0);
  // The other copies, and the other node.
  EXPECT_EQ(CountRight(2, 0, 3), 3u);
  EXPECT_EQ(CountRight(2, 10, 20), 10u);
  // Nothing else to be had from it: misses, within the deadline.
  const Stopwatch watch;
  EXPECT_EQ(Open(Path(2, Name(5)), O_RDONLY).result(), -ENOENT);
  EXPECT_LT(watch.seconds(), 30);
  // The deleted page is gone when the node is back.
  kill(nodes_[0]->pid(), SIGCONT);
  EXPECT_TRUE(EventuallyConnected(0));
  EXPECT_TRUE(WaitUntil([&] { return Open(Path(0, Name(7)), O_RDONLY).result() == -ENOENT; }, Seconds(20)));
  EXPECT_EQ(Open(Path(2, Name(7)), O_RDONLY).result(), -ENOENT);
  EXPECT_TRUE(EventuallyHas(0, 10, 20));
}

TEST_F(ClusterFaults, ANodeThatLostItsLinkIsBackWithItsPages) {
  StartCluster(2);
  KVP_RETURN_IF_NOT_RUNNING();
  Write(0, 0, 10);
  for (int round = 0; round < 3; ++round) {
    kill(nodes_[0]->pid(), SIGSTOP);
    EXPECT_TRUE(WaitUntil([&] { return Contents(Path(1, ".kvpagefs/nodes")).find("n1 up") == std::string::npos; },
                          Seconds(kDeadlineSeconds)));
    kill(nodes_[0]->pid(), SIGCONT);
    EXPECT_TRUE(EventuallyHas(1, 0, 10)) << round;
  }
}

TEST_F(ClusterFaults, TheSecretIsNeeded) {
  if (const std::string why = WhyNoMount(test_options_); !why.empty()) GTEST_SKIP() << why;
  const std::string right = scratch_.path() + "/right";
  const std::string wrong = scratch_.path() + "/wrong";
  for (const std::string& path : {right, wrong}) {
    ASSERT_EQ(Value(WriteFile(path, "a secret of this cluster: " + path + "\n")), "0");
    ASSERT_EQ(Sys(chmod(path.c_str(), 0600)), 0);
  }
  meta_ = std::make_unique<MetaProcess>(test_options_, std::vector<std::string>{"--secret-file", right});
  ASSERT_EQ(meta_->Start(), "");
  StartNode(0, {"--secret-file", right});
  StartNode(1, {"--secret-file", right});
  KVP_RETURN_IF_NOT_RUNNING();
  Write(0, 0, 2);
  EXPECT_EQ(CountRight(1, 0, 2), 2u);
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{}, {"--secret-file", wrong}}) {
    NodeProcess::Options options;
    options.source = meta_->address();
    options.arguments = arguments;
    NodeProcess stranger(test_options_, options);
    const std::string problem = stranger.Start();
    EXPECT_NE(problem.find("secret"), std::string::npos) << problem;
  }
}

}  // namespace
}  // namespace kvpagefs::mount_test
