#include "fs/mount_point.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "fs/mount_info.h"

namespace kvpagefs {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Root may open everything, so tests of missing permission run as nobody, who may still enter `directory`.
class AsOrdinaryUser {
 public:
  explicit AsOrdinaryUser(const std::string& directory) : before_(geteuid()) {
    std::filesystem::permissions(directory, std::filesystem::perms::all);
    EXPECT_EQ(seteuid(before_ == 0 ? 65534 : before_), 0);
  }
  ~AsOrdinaryUser() { EXPECT_EQ(seteuid(before_), 0); }

 private:
  uid_t before_;
};

// A directory of the test's own with stand-ins for /proc/self/mountinfo, /dev/fuse and /etc/fuse.conf.
class MountPoint : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "kvpagefs_mount_XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    root_ = std::filesystem::canonical(pattern).string();
    options_.mount_point = root_ + "/mnt";
    std::filesystem::create_directory(options_.mount_point);
    system_.mount_info_path = root_ + "/mountinfo";
    system_.fuse_device_path = root_ + "/fuse";
    system_.fuse_conf_path = root_ + "/fuse.conf";
    system_.detach = [this](const std::string& path) -> Status {
      detached_.push_back(path);
      if (detach_fails_) return Error(ErrorCode::kNotPermitted, "refused");
      mounts_.pop_back();
      WriteMounts();
      return {};
    };
    system_.probe = [this](const std::string&) { return probe_errno_; };
    std::ofstream(system_.fuse_device_path) << "";
    std::filesystem::permissions(system_.fuse_device_path, std::filesystem::perms(0666));
    WriteMounts();
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void AddMount(const std::string& path, const std::string& type) {
    mounts_.push_back("50 20 0:40 / " + path + " rw shared:7 - " + type + " standalone rw");
    WriteMounts();
  }
  void WriteMounts() {
    std::ofstream file(system_.mount_info_path);
    file << "20 1 254:1 / / rw - ext4 /dev/vda1 rw\n";
    for (const std::string& line : mounts_) file << line << '\n';
  }
  Result<std::string> Prepare() { return PrepareMountPoint(options_, system_, Log::Discard()); }
  void ExpectRefused(ErrorCode code, const std::string& what, const std::string& remedy) {
    const auto result = Prepare();
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.code(), code) << result.error().text();
    EXPECT_THAT(result.error().text(), AllOf(HasSubstr(what), HasSubstr(remedy)));
  }

  std::string root_;
  Options options_;
  MountSystem system_;
  std::vector<std::string> mounts_;
  std::vector<std::string> detached_;
  bool detach_fails_ = false;
  int probe_errno_ = 0;
};

TEST_F(MountPoint, EmptyDirectoryPassesWithoutLinks) {
  std::filesystem::create_directory_symlink(options_.mount_point, root_ + "/link");
  options_.mount_point = root_ + "/link";
  const auto result = Prepare();
  ASSERT_TRUE(result.ok()) << result.error().text();
  EXPECT_EQ(*result, root_ + "/mnt");
}

TEST_F(MountPoint, OpenDescriptorPassesAsItIs) {
  options_.mount_point = "/dev/fd/7";
  system_.fuse_device_path = "/nonexistent";
  EXPECT_EQ(*Prepare(), "/dev/fd/7");
}

TEST_F(MountPoint, MissingDevice) {
  std::filesystem::remove(system_.fuse_device_path);
  ExpectRefused(ErrorCode::kUnavailable, system_.fuse_device_path, "modprobe fuse");
}

TEST_F(MountPoint, DeviceWithoutPermission) {
  std::filesystem::permissions(system_.fuse_device_path, std::filesystem::perms::none);
  const AsOrdinaryUser user(root_);
  ExpectRefused(ErrorCode::kNotPermitted, system_.fuse_device_path, "run as root");
}

TEST_F(MountPoint, WrongDirectories) {
  options_.mount_point = root_ + "/missing";
  ExpectRefused(ErrorCode::kNotFound, options_.mount_point, "mkdir -p");
  options_.mount_point = system_.mount_info_path;
  ExpectRefused(ErrorCode::kNotDirectory, options_.mount_point, "choose a directory");
  options_.mount_point = system_.mount_info_path + "/below";
  ExpectRefused(ErrorCode::kNotDirectory, options_.mount_point, "choose a directory");
  options_.mount_point = root_;
  ExpectRefused(ErrorCode::kNotEmpty, root_, "choose an empty directory");
}

TEST_F(MountPoint, DirectoryWithoutPermission) {
  std::filesystem::permissions(options_.mount_point, std::filesystem::perms::none);
  const AsOrdinaryUser user(root_);
  system_.user = geteuid();
  ExpectRefused(ErrorCode::kNotPermitted, options_.mount_point, "that you own");
}

