// Directories, file systems and children for the tests of the disks.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit/temp_dir.h"

namespace kvpagefs::disk_test {

constexpr uint64_t kMiB = uint64_t{1} << 20;

using test_files::TempDir;
using test_files::WriteFile;

inline std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline std::string RegionName(uint64_t number) { return fmt::format("region-{:016x}", number); }

// Polls; false after a minute.
inline bool WaitUntil(const std::function<bool()>& condition) {
  for (int i = 0; i < 60'000; ++i) {
    if (condition()) return true;
    poll(nullptr, 0, 1);
  }
  return condition();
}

// A file system of the test's own; null where this user may not mount.
class Mount {
 public:
  // "size=1m,nr_inodes=8"
  static std::unique_ptr<Mount> Tmpfs(const std::string& options) {
    std::unique_ptr<Mount> made(new Mount());
    if (mount("tmpfs", made->path().c_str(), "tmpfs", 0, options.c_str()) != 0) return nullptr;
    made->mounted_ = true;
    return made;
  }
  // ext4 in a file behind a loop device.
  static std::unique_ptr<Mount> Ext4(uint64_t bytes, const std::string& make_options = "") {
    std::unique_ptr<Mount> made(new Mount());
    const std::string image = made->home_ / "image";
    WriteFile(image, "");
    if (truncate(image.c_str(), static_cast<off_t>(bytes)) != 0) return nullptr;
    const std::string command = fmt::format("PATH=$PATH:/sbin:/usr/sbin; mkfs.ext4 -q -F {} {} && mount -o loop {} {}",
                                            make_options, image, image, made->path());
    if (geteuid() != 0 || std::system((command + " 2>/dev/null").c_str()) != 0) return nullptr;
    made->mounted_ = true;
    return made;
  }
  ~Mount() {
    if (mounted_) umount2(path().c_str(), MNT_DETACH);
  }
  Mount(const Mount&) = delete;
  Mount& operator=(const Mount&) = delete;

  std::string path() const { return home_ / "mount"; }
  std::string operator/(const std::string& name) const { return path() + "/" + name; }
  // 0 or an errno.
  int Remount(bool read_only) const {
    return mount(nullptr, path().c_str(), nullptr, MS_REMOUNT | (read_only ? MS_RDONLY : 0), nullptr) == 0 ? 0 : errno;
  }
  // Writers wait in the kernel until Thaw.
  bool Freeze() const { return Control(FIFREEZE); }
  bool Thaw() const { return Control(FITHAW); }
  // False while it is in use.
  bool Unmount() {
    if (umount2(path().c_str(), 0) != 0) return false;
    mounted_ = false;
    return true;
  }

 private:
  Mount() { std::filesystem::create_directory(path()); }
  bool Control(unsigned long request) const {
    const int fd = open(path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool ok = ioctl(fd, request, 0) == 0;
    close(fd);
    return ok;
  }
  TempDir home_;
  bool mounted_ = false;
};

// The exit status of a child that ran `body`; 255 when it did not end by itself within a minute.
inline int RunInChild(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    _exit(body());
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return 255;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

// In a child: a line with what is wrong, and a status that says so.
inline int Fail(const std::string& what) {
  fmt::print(stderr, "child: {}\n", what);
  return 1;
}

// From here on io_uring_setup fails with this errno in this process.
inline bool ForbidIoUring(uint32_t errno_value) {
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | errno_value),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program = {.len = std::size(code), .filter = code};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

}  // namespace kvpagefs::disk_test
