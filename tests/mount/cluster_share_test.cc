// Pages of one node on the others: close-to-open, replacement, deletion, directories, attributes.
#include "tests/mount/cluster_fixture.h"

namespace kvpagefs::mount_test {
namespace {

class ClusterShare : public ClusterTest {};

TEST_F(ClusterShare, APageIsReadOnAnotherNode) {
  StartCluster(2);
  KVP_RETURN_IF_NOT_RUNNING();
  Write(0, 0, 20);
  EXPECT_EQ(CountRight(1, 0, 20), 20u);
  EXPECT_EQ(Number(1, "remote_fetches"), 20u);
  EXPECT_EQ(Number(0, "served_pages"), 20u);
  EXPECT_EQ(Number(1, "remote_failures"), 0u);
  // Its own copy from now on.
  EXPECT_EQ(CountRight(1, 0, 20), 20u);
  EXPECT_EQ(Number(1, "remote_fetches"), 20u);
}

TEST_F(ClusterShare, EverySize) {
  StartCluster(2);
  KVP_RETURN_IF_NOT_RUNNING();
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{4095}, size_t{4096}, size_t{4097}, size_t{76 * 1024},
                             size_t{1000 * 1000}, size_t{8 << 20}}) {
    const std::string name = "bytes-" + std::to_string(bytes);
    std::string content(bytes, '\0');
    for (size_t i = 0; i < bytes; ++i) content[i] = static_cast<char>(i * 131 >> 3);
    ASSERT_EQ(Value(WriteFile(Path(0, name), content)), "0") << bytes;
    EXPECT_TRUE(Contents(Path(1, name)) == content) << bytes;
  }
}

TEST_F(ClusterShare, AReplacedPageIsGoneEverywhere) {
  StartCluster(3);
  KVP_RETURN_IF_NOT_RUNNING();
  for (uint64_t round = 1; round <= 30; ++round) {
    const size_t writer = round % 3;
    Write(writer, 0, 1, round);
    const std::string expected = MakePage(0, round, kPageBytes);
    for (size_t node = 0; node < 3; ++node) {
      int64_t error = 0;
      const std::string bytes = ReadFile(Path(node, Name(0)), &error);
      EXPECT_EQ(Value(error), "0") << "round " << round << ", node " << node;
      EXPECT_TRUE(error != 0 || bytes == expected) << "round " << round << ", node " << node;
    }
  }
}

TEST_F(ClusterShare, ADeletedPageIsGoneEverywhere) {
  StartCluster(2);
  KVP_RETURN_IF_NOT_RUNNING();
  Write(0, 0, 10);
  EXPECT_EQ(CountRight(1, 0, 10), 10u);
  for (size_t i = 0; i < 10; ++i) {
    ASSERT_EQ(Sys(unlink(Path(i % 2, Name(i)).c_str())), 0);
    EXPECT_EQ(Open(Path(0, Name(i)), O_RDONLY).result(), -ENOENT);
    EXPECT_EQ(Open(Path(1, Name(i)), O_RDONLY).result(), -ENOENT);
  }
  EXPECT_TRUE(WaitUntil([&] { return Number(0, "memory_pages") == 0 && Number(1, "memory_pages") == 0; }, Seconds(20)));
}

TEST_F(ClusterShare, AnOpenPageKeepsItsBytes) {
  StartCluster(2);
  KVP_RETURN_IF_NOT_RUNNING();
  Write(0, 0, 1);
  const Fd open = Open(Path(1, Name(0)), O_RDONLY);
  ASSERT_TRUE(open);
  ASSERT_EQ(Sys(unlink(Path(0, Name(0)).c_str())), 0);
  std::string bytes(kPageBytes, '\0');
  EXPECT_EQ(Sys(pread(open.get(), bytes.data(), bytes.size(), 0)), static_cast<int64_t>(kPageBytes));
  EXPECT_EQ(CheckPage(0, bytes), "");
}