TEST_F(MountPoint, BusyMounts) {
  AddMount(options_.mount_point, "tmpfs");
  ExpectRefused(ErrorCode::kExists, "tmpfs", "choose another directory");
  AddMount(options_.mount_point, "fuse.kvpagefs");
  ExpectRefused(ErrorCode::kExists, options_.mount_point, "fusermount3 -u");
  probe_errno_ = EACCES;  // somebody else's live mount
  ExpectRefused(ErrorCode::kExists, options_.mount_point, "fusermount3 -u");
  EXPECT_TRUE(detached_.empty());
}

TEST_F(MountPoint, DeadMountsOfItsOwnAreDetached) {
  AddMount(options_.mount_point, "fuse.kvpagefs");
  AddMount(options_.mount_point, "fuse.kvpagefs");
  probe_errno_ = ENOTCONN;
  const auto result = Prepare();
  ASSERT_TRUE(result.ok()) << result.error().text();
  EXPECT_THAT(detached_, ::testing::ElementsAre(*result, *result));
}

TEST_F(MountPoint, DeadMountThatCannotBeDetached) {
  AddMount(options_.mount_point, "fuse.kvpagefs");
  probe_errno_ = ENOTCONN;
  detach_fails_ = true;
  ExpectRefused(ErrorCode::kNotPermitted, options_.mount_point, "umount -l");
}

TEST_F(MountPoint, DeadMountOfAnotherProgramStays) {
  AddMount(options_.mount_point, "fuse.sshfs");
  probe_errno_ = ENOTCONN;
  ExpectRefused(ErrorCode::kExists, "fuse.sshfs", "umount -l");
  EXPECT_TRUE(detached_.empty());
}

TEST_F(MountPoint, UnderAutofsIsFine) {
  AddMount(options_.mount_point, "autofs");
  EXPECT_TRUE(Prepare().ok());
}

TEST_F(MountPoint, InsideAnotherKvpagefs) {
  AddMount(root_, "fuse.kvpagefs");
  ExpectRefused(ErrorCode::kInvalid, root_, "outside");
}

TEST_F(MountPoint, AllowOtherNeedsRootOrTheConfiguration) {
  options_.allow_other = true;
  EXPECT_TRUE(Prepare().ok());
  system_.user = 1000;
  std::ofstream(system_.fuse_conf_path) << "#user_allow_other\nuser_allow_others\n";
  ExpectRefused(ErrorCode::kNotPermitted, system_.fuse_conf_path, "user_allow_other");
  std::ofstream(system_.fuse_conf_path) << "mount_max = 10\nuser_allow_other \n";
  const auto result = Prepare();
  EXPECT_TRUE(result.ok()) << result.error().text();
}

TEST_F(MountPoint, OwnFilesBelowTheMountPointAreRefused) {
  std::filesystem::create_directory_symlink(options_.mount_point, root_ + "/link");
  for (std::string Options::* path : {&Options::state_dir, &Options::memory_path, &Options::log_file}) {
    for (const char* place : {"/mnt", "/mnt/deep/er", "/link/x", "/other/../mnt/x"}) {
      Options options = options_;
      options.*path = root_ + place;
      const Status status = CheckOwnPaths(options);
      ASSERT_FALSE(status.ok()) << place;
      EXPECT_THAT(status.error().text(), AllOf(HasSubstr(options.*path), HasSubstr("choose a path outside")));
    }
    Options options = options_;
    options.*path = root_ + "/mnt2";
    EXPECT_TRUE(CheckOwnPaths(options).ok());
  }
}

TEST_F(MountPoint, LogFileNeedsItsDirectory) {
  options_.log_file = root_ + "/missing/log";
  const Status status = CheckOwnPaths(options_);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.code(), ErrorCode::kNotFound);
  EXPECT_THAT(status.error().text(), HasSubstr("mkdir -p " + root_ + "/missing"));
}

TEST(SystemMounts, DetachesARealMount) {
  std::string path = ::testing::TempDir() + "kvpagefs_detach_XXXXXX";
  ASSERT_NE(mkdtemp(path.data()), nullptr);
  path = std::filesystem::canonical(path).string();
  if (mount("none", path.c_str(), "tmpfs", 0, "size=4096") != 0) {
    std::filesystem::remove(path);
    GTEST_SKIP() << "this user may not mount";
  }
  const MountSystem system = SystemMounts();
  EXPECT_EQ(system.probe(path), 0);
  EXPECT_EQ(system.probe(path + "/missing"), ENOENT);
  EXPECT_TRUE(system.detach(path).ok());
  EXPECT_FALSE(system.detach(path).ok());
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace kvpagefs
