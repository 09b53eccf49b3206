// disk_files.cc and owned_files.cc
#include "spill/disk_files.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "unit/spill/disk_fixture.h"

namespace kvpagefs {
namespace {

using disk_test::FilesOf;
using disk_test::kMiB;
using disk_test::Mount;
using disk_test::ReadFile;
using disk_test::RegionName;
using disk_test::TempDir;
using disk_test::WriteFile;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::span<const std::byte> Bytes(const std::string& text) { return std::as_bytes(std::span(text)); }

std::string Text(const Result<std::vector<std::byte>>& bytes) {
  return bytes.ok() ? std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size()) : "!";
}

class DiskFilesTest : public ::testing::Test {
 protected:
  std::vector<std::string> Names() {
    const std::vector<SsdDisk::FileInfo> found = files_->List().value();
    std::vector<std::string> names;
    names.reserve(found.size());
    for (const SsdDisk::FileInfo& info : found) names.push_back(info.name);
    std::ranges::sort(names);
    return names;
  }
  bool Exists(const std::string& name) {
    struct stat info = {};
    return lstat((dir_ / name).c_str(), &info) == 0;
  }
  TempDir dir_;
  std::shared_ptr<DiskFiles> files_ = FilesOf(dir_.path());
};

TEST_F(DiskFilesTest, Names) {
  EXPECT_TRUE(IsRegionName("region-0123456789abcdef"));
  for (const char* name :
       {"region-0123456789ABCDEF", "region-0123456789abcde", "region-0123456789abcdef0", "region-0123456789abcdeg",
        "Region-0123456789abcdef", "", "region-", "./region-0123456789"}) {
    EXPECT_FALSE(IsRegionName(name)) << name;
    EXPECT_EQ(files_->Open(name, kMiB).code(), ErrorCode::kInvalid) << name;
  }
  EXPECT_TRUE(IsSmallFileName("removals"));
  EXPECT_TRUE(IsSmallFileName("removals-2.log"));
  for (const char* name : {"", ".", "..", "a/b", "/a", "removals.new", "identity", "owner.lock", "Upper", "a b",
                           "region-0123456789abcdef", ".hidden"}) {
    EXPECT_FALSE(IsSmallFileName(name)) << name;
    EXPECT_EQ(files_->ReadSmall(name, 10).code(), ErrorCode::kInvalid) << name;
    EXPECT_EQ(files_->AppendSmall(name, {}).code(), ErrorCode::kInvalid) << name;
    EXPECT_EQ(files_->ReplaceSmall(name, {}).code(), ErrorCode::kInvalid) << name;
    EXPECT_EQ(files_->SyncSmall(name).code(), ErrorCode::kInvalid) << name;
  }
  EXPECT_EQ(files_->Remove("identity").code(), ErrorCode::kInvalid);
}

TEST_F(DiskFilesTest, ANewFileHasItsBlocksAndAnOldOneKeepsItsSize) {
  ASSERT_TRUE(files_->Open(RegionName(1), 2 * kMiB).ok());
  std::vector<SsdDisk::FileInfo> found = files_->List().value();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].name, RegionName(1));
  EXPECT_EQ(found[0].bytes, 2 * kMiB);
  EXPECT_GE(found[0].allocated_bytes, 2 * kMiB);
  struct stat info = {};
  ASSERT_EQ(stat((dir_ / RegionName(1)).c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600U);
  ASSERT_TRUE(files_->Open(RegionName(1), 4 * kMiB).ok());
  EXPECT_EQ(files_->List().value()[0].bytes, 2 * kMiB);
  EXPECT_TRUE(files_->SyncDirectory().ok());
}

TEST_F(DiskFilesTest, TransfersWaitInTheKernel) {
  // A descriptor with O_NONBLOCK would make io_uring answer EAGAIN.
  const Result<std::unique_ptr<OpenFile>> made = files_->Open(RegionName(1), kMiB);
  const Result<std::unique_ptr<OpenFile>> found = files_->Open(RegionName(1), kMiB);
  EXPECT_EQ(fcntl((*made)->fd, F_GETFL) & O_NONBLOCK, 0);
  EXPECT_EQ(fcntl((*found)->fd, F_GETFL) & O_NONBLOCK, 0);
  EXPECT_EQ((*made)->direct, (*found)->direct);
  EXPECT_EQ((fcntl((*found)->fd, F_GETFL) & O_DIRECT) != 0, (*found)->direct);
}

