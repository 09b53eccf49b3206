// Pages move between memory and SSD, and nobody who uses files notices.
#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "tests/mount/ssd_fixture.h"

namespace kvpagefs::mount_test {
namespace {

using SsdTiering = SsdTest;

// Four times as much as memory holds.
TEST_F(SsdTiering, MorePagesThanMemoryHolds) {
  StartSsdNode();
  KVP_RETURN_IF_NOT_RUNNING();
  WritePages(0, 128);
  EXPECT_EQ(CountRight(0, 128), 128u);
  EXPECT_GT(Number("fetches"), 90u);
  EXPECT_EQ(Number("names_dropped"), 0u);
  EXPECT_EQ(Number("ssd_quarantined_pages"), 0u);
}

TEST_F(SsdTiering, WhatShowsWhereAPageIs) {
  StartSsdNode();
  KVP_RETURN_IF_NOT_RUNNING();
  WritePages(0, 1);
  ASSERT_TRUE(WaitUntilSpilled(1));
  EXPECT_EQ(Xattr(Name(0), "user.kvpagefs.tier"), "memory");
  EXPECT_TRUE(Xattr(Name(0), "user.kvpagefs.replicas").ends_with(":ssd"));
  WritePages(1, 65);
  EXPECT_EQ(Xattr(Name(0), "user.kvpagefs.tier"), "ssd");
  EXPECT_EQ(Xattr(Name(0), "user.kvpagefs.replicas").find(":memory"), std::string::npos);
  const struct stat cold = StatOf(Path(Name(0)));
  EXPECT_EQ(cold.st_size, static_cast<off_t>(kPageBytes));
  EXPECT_EQ(cold.st_blocks, static_cast<blkcnt_t>(kPageBytes / 512));
  EXPECT_EQ(CountRight(0, 1), 1u);
  struct statvfs space{};
  ASSERT_EQ(statvfs(node_->dir().c_str(), &space), 0);
  EXPECT_EQ(space.f_blocks * space.f_frsize, (32 + 256) * (uint64_t{1} << 20));
}

TEST_F(SsdTiering, ConcurrentOpensAreOneRead) {
  StartSsdNode();
  KVP_RETURN_IF_NOT_RUNNING();
  WritePages(0, 100);
  const uint64_t before = Number("ssd_read_pages");
  std::vector<Peer> peers;
  for (int i = 0; i < 8; ++i) peers.emplace_back([](const std::string& path) { return CheckPage(0, Contents(path)); });
  for (Peer& peer : peers) peer.Send(Path(Name(0)));
  for (Peer& peer : peers) EXPECT_EQ(peer.Receive(), "");
  EXPECT_EQ(Number("ssd_read_pages"), before + 1);
}

TEST_F(SsdTiering, ManyReadersOfColdPages) {
  StartSsdNode();
  KVP_RETURN_IF_NOT_RUNNING();
  WritePages(0, 128);
  std::vector<Peer> peers;
  for (size_t p = 0; p < 8; ++p) {
    peers.emplace_back([p, dir = node_->dir()](const std::string&) {
      for (size_t i = 0; i < 64; ++i) {
        const size_t page = (i * 37 + p * 16) % 128;
        const std::string wrong = CheckPage(page, Contents(dir + "/page-" + std::to_string(page)));
        if (!wrong.empty()) return std::to_string(page) + ": " + wrong;
      }
      return std::string();
    });
  }
  for (Peer& peer : peers) peer.Send("go");
  for (Peer& peer : peers) EXPECT_EQ(peer.Receive(), "");
}

TEST_F(SsdTiering, ChangesOfAColdPage) {
  StartSsdNode();
  KVP_RETURN_IF_NOT_RUNNING();
  WritePages(0, 100);
  std::string expected = MakePage(0, 1, kPageBytes);
  {
    Fd fd = Open(Path(Name(0)), O_RDWR);
    ASSERT_TRUE(fd) << Value(fd.result());
    ASSERT_EQ(WriteAll(fd.get(), "changed", 1000), 0);
    expected.replace(1000, 7, "changed");
    ASSERT_EQ(fd.Close(), 0);
  }
  EXPECT_EQ(Contents(Path(Name(0))), expected);
  ASSERT_EQ(Sys(truncate(Path(Name(1)).c_str(), 500)), 0);
  EXPECT_EQ(Contents(Path(Name(1))), MakePage(1, 1, kPageBytes).substr(0, 500));
  {
    Fd fd = Open(Path(Name(2)), O_WRONLY | O_APPEND);
    ASSERT_EQ(WriteAll(fd.get(), "tail"), 0);
    ASSERT_EQ(fd.Close(), 0);
  }
  EXPECT_EQ(Contents(Path(Name(2))), MakePage(2, 1, kPageBytes) + "tail");
}

TEST_F(SsdTiering, UnlinkedAndRenamedWhileCold) {
  StartSsdNode();
  KVP_RETURN_IF_NOT_RUNNING();
  WritePages(0, 100);
  Fd open_file = Open(Path(Name(0)), O_RDONLY);
  ASSERT_EQ(Sys(unlink(Path(Name(0)).c_str())), 0);
  EXPECT_EQ(Value(SizeOf(Path(Name(0)))), "ENOENT");
  EXPECT_EQ(CheckPage(0, ReadDescriptor(open_file.get())), "");
  open_file.Close();
  ASSERT_EQ(Sys(rename(Path(Name(1)).c_str(), Path(Name(2)).c_str())), 0);
  EXPECT_EQ(CheckPage(1, Contents(Path(Name(2)))), "");
  EXPECT_TRUE(WaitUntil([&] { return Number("ssd_pages") <= 98; }, Seconds(20)));
}

// Pages read once from SSD push out each other, not the one that is read again and again.
TEST_F(SsdTiering, AScanOfTheSsdLeavesTheHotPagesAlone) {
  StartSsdNode({.memory = "64MiB", .ssd = "512MiB", .more = {}, .dir = ""});
  KVP_RETURN_IF_NOT_RUNNING();
  WritePages(0, 200);
  for (int round = 0; round < 3; ++round) EXPECT_EQ(CountRight(0, 4), 4u);
  const uint64_t before = Number("fetches");
  for (size_t i = 8; i < 140; ++i) {
    ASSERT_EQ(CountRight(i, i + 1), 1u);
  }
  EXPECT_GT(Number("fetches"), before + 100);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(Xattr(Name(i), "user.kvpagefs.tier"), "memory") << i;
}

TEST_F(SsdTiering, OnEvictWritesOnlyWhenMemoryRunsShort) {
  StartSsdNode({.memory = "32MiB", .ssd = "256MiB", .more = {"--spill", "on-evict"}, .dir = ""});
  KVP_RETURN_IF_NOT_RUNNING();
  WritePages(0, 16);
  EXPECT_EQ(Number("ssd_pages"), 0u);
  EXPECT_EQ(Number("spill_queued_pages"), 16u);
  WritePages(16, 64);
  EXPECT_GT(Number("ssd_pages"), 16u);
  EXPECT_EQ(CountRight(0, 64), 64u);
  StopNode();
  StartSsdNode();
  EXPECT_EQ(CountRight(0, 64), 64u) << "a stop writes the rest";
}

TEST_F(SsdTiering, OffReadsWhatIsThereAndWritesNothing) {
  StartSsdNode();
  KVP_RETURN_IF_NOT_RUNNING();
  WritePages(0, 8);
  StopNode();
  StartSsdNode({.memory = "32MiB", .ssd = "256MiB", .more = {"--spill", "off"}, .dir = ""});
  EXPECT_EQ(CountRight(0, 8), 8u);
  WritePages(8, 64);
  EXPECT_EQ(Number("ssd_pages"), 8u);
  EXPECT_EQ(CountRight(0, 8), 8u);
}

TEST_F(SsdTiering, OldestPagesGoWhenTheSsdIsFullAndPinnedOnesStay) {
  StartSsdNode();
  KVP_RETURN_IF_NOT_RUNNING();
  WritePages(0, 2);
  ASSERT_EQ(setxattr(Path(Name(0)).c_str(), "user.kvpagefs.pin", "soft", 4, 0), 0);
  for (size_t i = 2; i < 600; i += 8) {
    WritePages(i, i + 8);
    ASSERT_LE(Number("ssd_file_bytes"), Number("ssd_capacity_bytes"));
  }
  EXPECT_EQ(CountRight(0, 1), 1u) << "pinned";
  const size_t right = CountRight(2, 600);
  EXPECT_GT(right, 150u);
  EXPECT_LT(right, 290u);
  EXPECT_GT(Number("ssd_reclaimed_regions"), 3u);
}

}  // namespace
}  // namespace kvpagefs::mount_test
