// ssd_directory.cc and owner_lock.cc
#include "spill/ssd_directory.h"

#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit/spill/disk_fixture.h"

namespace kvpagefs {
namespace {

using disk_test::Fail;
using disk_test::kMiB;
using disk_test::Memory;
using disk_test::Mount;
using disk_test::Read;
using disk_test::ReadFile;
using disk_test::RegionName;
using disk_test::RunInChild;
using disk_test::TempDir;
using disk_test::Write;
using disk_test::WriteFile;
using ::testing::HasSubstr;

class SsdDirectoryTest : public ::testing::Test {
 protected:
  Result<SsdDirectory> Open(const std::string& path, const std::string& owner = "kvpagefs /mnt/kv") {
    return SsdDirectory::Open({.path = path, .owner_text = owner});
  }
  void ExpectRefused(const std::string& path, ErrorCode code, const std::string& words) {
    const Result<SsdDirectory> refused = Open(path);
    ASSERT_FALSE(refused.ok()) << path;
    EXPECT_EQ(refused.code(), code) << refused.error().text();
    EXPECT_THAT(refused.error().text(), HasSubstr(path));
    EXPECT_THAT(refused.error().text(), HasSubstr(words));
  }
  TempDir temp_;
  std::string path_ = temp_ / "ssd";
};

TEST_F(SsdDirectoryTest, IsMadeAndFoundAgain) {
  uint64_t identity = 0;
  {
    Result<SsdDirectory> made = Open(path_);
    ASSERT_TRUE(made.ok()) << made.error().Describe();
    identity = made->identity();
    EXPECT_NE(identity, 0U);
    struct stat info = {};
    ASSERT_EQ(stat(path_.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0700U);
    Result<std::unique_ptr<SsdDisk>> disk = made->TakeDisk();
    ASSERT_TRUE(disk.ok());
    EXPECT_TRUE((*disk)->Open(RegionName(1), kMiB).ok());
  }
  Result<SsdDirectory> again = Open(path_);
  ASSERT_TRUE(again.ok()) << again.error().Describe();
  EXPECT_EQ(again->identity(), identity);
  EXPECT_EQ((*again->TakeDisk())->List().value().size(), 1U);
}

TEST_F(SsdDirectoryTest, WrongPathsAreNamed) {
  ExpectRefused(temp_ / "no/ssd", ErrorCode::kNotFound, "create it first");
  WriteFile(temp_ / "file", "");
  ExpectRefused(temp_ / "file", ErrorCode::kNotDirectory, "not a directory");
  if (geteuid() == 0) return;
  std::filesystem::create_directory(path_);
  ASSERT_EQ(chmod(path_.c_str(), 0500), 0);
  ExpectRefused(path_, ErrorCode::kNotPermitted, "cannot write");
}

TEST_F(SsdDirectoryTest, AnotherUsersDirectoryIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "only root becomes another user";
  ASSERT_EQ(chmod(temp_.path().c_str(), 0755), 0);
  std::filesystem::create_directory(path_);
  const int status = RunInChild([&] {
    if (setresuid(65534, 65534, 65534) != 0) return Fail("setresuid");
    const Result<SsdDirectory> refused = Open(path_);
    return !refused.ok() && refused.code() == ErrorCode::kNotPermitted ? 0 : Fail("not refused");
  });
  EXPECT_EQ(status, 0);
}

TEST_F(SsdDirectoryTest, ThePathMayBeALink) {
  std::filesystem::create_directory(temp_ / "real");
  ASSERT_EQ(symlink("real", path_.c_str()), 0);
  EXPECT_TRUE(Open(path_).ok());
  EXPECT_TRUE(std::filesystem::exists(temp_ / "real/identity"));
}

TEST_F(SsdDirectoryTest, LinksInsideAreNotFollowed) {
  std::filesystem::create_directory(path_);
  WriteFile(temp_ / "victim", "precious");
  ASSERT_EQ(symlink((temp_ / "victim").c_str(), (path_ + "/owner.lock").c_str()), 0);
  ExpectRefused(path_, ErrorCode::kInvalid, "symbolic link");
  ASSERT_EQ(unlink((path_ + "/owner.lock").c_str()), 0);
  ASSERT_EQ(mkfifo((path_ + "/owner.lock").c_str(), 0600), 0);
  ExpectRefused(path_, ErrorCode::kInvalid, "regular file");
  ASSERT_EQ(unlink((path_ + "/owner.lock").c_str()), 0);
  ASSERT_EQ(symlink((temp_ / "victim").c_str(), (path_ + "/identity").c_str()), 0);
  ExpectRefused(path_, ErrorCode::kInvalid, "symbolic link");
  EXPECT_EQ(ReadFile(temp_ / "victim"), "precious");
}

TEST_F(SsdDirectoryTest, ADamagedIdentityIsRefusedAndKept) {
  ASSERT_TRUE(Open(path_).ok());
  WriteFile(path_ + "/identity", "kvpagefs SSD directory\nversion 1\nidentity 12\n");
  ExpectRefused(path_, ErrorCode::kInvalid, "name another directory");
  EXPECT_THAT(ReadFile(path_ + "/identity"), HasSubstr("identity 12"));
}

TEST_F(SsdDirectoryTest, OneOwnerInThisProcess) {
  Result<SsdDirectory> first = Open(path_);
  ASSERT_TRUE(first.ok());
  ExpectRefused(path_, ErrorCode::kUnavailable,
                "is in use by process " + std::to_string(getpid()) + " (kvpagefs /mnt/kv)");
  Result<std::unique_ptr<SsdDisk>> disk = first->TakeDisk();
  ASSERT_TRUE(disk.ok());
  first = Error(ErrorCode::kNotFound);
  ExpectRefused(path_, ErrorCode::kUnavailable, "is in use by process");
  disk->reset();
  EXPECT_TRUE(Open(path_).ok()) << "the lock goes with the disk";
}

TEST_F(SsdDirectoryTest, AnotherProcessIsNamedAndItsLockGoesWithIt) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t owner = fork();
  if (owner == 0) {
    alarm(60);
    Result<SsdDirectory> directory = Open(path_, "kvpagefs /mnt/first");
    Result<std::unique_ptr<SsdDisk>> disk = directory->TakeDisk();
    const Result<SsdDisk::FileId> file = (*disk)->Open(RegionName(1), kMiB);
    const char answer = file.ok() ? 'y' : 'n';
    if (write(ready[1], &answer, 1) != 1) _exit(1);
    for (;;) pause();
  }
  char answer = 0;
  ASSERT_EQ(read(ready[0], &answer, 1), 1);
  EXPECT_EQ(answer, 'y');
  ExpectRefused(path_, ErrorCode::kUnavailable,
                "is in use by process " + std::to_string(owner) + " (kvpagefs /mnt/first)");
  kill(owner, SIGKILL);
  int status = 0;
  ASSERT_EQ(waitpid(owner, &status, 0), owner);
  Result<SsdDirectory> next = Open(path_);
  ASSERT_TRUE(next.ok()) << next.error().Describe();
  EXPECT_THAT(ReadFile(path_ + "/owner.lock"), HasSubstr("process " + std::to_string(getpid()) + "\n"));
  EXPECT_EQ((*next->TakeDisk())->List().value().size(), 1U);
  close(ready[0]);
  close(ready[1]);
}

TEST_F(SsdDirectoryTest, TheOwnersTextIsNotTrusted) {
  const Result<SsdDirectory> first = Open(path_);
  ASSERT_TRUE(first.ok());
  WriteFile(path_ + "/owner.lock", "process 12\nhost elsewhere\nowner a\x1b[2Jb\n");
  ExpectRefused(path_, ErrorCode::kUnavailable, "process 12 on host elsewhere (a [2Jb)");
  for (const std::string& text :
       {std::string(), std::string("process"), std::string(100'000, 'x'), std::string(900, '\0')}) {
    WriteFile(path_ + "/owner.lock", text);
    ExpectRefused(path_, ErrorCode::kUnavailable, "another process");
  }
}

TEST_F(SsdDirectoryTest, NoRoomForTheSmallFiles) {
  const std::unique_ptr<Mount> tiny = Mount::Tmpfs("size=1m,nr_inodes=2");
  if (tiny == nullptr) GTEST_SKIP() << "this user may not mount";
  ExpectRefused(tiny->path(), ErrorCode::kNoSpace, "identity");
  const std::unique_ptr<Mount> enough = Mount::Tmpfs("size=1m,nr_inodes=3");
  Result<SsdDirectory> directory = Open(enough->path());
  ASSERT_TRUE(directory.ok()) << directory.error().Describe();
  EXPECT_EQ((*directory->TakeDisk())->Open(RegionName(1), 4096).code(), ErrorCode::kNoSpace);
}

TEST_F(SsdDirectoryTest, ReadOnlyFileSystems) {
  const std::unique_ptr<Mount> mount = Mount::Tmpfs("size=1m");
  if (mount == nullptr) GTEST_SKIP() << "this user may not mount";
  ASSERT_TRUE(Open(mount->path()).ok());
  ASSERT_EQ(mount->Remount(true), 0);
  ExpectRefused(mount->path(), ErrorCode::kUnavailable, "Read-only file system");
  ASSERT_EQ(mount->Remount(false), 0);
  const Result<SsdDirectory> open = Open(mount->path());
  ASSERT_TRUE(open.ok());
  EXPECT_EQ(mount->Remount(true), 0) << "an idle owner does not keep the file system writable";
}

TEST_F(SsdDirectoryTest, WithoutIoUringTheDiskIsPlain) {
  const int status = RunInChild([&] {
    if (!disk_test::ForbidIoUring(EPERM)) return Fail("no seccomp");
    Result<SsdDirectory> directory = Open(path_);
    if (!directory.ok()) return Fail(directory.error().Describe());
    Result<std::unique_ptr<SsdDisk>> disk = directory->TakeDisk();
    if (!disk.ok()) return Fail(disk.error().Describe());
    const SsdDisk::Info info = (*disk)->GetInfo();
    if (info.uses_io_uring || info.note.find("Operation not permitted") == std::string::npos) return Fail(info.note);
    const Result<SsdDisk::FileId> file = (*disk)->Open(RegionName(1), kMiB);
    if (!file.ok()) return Fail(file.error().Describe());
    Memory memory(kMiB);
    if (!Write(**disk, {*file, 0}, {memory.Whole()}).ok()) return Fail("write");
    return Read(**disk, {*file, 0}, {memory.Whole()}).ok() ? 0 : Fail("read");
  });
  EXPECT_EQ(status, 0);
}

TEST_F(SsdDirectoryTest, IoUringCanBeSwitchedOff) {
  Result<SsdDirectory> directory = SsdDirectory::Open({.path = path_, .owner_text = "test", .allow_io_uring = false});
  ASSERT_TRUE(directory.ok());
  const SsdDisk::Info info = (*directory->TakeDisk())->GetInfo();
  EXPECT_FALSE(info.uses_io_uring);
  EXPECT_THAT(info.note, HasSubstr("switched off"));
}

}  // namespace
}  // namespace kvpagefs
