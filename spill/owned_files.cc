#include "spill/owned_files.h"

#include <cerrno>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "spill/disk_error.h"
#include "spill/segment_source.h"

namespace kvpagefs {
namespace {

constexpr int kAlways = O_CLOEXEC | O_NOFOLLOW | O_NOCTTY;
constexpr int kMaxInterruptions = 1000;

Error Foreign(const std::string& path, const struct stat& info) {
  const char* const what = S_ISLNK(info.st_mode)    ? "a symbolic link"
                           : S_ISDIR(info.st_mode)  ? "a directory"
                           : !S_ISREG(info.st_mode) ? "not a regular file"
                           : info.st_nlink != 1     ? "a file with another name elsewhere"
                                                    : "a file of another user";
  return {ErrorCode::kInvalid, fmt::format("{} is {}: left alone", path, what)};
}

// 0 or an errno.
int Sync(int fd) {
  int result = 0;
  for (int i = 0; i < kMaxInterruptions; ++i) {
    result = fsync(fd) == 0 ? 0 : errno;
    if (result != EINTR) break;
  }
  return result;
}

}  // namespace

std::string DirectoryRef::PathOf(std::string_view name) const { return fmt::format("{}/{}", path, name); }

bool IsOwnFile(const struct stat& info) {
  return S_ISREG(info.st_mode) && info.st_nlink == 1 && info.st_uid == geteuid();
}

Result<int> OpenOwnFile(const DirectoryRef& directory, std::string_view name, int flags) {
  const std::string file(name);
  struct stat info = {};
  if (fstatat(directory.fd, file.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
    return DiskError(errno, directory.PathOf(name));
  }
  if (!IsOwnFile(info)) return Foreign(directory.PathOf(name), info);
  // NONBLOCK: should a fifo have come in between, the open does not wait for its other end.
  OwnedFd fd(openat(directory.fd, file.c_str(), flags | kAlways | O_NONBLOCK));
  if (fd.get() < 0) return DiskError(errno, directory.PathOf(name));
  if (fstat(fd.get(), &info) != 0) return DiskError(errno, directory.PathOf(name));
  if (!IsOwnFile(info)) return Foreign(directory.PathOf(name), info);
  // io_uring would answer EAGAIN instead of waiting.
  if (fcntl(fd.get(), F_SETFL, flags & (O_APPEND | O_DIRECT)) != 0) return DiskError(errno, directory.PathOf(name));
  return fd.Release();
}

Result<int> MakeOwnFile(const DirectoryRef& directory, std::string_view name, int flags) {
  const int fd = openat(directory.fd, std::string(name).c_str(), flags | kAlways | O_CREAT | O_EXCL, 0600);
  if (fd < 0) return DiskError(errno, directory.PathOf(name));
  return fd;
}

Result<std::vector<std::byte>> ReadOwnFile(const DirectoryRef& directory, std::string_view name, uint64_t max_bytes) {
  const Result<int> opened = OpenOwnFile(directory, name, O_RDONLY);
  if (!opened.ok()) return opened.error();
  const OwnedFd fd(*opened);
  struct stat info = {};
  if (fstat(fd.get(), &info) != 0) return DiskError(errno, directory.PathOf(name));
  if (static_cast<uint64_t>(info.st_size) > max_bytes) {
    return Error(ErrorCode::kTooLarge, fmt::format("{} has {} bytes, more than {} are never written",
                                                   directory.PathOf(name), info.st_size, max_bytes));
  }
  std::vector<std::byte> bytes(static_cast<size_t>(info.st_size));
  size_t got = 0;
  int interruptions = 0;
  while (got < bytes.size()) {
    const ssize_t result = pread(fd.get(), bytes.data() + got, bytes.size() - got, static_cast<off_t>(got));
    if (result < 0 && errno == EINTR && ++interruptions < kMaxInterruptions) continue;
    if (result < 0) return DiskError(errno, directory.PathOf(name));
    if (result == 0) break;
    got += static_cast<size_t>(result);
  }
  bytes.resize(got);
  return bytes;
}

int WriteAll(int fd, std::span<const std::byte> bytes) {
  int interruptions = 0;
  while (!bytes.empty()) {
    const ssize_t result = write(fd, bytes.data(), bytes.size());
    if (result < 0 && errno == EINTR && ++interruptions < kMaxInterruptions) continue;
    if (result < 0) return errno;
    if (result == 0) return ENOSPC;
    bytes = bytes.subspan(static_cast<size_t>(result));
  }
  return 0;
}

Status ReplaceOwnFile(const DirectoryRef& directory, std::string_view name, std::span<const std::byte> bytes) {
  const std::string target(name);
  const std::string temporary = target + ".new";
  Result<int> made = MakeOwnFile(directory, temporary, O_WRONLY);
  if (!made.ok() && made.code() == ErrorCode::kExists) {
    // Left by a process that was killed in here. What is foreign stays, and is named.
    const Result<int> left = OpenOwnFile(directory, temporary, O_RDONLY);
    if (!left.ok()) return left.error();
    close(*left);
    if (unlinkat(directory.fd, temporary.c_str(), 0) != 0) return DiskError(errno, directory.PathOf(temporary));
    made = MakeOwnFile(directory, temporary, O_WRONLY);
  }
  if (!made.ok()) return made.error();
  const OwnedFd fd(*made);
  int failed = WriteAll(fd.get(), bytes);
  if (failed == 0) failed = Sync(fd.get());
  if (failed == 0 && renameat(directory.fd, temporary.c_str(), directory.fd, target.c_str()) != 0) failed = errno;
  if (failed != 0) {
    (void)unlinkat(directory.fd, temporary.c_str(), 0);
    return DiskError(failed, directory.PathOf(name));
  }
  return SyncDirectoryRef(directory);
}

Status SyncDirectoryRef(const DirectoryRef& directory) {
  if (const int failed = Sync(directory.fd); failed != 0) {
    return DiskError(failed, fmt::format("{}: fsync of the directory", directory.path));
  }
  return {};
}

}  // namespace kvpagefs
