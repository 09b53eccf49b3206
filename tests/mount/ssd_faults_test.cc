// Broken and full disks under a real node: a page is right or a miss, the node goes on, and status tells.
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/mount/ssd_fixture.h"

namespace kvpagefs::mount_test {
namespace {

class SsdFaults : public SsdTest {
 protected:
  void TearDown() override {
    StopNode();
    if (!mounted_.empty()) umount2(mounted_.c_str(), MNT_DETACH);
  }
  // A file system of its own for the SSD directory.
  void MountTmpfs(const std::string& options) {
    mounted_ = scratch_.path() + "/disk";
    ASSERT_EQ(Sys(mkdir(mounted_.c_str(), 0755)), 0);
    if (mount("tmpfs", mounted_.c_str(), "tmpfs", 0, options.c_str()) != 0) {
      mounted_.clear();
      GTEST_SKIP() << "cannot mount a tmpfs here";
    }
  }
  std::string mounted_;
};

TEST_F(SsdFaults, FlippedBitsAreMisses) {
  StartSsdNode();
  KVP_RETURN_IF_NOT_RUNNING();
  WritePages(0, 60);
  StopNode();
  size_t flips = 0;
  for (const std::string& file : RegionFiles()) {
    Fd fd = Open(file, O_RDWR);
    const int64_t size = SizeOf(fd.get());
    for (int64_t at = 4096 * 700; at < size; at += 4096 * 701) {
      char byte = 0;
      ASSERT_EQ(pread(fd.get(), &byte, 1, at), 1);
      byte = static_cast<char>(byte ^ 0x10);
      ASSERT_EQ(pwrite(fd.get(), &byte, 1, at), 1);
      ++flips;
    }
  }
  ASSERT_GT(flips, 5u);
  StartSsdNode();
  const size_t right = CountRight(0, 60);
  EXPECT_LT(right, 60u);
  EXPECT_GE(right + flips * 2, 60u);
  // They can be stored again.
  WritePages(0, 60, 2);
  EXPECT_EQ(CountRight(0, 60), 60u);
}

TEST_F(SsdFaults, RegionFilesDeletedUnderARunningNode) {
  StartSsdNode();
  KVP_RETURN_IF_NOT_RUNNING();
  WritePages(0, 60);
  ASSERT_TRUE(WaitUntilSpilled(60));
  for (const std::string& file : RegionFiles()) ASSERT_EQ(Sys(unlink(file.c_str())), 0);
  (void)CountRight(0, 60);
  WritePages(60, 120);
  EXPECT_GT(CountRight(60, 120), 20u);
  StopNode();
  StartSsdNode();
  (void)CountRight(0, 120);
  WritePages(0, 20, 2);
  EXPECT_EQ(CountRight(0, 20), 20u);
}

TEST_F(SsdFaults, TruncatedRegionFiles) {
  StartSsdNode();
  KVP_RETURN_IF_NOT_RUNNING();
  WritePages(0, 60);
  StopNode();
  for (const std::string& file : RegionFiles()) {
    ASSERT_EQ(Sys(truncate(file.c_str(), SizeOf(file) / 2 / 4096 * 4096 + 100)), 0);
  }
  StartSsdNode();
  const size_t right = CountRight(0, 60);
  EXPECT_GT(right, 10u);
  EXPECT_LT(right, 60u);
  WritePages(0, 60, 2);
  EXPECT_EQ(CountRight(0, 60), 60u);
}

TEST_F(SsdFaults, ADiskSmallerThanConfigured) {
  MountTmpfs("size=48m");
  KVP_RETURN_IF_NOT_RUNNING();
  StartSsdNode({.memory = "32MiB", .ssd = "256MiB", .more = {}, .dir = mounted_ + "/ssd"});
  KVP_RETURN_IF_NOT_RUNNING();
  WritePages(0, 100);
  const size_t right = CountRight(0, 100);
  EXPECT_GT(right, 20u) << "the memory tier goes on";
  EXPECT_GT(Number("ssd_no_space_errors"), 0u);
}

TEST_F(SsdFaults, ADiskWithoutInodes) {
  MountTmpfs("size=256m,nr_inodes=10");
  KVP_RETURN_IF_NOT_RUNNING();
  StartSsdNode({.memory = "32MiB", .ssd = "256MiB", .more = {}, .dir = mounted_ + "/ssd"});
  KVP_RETURN_IF_NOT_RUNNING();
  WritePages(0, 100);
  EXPECT_GT(CountRight(0, 100), 20u);
}

TEST_F(SsdFaults, ReadOnlyAndBack) {
  MountTmpfs("size=512m");
  KVP_RETURN_IF_NOT_RUNNING();
  const Setup setup{.memory = "32MiB", .ssd = "256MiB", .more = {}, .dir = mounted_ + "/ssd"};
  StartSsdNode(setup);
  KVP_RETURN_IF_NOT_RUNNING();
  WritePages(0, 30);
  ASSERT_TRUE(WaitUntilSpilled(30));
  StopNode();
  // The kernel closes a dead process's files in its own time.
  const auto remount = [&] {
    return mount("tmpfs", mounted_.c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, "size=512m") == 0;
  };
  ASSERT_TRUE(WaitUntil(remount, Seconds(20)));
  {
    NodeProcess::Options options;
    options.arguments = {"--ssd-dir", mounted_ + "/ssd", "--ssd", "256MiB"};
    NodeProcess refused(test_options_, std::move(options));
    const std::string why = refused.Start();
    EXPECT_NE(why.find("ssd-dir"), std::string::npos) << why;
    EXPECT_NE(why.find("Read-only"), std::string::npos) << why;
  }
  ASSERT_EQ(Value(Sys(mount("tmpfs", mounted_.c_str(), "tmpfs", MS_REMOUNT, "size=512m"))), "0");
  StartSsdNode(setup);
  EXPECT_EQ(CountRight(0, 30), 30u);
}

TEST_F(SsdFaults, ASecondNodeIsToldWhoHasTheDirectory) {
  StartSsdNode();
  KVP_RETURN_IF_NOT_RUNNING();
  NodeProcess::Options options;
  options.arguments = {"--ssd-dir", ssd_dir_, "--ssd", "256MiB"};
  NodeProcess second(test_options_, std::move(options));
  const std::string why = second.Start();
  EXPECT_NE(why.find(ssd_dir_), std::string::npos) << why;
  EXPECT_NE(why.find(std::to_string(node_->pid())), std::string::npos) << why;
  EXPECT_NE(why.find("in use"), std::string::npos) << why;
  WritePages(0, 3);
  EXPECT_EQ(CountRight(0, 3), 3u);
}

TEST_F(SsdFaults, ForeignFilesAreLeftAlone) {
  ASSERT_EQ(Sys(mkdir(ssd_dir_.c_str(), 0700)), 0);
  ASSERT_EQ(WriteFile(ssd_dir_ + "/notes.txt", "mine"), 0);
  ASSERT_EQ(WriteFile(scratch_.path() + "/elsewhere", "not yours"), 0);
  ASSERT_EQ(Sys(symlink((scratch_.path() + "/elsewhere").c_str(), (ssd_dir_ + "/region-0000000000000001").c_str())), 0);
  StartSsdNode();
  KVP_RETURN_IF_NOT_RUNNING();
  WritePages(0, 60);
  EXPECT_EQ(CountRight(0, 60), 60u);
  StopNode();
  EXPECT_EQ(Contents(ssd_dir_ + "/notes.txt"), "mine");
  EXPECT_EQ(Contents(scratch_.path() + "/elsewhere"), "not yours");
}

TEST_F(SsdFaults, UnderTheMountItself) {
  const ScratchDir mount_point(test_options_.scratch_dir);
  const ProgramResult result = RunProgram(
      {test_options_.binary, "-f", mount_point.path(), "--ssd-dir", mount_point.path() + "/ssd", "--ssd", "1GiB"}, {});
  EXPECT_NE(result.exit_status, 0);
  EXPECT_NE(result.err.find("is below the mount point"), std::string::npos) << result.err;
}

}  // namespace
}  // namespace kvpagefs::mount_test