TEST_F(DiskFilesTest, ForeignFilesAreLeftAlone) {
  WriteFile(dir_ / "thesis.tex", "precious");
  WriteFile(dir_ / "target", "precious");
  ASSERT_EQ(symlink("target", (dir_ / RegionName(1)).c_str()), 0);
  ASSERT_EQ(symlink("no such file", (dir_ / RegionName(2)).c_str()), 0);
  ASSERT_EQ(mkfifo((dir_ / RegionName(3)).c_str(), 0600), 0);
  ASSERT_EQ(mkdir((dir_ / RegionName(4)).c_str(), 0700), 0);
  WriteFile(dir_ / RegionName(5), "two names");
  ASSERT_EQ(link((dir_ / RegionName(5)).c_str(), (dir_ / "second").c_str()), 0);
  ASSERT_TRUE(files_->Open(RegionName(6), kMiB).ok());
  EXPECT_THAT(Names(), ElementsAre(RegionName(6)));
  for (uint64_t number = 1; number <= 5; ++number) {
    const Result<std::unique_ptr<OpenFile>> opened = files_->Open(RegionName(number), kMiB);
    ASSERT_FALSE(opened.ok()) << number;
    EXPECT_EQ(opened.code(), ErrorCode::kInvalid) << opened.error().text();
    EXPECT_THAT(opened.error().text(), HasSubstr(dir_ / RegionName(number)));
    EXPECT_EQ(files_->Remove(RegionName(number)).code(), ErrorCode::kInvalid);
    EXPECT_TRUE(Exists(RegionName(number)));
  }
  EXPECT_EQ(ReadFile(dir_ / "target"), "precious");
  EXPECT_FALSE(Exists("no such file"));
  ASSERT_EQ(symlink("target", (dir_ / "removals").c_str()), 0);
  EXPECT_EQ(files_->AppendSmall("removals", Bytes("x")).code(), ErrorCode::kInvalid);
  EXPECT_EQ(files_->ReadSmall("removals", 100).code(), ErrorCode::kInvalid);
  EXPECT_EQ(files_->Remove("removals").code(), ErrorCode::kInvalid);
  EXPECT_EQ(ReadFile(dir_ / "target"), "precious");
}

TEST_F(DiskFilesTest, FilesOfOtherUsersAreLeftAlone) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  ASSERT_TRUE(files_->Open(RegionName(1), kMiB).ok());
  ASSERT_EQ(chown((dir_ / RegionName(1)).c_str(), 12345, 12345), 0);
  EXPECT_THAT(Names(), ElementsAre());
  EXPECT_THAT(files_->Open(RegionName(1), kMiB).error().text(), HasSubstr("another user"));
  ASSERT_EQ(mknod((dir_ / RegionName(2)).c_str(), S_IFCHR | 0600, makedev(1, 3)), 0);
  EXPECT_THAT(Names(), ElementsAre());
  EXPECT_EQ(files_->Open(RegionName(2), kMiB).code(), ErrorCode::kInvalid);
}

TEST_F(DiskFilesTest, RemoveFreesAtOnce) {
  const Result<std::unique_ptr<OpenFile>> held = files_->Open(RegionName(1), kMiB);
  EXPECT_TRUE(files_->Remove(RegionName(1)).ok());
  EXPECT_FALSE(Exists(RegionName(1)));
  struct stat info = {};
  ASSERT_EQ(fstat((*held)->fd, &info), 0);
  EXPECT_EQ(info.st_blocks, 0) << "somebody who still has it open does not keep the blocks";
  EXPECT_TRUE(files_->Remove(RegionName(1)).ok()) << "not there is success";
}