TEST_F(ClusterShare, DirectoriesAndListings) {
  StartCluster(2);
  KVP_RETURN_IF_NOT_RUNNING();
  ASSERT_EQ(Sys(mkdir(Path(0, "d").c_str(), 0750)), 0);
  EXPECT_EQ(Sys(mkdir(Path(1, "d").c_str(), 0755)), -EEXIST);
  ASSERT_EQ(Sys(mkdir(Path(1, "d/e").c_str(), 0755)), 0);
  ASSERT_EQ(Value(WriteFile(Path(0, "d/e/page"), "bytes")), "0");
  EXPECT_EQ(Contents(Path(1, "d/e/page")), "bytes");
  EXPECT_EQ(List(Path(1, "d")), std::vector<std::string>{"e"});
  EXPECT_EQ(List(Path(0, "d/e")), std::vector<std::string>{"page"});
  EXPECT_EQ(Sys(rmdir(Path(0, "d").c_str())), -ENOTEMPTY);
  ASSERT_EQ(Sys(rename(Path(1, "d/e").c_str(), Path(1, "f").c_str())), 0);
  EXPECT_EQ(Contents(Path(0, "f/page")), "bytes");
  ASSERT_EQ(Sys(unlink(Path(0, "f/page").c_str())), 0);
  ASSERT_EQ(Sys(rmdir(Path(0, "f").c_str())), 0);
  ASSERT_EQ(Sys(rmdir(Path(0, "d").c_str())), 0);
  EXPECT_TRUE(List(nodes_[1]->dir()).empty());
}

TEST_F(ClusterShare, TemporaryNamesStayOnTheirNode) {
  StartCluster(2);
  KVP_RETURN_IF_NOT_RUNNING();
  ASSERT_EQ(Value(WriteFile(Path(0, "a.tmp.1"), "bytes")), "0");
  EXPECT_EQ(Contents(Path(0, "a.tmp.1")), "bytes");
  EXPECT_EQ(Open(Path(1, "a.tmp.1"), O_RDONLY).result(), -ENOENT);
  ASSERT_EQ(Sys(rename(Path(0, "a.tmp.1").c_str(), Path(0, "a").c_str())), 0);
  EXPECT_EQ(Contents(Path(1, "a")), "bytes");
  EXPECT_EQ(Open(Path(0, "a.tmp.1"), O_RDONLY).result(), -ENOENT);
  // A second writer's page of the same name.
  ASSERT_EQ(Value(WriteFile(Path(1, "a.tmp.2"), "other")), "0");
  ASSERT_EQ(Sys(rename(Path(1, "a.tmp.2").c_str(), Path(1, "a").c_str())), 0);
  EXPECT_EQ(Contents(Path(0, "a")), "other");
}

TEST_F(ClusterShare, AttributesAndPins) {
  StartCluster(2);
  KVP_RETURN_IF_NOT_RUNNING();
  Write(0, 0, 1);
  ASSERT_EQ(Sys(setxattr(Path(1, Name(0)).c_str(), "user.model", "llama", 5, 0)), 0);
  EXPECT_EQ(Xattr(0, Name(0), "user.model"), "llama");
  EXPECT_EQ(Xattr(0, Name(0), "user.kvpagefs.replicas"), "n1:memory");
  EXPECT_EQ(Xattr(1, Name(0), "user.kvpagefs.replicas"), "n1:memory");
  EXPECT_EQ(Xattr(1, Name(0), "user.kvpagefs.tier"), "remote");
  EXPECT_EQ(CountRight(1, 0, 1), 1u);
  EXPECT_EQ(Xattr(1, Name(0), "user.kvpagefs.replicas"), "n2:memory,n1:memory");
  EXPECT_TRUE(
      WaitUntil([&] { return Xattr(0, Name(0), "user.kvpagefs.replicas") == "n1:memory,n2:memory"; }, Seconds(20)));
  ASSERT_EQ(Sys(setxattr(Path(1, Name(0)).c_str(), "user.kvpagefs.pin", "hard", 4, 0)), 0);
  EXPECT_EQ(Xattr(0, Name(0), "user.kvpagefs.pin"), "hard");
  struct stat one{};
  struct stat two{};
  ASSERT_EQ(Sys(stat(Path(0, Name(0)).c_str(), &one)), 0);
  ASSERT_EQ(Sys(stat(Path(1, Name(0)).c_str(), &two)), 0);
  EXPECT_EQ(one.st_size, two.st_size);
  EXPECT_EQ(one.st_ino, two.st_ino);
  EXPECT_EQ(one.st_mtim.tv_nsec, two.st_mtim.tv_nsec);
}

