#include "meta/state_dir.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace kvpagefs {
namespace {

constexpr const char* kMarkTemporary = "KVPAGEFS-STATE.new";
constexpr std::string_view kMarkText = "kvpagefs state ";

// The start of a small file; empty when there is none.
std::string ReadSmall(int dir_fd, const char* name) {
  const int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return {};
  char buffer[64];
  const ssize_t got = read(fd, buffer, sizeof(buffer));
  close(fd);
  return got > 0 ? std::string(buffer, static_cast<size_t>(got)) : std::string();
}

int WriteAll(int fd, std::string_view text) {
  if (ftruncate(fd, 0) != 0) return errno;
  const ssize_t written = pwrite(fd, text.data(), text.size(), 0);
  if (written < 0) return errno;
  return static_cast<size_t>(written) == text.size() ? 0 : ENOSPC;
}

// What an unfinished first start and a fresh file system leave behind is nobody's data.
bool MayBeInEmpty(std::string_view name) {
  return name == "." || name == ".." || name == "lost+found" || name == StateDir::kLockFile || name == kMarkTemporary;
}

// The first name that is not allowed in an empty directory.
std::string ForeignName(int dir_fd) {
  const int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* dir = fd < 0 ? nullptr : fdopendir(fd);
  if (dir == nullptr) {
    if (fd >= 0) close(fd);
    return "?";
  }
  std::string foreign;
  while (const dirent* entry = readdir(dir)) {
    if (!MayBeInEmpty(entry->d_name)) foreign = entry->d_name;
  }
  closedir(dir);
  return foreign;
}

}  // namespace

Result<std::unique_ptr<StateDir>> StateDir::Open(const std::string& path) {
  const std::string option = "--state-dir " + path + ": ";
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    if (errno == ENOENT) {
      return Error(ErrorCode::kNotFound, option + "its parent directory does not exist; create it first");
    }
    return Error::FromSystem(errno, option + "cannot create the directory");
  }
  const int dir_fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (dir_fd < 0) {
    if (errno == ENOTDIR) return Error(ErrorCode::kNotDirectory, option + "not a directory; name one, or a new path");
    return Error::FromSystem(errno, option + "cannot open the directory");
  }
  std::unique_ptr<StateDir> state(new StateDir(path, dir_fd));
  bool marked = false;
  if (Status mark = state->CheckMark(&marked); !mark) return mark.error();
  if (Status lock = state->TakeLock(); !lock) return lock.error();
  // Another process may have been faster in between.
  if (Status mark = state->CheckMark(&marked); !mark) return mark.error();
  if (!marked) {
    if (Status written = state->WriteMark(); !written) return written.error();
  }
  return state;
}

StateDir::~StateDir() {
  if (lock_fd_ >= 0) {
    // The pid inside must not outlive the lock.
    if (ftruncate(lock_fd_, 0) != 0) errno = 0;
    close(lock_fd_);
  }
  close(dir_fd_);
}

Status StateDir::Sync() const {
  if (fsync(dir_fd_) != 0) return Error::FromSystem(errno, path_ + ": fsync");
  return {};
}

Status StateDir::CheckMark(bool* marked) const {
  const std::string mark = ReadSmall(dir_fd_, kMarkFile);
  *marked = mark.starts_with(kMarkText);
  if (*marked) {
    const int version = std::atoi(mark.c_str() + kMarkText.size());
    if (version == kVersion) return {};
    return Refuse(ErrorCode::kInvalid, "format " + std::to_string(version) + " of a newer kvpagefs (this one knows " +
                                           std::to_string(kVersion) + "); use that version or another directory");
  }
  const std::string foreign = ForeignName(dir_fd_);
  if (foreign.empty()) return {};
  return Refuse(ErrorCode::kInvalid, "not a kvpagefs state directory and not empty (it has \"" + foreign +
                                         "\"); name an empty or new directory");
}

Status StateDir::TakeLock() {
  lock_fd_ = openat(dir_fd_, kLockFile, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (lock_fd_ < 0) return Refuse(errno, "cannot write in the directory");
  if (flock(lock_fd_, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return Refuse(errno, "cannot lock the directory");
    const int pid = std::atoi(ReadSmall(dir_fd_, kLockFile).c_str());
    close(lock_fd_);
    lock_fd_ = -1;
    const std::string owner = pid > 0 ? "process " + std::to_string(pid) : std::string("another process");
    return Refuse(ErrorCode::kUnavailable, "in use by " + owner + "; stop it, or name another directory");
  }
  // A full disk must not keep the daemon from starting: the lock holds without the number too.
  (void)WriteAll(lock_fd_, std::to_string(getpid()) + "\n");
  return {};
}

Status StateDir::WriteMark() const {
  const int fd = openat(dir_fd_, kMarkTemporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return Refuse(errno, "cannot write in the directory");
  int failed = WriteAll(fd, std::string(kMarkText) + std::to_string(kVersion) + "\n");
  if (failed == 0 && fsync(fd) != 0) failed = errno;
  close(fd);
  if (failed == 0 && renameat(dir_fd_, kMarkTemporary, dir_fd_, kMarkFile) != 0) failed = errno;
  if (failed != 0) return Refuse(failed, "cannot write in the directory");
  return Sync();
}

Error StateDir::Refuse(int errno_value, const std::string& what) const {
  return Error::FromSystem(errno_value, "--state-dir " + path_ + ": " + what);
}

Error StateDir::Refuse(ErrorCode code, const std::string& what) const {
  return {code, "--state-dir " + path_ + ": " + what};
}

}  // namespace kvpagefs