TEST_F(DiskFilesTest, AnUndeletableFileIsAnError) {
  ASSERT_TRUE(files_->Open(RegionName(1), kMiB).ok());
  const int fd = open((dir_ / RegionName(1)).c_str(), O_RDONLY | O_CLOEXEC);
  int flags = 0;
  const bool has_flags = ioctl(fd, FS_IOC_GETFLAGS, &flags) == 0;
  flags |= FS_IMMUTABLE_FL;
  if (!has_flags || ioctl(fd, FS_IOC_SETFLAGS, &flags) != 0) {
    close(fd);
    GTEST_SKIP() << "this user or file system does not make files immutable";
  }
  const Status removed = files_->Remove(RegionName(1));
  const Result<std::unique_ptr<OpenFile>> opened = files_->Open(RegionName(1), kMiB);
  flags &= ~FS_IMMUTABLE_FL;
  ioctl(fd, FS_IOC_SETFLAGS, &flags);
  struct stat info = {};
  fstat(fd, &info);
  close(fd);
  ASSERT_FALSE(removed.ok());
  EXPECT_EQ(removed.code(), ErrorCode::kNotPermitted) << removed.error().text();
  EXPECT_EQ(static_cast<uint64_t>(info.st_size), kMiB) << "nothing is lost";
  EXPECT_TRUE(opened.ok()) << "and its pages can be read";
  EXPECT_TRUE(files_->Remove(RegionName(1)).ok());
}

TEST_F(DiskFilesTest, SmallFiles) {
  EXPECT_EQ(files_->ReadSmall("removals", 100).code(), ErrorCode::kNotFound);
  EXPECT_EQ(files_->SyncSmall("removals").code(), ErrorCode::kNotFound);
  ASSERT_TRUE(files_->AppendSmall("removals", Bytes("one")).ok());
  ASSERT_TRUE(files_->AppendSmall("removals", Bytes("two")).ok());
  EXPECT_TRUE(files_->SyncSmall("removals").ok());
  EXPECT_TRUE(files_->SyncSmall("removals").ok());
  EXPECT_EQ(Text(files_->ReadSmall("removals", 6)), "onetwo");
  EXPECT_EQ(files_->ReadSmall("removals", 5).code(), ErrorCode::kTooLarge);
  ASSERT_TRUE(files_->ReplaceSmall("removals", Bytes("three")).ok());
  EXPECT_EQ(Text(files_->ReadSmall("removals", 100)), "three");
  EXPECT_FALSE(Exists("removals.new"));
  EXPECT_THAT(Names(), ElementsAre());
  EXPECT_TRUE(files_->Remove("removals").ok());
  EXPECT_FALSE(Exists("removals"));
}

TEST_F(DiskFilesTest, ReplaceMeetsWhatAKilledOneLeft) {
  WriteFile(dir_ / "removals.new", "half");
  ASSERT_TRUE(files_->ReplaceSmall("removals", Bytes("whole")).ok());
  EXPECT_EQ(ReadFile(dir_ / "removals"), "whole");
  ASSERT_EQ(symlink("removals", (dir_ / "removals.new").c_str()), 0);
  EXPECT_EQ(files_->ReplaceSmall("removals", Bytes("x")).code(), ErrorCode::kInvalid);
  EXPECT_EQ(ReadFile(dir_ / "removals"), "whole");
}

TEST_F(DiskFilesTest, AFullFileSystem) {
  const std::unique_ptr<Mount> small = Mount::Tmpfs("size=1m");
  if (small == nullptr) GTEST_SKIP() << "this user may not mount";
  const std::shared_ptr<DiskFiles> files = FilesOf(small->path());
  EXPECT_FALSE(files->direct());
  const Result<std::unique_ptr<OpenFile>> refused = files->Open(RegionName(1), 8 * kMiB);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.code(), ErrorCode::kNoSpace);
  EXPECT_THAT(refused.error().text(), HasSubstr(RegionName(1)));
  EXPECT_TRUE(files->List().value().empty()) << "nothing is left behind";
  ASSERT_TRUE(files->AppendSmall("removals", Bytes("kept")).ok());
  ASSERT_TRUE(files->Open(RegionName(2), kMiB - 4096).ok());
  EXPECT_EQ(files->AppendSmall("removals", Bytes(std::string(8192, 'x'))).code(), ErrorCode::kNoSpace);
  EXPECT_EQ(ReadFile(*small / "removals"), "kept") << "all or nothing";
  EXPECT_EQ(files->ReplaceSmall("removals", Bytes(std::string(8192, 'x'))).code(), ErrorCode::kNoSpace);
  EXPECT_EQ(ReadFile(*small / "removals"), "kept");
  EXPECT_NE(access((*small / "removals.new").c_str(), F_OK), 0);
  ASSERT_TRUE(files->Remove(RegionName(2)).ok());
  EXPECT_TRUE(files->Open(RegionName(3), kMiB / 2).ok());
}