TEST_F(ClusterShare, PagesOnAnotherNodesSsd) {
  StartCluster(0);
  KVP_RETURN_IF_NOT_RUNNING();
  StartNode(0, SsdArguments(0), "16MiB");
  StartNode(1, {});
  KVP_RETURN_IF_NOT_RUNNING();
  Write(0, 0, 48);
  ASSERT_TRUE(WaitUntil([&] { return Number(0, "ssd_pages") == 48; }, Seconds(60)));
  EXPECT_EQ(CountRight(1, 0, 48), 48u);
  EXPECT_GT(Number(0, "fetches"), 0u) << "some came from its SSD";
}

// As engines write: the spiller comes by while the name is still a temporary one.
TEST_F(ClusterShare, APageIsSpilledWhateverItsNameIs) {
  StartCluster(0);
  KVP_RETURN_IF_NOT_RUNNING();
  StartNode(0, SsdArguments(0));
  StartNode(1, {});
  KVP_RETURN_IF_NOT_RUNNING();
  ASSERT_EQ(Value(WriteFile(Path(0, "page.tmp.1"), MakePage(0, 1, kPageBytes))), "0");
  ASSERT_TRUE(WaitUntil([&] { return Number(0, "ssd_pages") == 1; }, Seconds(60)));
  ASSERT_EQ(Sys(rename(Path(0, "page.tmp.1").c_str(), Path(0, Name(0)).c_str())), 0);
  EXPECT_EQ(Xattr(1, Name(0), "user.kvpagefs.replicas"), "n1:memory,n1:ssd");
  KillNode(0);
  StartNode(0, SsdArguments(0));
  KVP_RETURN_IF_NOT_RUNNING();
  EXPECT_TRUE(WaitUntil([&] { return CheckPage(0, Contents(Path(1, Name(0)))).empty(); }, Seconds(60)));
}

TEST_F(ClusterShare, AnEvictedCopyIsNotTheLastOne) {
  StartCluster(0);
  KVP_RETURN_IF_NOT_RUNNING();
  StartNode(0, {});
  StartNode(1, {}, "16MiB");
  KVP_RETURN_IF_NOT_RUNNING();
  Write(0, 0, 32);
  EXPECT_EQ(CountRight(1, 0, 32), 32u) << "twice what fits into its memory";
  EXPECT_EQ(CountRight(0, 0, 32), 32u);
  EXPECT_EQ(List(nodes_[0]->dir()).size(), 32u);
}

TEST_F(ClusterShare, WhatIsNowhereIsAMiss) {
  StartCluster(0);
  KVP_RETURN_IF_NOT_RUNNING();
  StartNode(0, {}, "16MiB");
  StartNode(1, {});
  KVP_RETURN_IF_NOT_RUNNING();
  Write(0, 0, 32);
  const size_t left = List(nodes_[0]->dir()).size();
  EXPECT_LT(left, 17u) << "names without a copy are gone";
  EXPECT_EQ(CountRight(1, 0, 32), left);
}

TEST_F(ClusterShare, NodesShowEachOther) {
  StartCluster(2);
  KVP_RETURN_IF_NOT_RUNNING();
  EXPECT_TRUE(WaitUntil(
      [&] {
        const std::string text = Contents(Path(0, ".kvpagefs/nodes"));
        return text.find("n1 up") != std::string::npos && text.find("n2 up") != std::string::npos;
      },
      Seconds(20)))
      << Contents(Path(0, ".kvpagefs/nodes"));
  EXPECT_EQ(nodes_[0]->Status()["role"], "cluster");
}

}  // namespace
}  // namespace kvpagefs::mount_test
