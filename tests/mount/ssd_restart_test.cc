// What is on SSD is there again after a stop, a crash, and a crash under load.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>

#include "tests/mount/ssd_fixture.h"

namespace kvpagefs::mount_test {
namespace {

using SsdRestart = SsdTest;

TEST_F(SsdRestart, AfterAStopEverythingIsBack) {
  StartSsdNode();
  KVP_RETURN_IF_NOT_RUNNING();
  WritePages(0, 100);
  ASSERT_EQ(Sys(mkdir(Path("dir").c_str(), 0750)), 0);
  ASSERT_EQ(WriteFile(Path("dir/inner"), "content", 0640), 0);
  ASSERT_EQ(setxattr(Path("dir/inner").c_str(), "user.note", "mine", 4, 0), 0);
  ASSERT_EQ(setxattr(Path("dir/inner").c_str(), "user.kvpagefs.pin", "hard", 4, 0), 0);
  const struct timespec times[2] = {{0, UTIME_OMIT}, {1'700'000'000, 5}};
  ASSERT_EQ(Sys(utimensat(AT_FDCWD, Path("dir/inner").c_str(), times, 0)), 0);
  const struct stat before = StatOf(Path("dir/inner"));
  StopNode();
  StartSsdNode();
  EXPECT_EQ(CountRight(0, 100), 100u);
  EXPECT_EQ(Contents(Path("dir/inner")), "content");
  const struct stat after = StatOf(Path("dir/inner"));
  EXPECT_EQ(after.st_mode, before.st_mode);
  EXPECT_EQ(after.st_uid, before.st_uid);
  EXPECT_EQ(after.st_mtim.tv_sec, 1'700'000'000);
  EXPECT_EQ(after.st_mtim.tv_nsec, 5);
  EXPECT_EQ(after.st_ino, before.st_ino);
  EXPECT_EQ(Xattr("dir/inner", "user.note"), "mine");
  EXPECT_EQ(Xattr("dir/inner", "user.kvpagefs.pin"), "hard");
}

TEST_F(SsdRestart, AfterAKillWhatWasSyncedIsBack) {
  StartSsdNode();
  KVP_RETURN_IF_NOT_RUNNING();
  for (size_t i = 0; i < 20; ++i) {
    Fd fd = Open(Path(Name(i)), O_WRONLY | O_CREAT);
    ASSERT_EQ(WriteAll(fd.get(), MakePage(i, 1, kPageBytes)), 0);
    ASSERT_EQ(Sys(fsync(fd.get())), 0);
    ASSERT_EQ(fd.Close(), 0);
  }
  KillNode();
  StartSsdNode();
  EXPECT_EQ(CountRight(0, 20), 20u);
}

TEST_F(SsdRestart, ReplacedAndDeletedPagesStayAway) {
  StartSsdNode();
  KVP_RETURN_IF_NOT_RUNNING();
  WritePages(0, 30, /*serial=*/1);
  ASSERT_TRUE(WaitUntilSpilled(30));
  WritePages(0, 10, /*serial=*/2);
  for (size_t i = 10; i < 20; ++i) ASSERT_EQ(Sys(unlink(Path(Name(i)).c_str())), 0);
  KillNode();
  StartSsdNode();
  for (size_t i = 0; i < 10; ++i) {
    int64_t error = 0;
    const std::string bytes = ReadFile(Path(Name(i)), &error);
    if (error == 0) {
      EXPECT_EQ(bytes, MakePage(i, 2, kPageBytes)) << i;
    } else {
      EXPECT_EQ(Value(error), "ENOENT");
    }
  }
  EXPECT_EQ(CountRight(10, 20), 0u);
  EXPECT_EQ(CountRight(20, 30), 10u);
  EXPECT_EQ(List(node_->dir()).size(), CountRight(0, 30));
}

// Killed while many write, replace and delete: whatever is there afterwards is whole and right, round after round.
TEST_F(SsdRestart, KilledUnderLoad) {
  constexpr size_t kNames = 40;
  for (int round = 0; round < 4; ++round) {
    StartSsdNode();
    KVP_RETURN_IF_NOT_RUNNING();
    const size_t there = CountRight(0, kNames);
    EXPECT_TRUE(round == 0 || there > 0);
    std::vector<Peer> peers;
    for (uint64_t p = 0; p < 4; ++p) {
      peers.emplace_back([p, round, dir = node_->dir()](const std::string&) {
        for (uint64_t serial = 0;; ++serial) {
          const uint64_t i = (serial * 7 + p * 10) % kNames;
          const std::string path = dir + "/page-" + std::to_string(i);
          if (serial % 11 == 10) {
            unlink(path.c_str());
          } else if (WriteFile(path, MakePage(i, serial * 16 + p * 4 + static_cast<uint64_t>(round), kPageBytes)) !=
                     0) {
            return std::string("down");
          }
        }
      });
    }
    for (Peer& peer : peers) peer.Send("go");
    ASSERT_TRUE(WaitUntil([&] { return Number("ssd_appended_pages") > 150; }, Seconds(60)));
    node_->Kill();
    for (Peer& peer : peers) EXPECT_EQ(peer.Receive(), "down");
    node_->Detach();
    node_.reset();
  }
}

TEST_F(SsdRestart, WithALowerCapacityTheLimitHolds) {
  StartSsdNode();
  KVP_RETURN_IF_NOT_RUNNING();
  WritePages(0, 150);
  StopNode();
  StartSsdNode({.memory = "32MiB", .ssd = "128MiB", .more = {}, .dir = ""});
  EXPECT_LE(Number("ssd_file_bytes"), uint64_t{128} << 20);
  const size_t right = CountRight(0, 150);
  EXPECT_GT(right, 20u);
  EXPECT_LT(right, 128u);
}

TEST_F(SsdRestart, WithoutItsNamesPagesAreNamedByTheirRecords) {
  StartSsdNode();
  KVP_RETURN_IF_NOT_RUNNING();
  WritePages(0, 10);
  ASSERT_EQ(Sys(mkdir(Path("dir").c_str(), 0755)), 0);
  ASSERT_EQ(WriteFile(Path("dir/inner"), "content"), 0);
  StopNode();
  ASSERT_EQ(RunProgram({"/bin/rm", "-r", ssd_dir_ + "/names"}, {}).exit_status, 0);
  StartSsdNode();
  EXPECT_EQ(CountRight(0, 10), 10u);
  EXPECT_EQ(Contents(Path("dir/inner")), "content");
}

}  // namespace
}  // namespace kvpagefs::mount_test