TEST_F(DiskFilesTest, AFileSystemThatReservesNothing) {
  const std::unique_ptr<Mount> old = Mount::Ext4(16 * kMiB, "-O ^extents,^64bit");
  if (old == nullptr) GTEST_SKIP() << "this user may not mount";
  const int fd = open((*old / "probe").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_TRUE(fallocate(fd, 0, 0, 4096) != 0 && errno == EOPNOTSUPP) << "not the file system that this test is for";
  close(fd);
  const std::shared_ptr<DiskFiles> files = FilesOf(old->path());
  ASSERT_TRUE(files->Open(RegionName(1), 2 * kMiB + 4096).ok());
  const std::vector<SsdDisk::FileInfo> found = files->List().value();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].bytes, 2 * kMiB + 4096);
  EXPECT_GE(found[0].allocated_bytes, 2 * kMiB + 4096);
  EXPECT_EQ(files->Open(RegionName(2), 64 * kMiB).code(), ErrorCode::kNoSpace);
  EXPECT_EQ(files->List().value().size(), 1U);
}

TEST_F(DiskFilesTest, AFileSystemWithoutInodes) {
  const std::unique_ptr<Mount> small = Mount::Tmpfs("size=8m,nr_inodes=2");
  if (small == nullptr) GTEST_SKIP() << "this user may not mount";
  const std::shared_ptr<DiskFiles> files = FilesOf(small->path());
  ASSERT_TRUE(files->Open(RegionName(1), kMiB).ok());
  EXPECT_EQ(files->Open(RegionName(2), kMiB).code(), ErrorCode::kNoSpace);
  EXPECT_EQ(files->AppendSmall("removals", Bytes("x")).code(), ErrorCode::kNoSpace);
  EXPECT_TRUE(files->Open(RegionName(1), kMiB).ok());
}

TEST_F(DiskFilesTest, ReadOnlyAndBack) {
  const std::unique_ptr<Mount> mount = Mount::Tmpfs("size=8m");
  if (mount == nullptr) GTEST_SKIP() << "this user may not mount";
  const std::shared_ptr<DiskFiles> files = FilesOf(mount->path());
  ASSERT_TRUE(files->Open(RegionName(1), kMiB).ok());
  ASSERT_TRUE(files->AppendSmall("removals", Bytes("x")).ok());
  ASSERT_EQ(mount->Remount(true), 0) << "no small file is kept open";
  EXPECT_EQ(files->List().value().size(), 1U);
  EXPECT_TRUE(files->Open(RegionName(1), kMiB).ok()) << "its pages stay readable";
  EXPECT_EQ(files->Open(RegionName(2), kMiB).code(), ErrorCode::kUnavailable);
  EXPECT_EQ(files->AppendSmall("removals", Bytes("y")).code(), ErrorCode::kUnavailable);
  EXPECT_EQ(files->ReplaceSmall("removals", Bytes("y")).code(), ErrorCode::kUnavailable);
  EXPECT_EQ(files->Remove(RegionName(1)).code(), ErrorCode::kUnavailable);
  EXPECT_EQ(Text(files->ReadSmall("removals", 10)), "x");
  ASSERT_EQ(mount->Remount(false), 0);
  EXPECT_TRUE(files->AppendSmall("removals", Bytes("y")).ok());
  EXPECT_TRUE(files->Open(RegionName(2), kMiB).ok());
  EXPECT_EQ(Text(files->ReadSmall("removals", 10)), "xy");
}

}  // namespace
}  // namespace kvpagefs
