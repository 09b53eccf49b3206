#include "tools/file_ops.h"

#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

namespace kvpagefs {
namespace {

Error SystemError(const char* operation, const std::string& path) {
  const int errno_value = errno;
  return Error::FromSystem(errno_value, fmt::format("{} '{}'", operation, path));
}

}  // namespace

Result<UniqueFd> OpenFile(const std::string& path, int flags) {
  UniqueFd fd(::open(path.c_str(), flags | O_CLOEXEC, 0644));
  if (!fd.valid()) return SystemError("open", path);
  return fd;
}

Status WriteAll(int fd, std::span<const std::byte> bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return SystemError("write", path);
    }
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return {};
}

Status ReadWhole(int fd, std::span<std::byte> bytes, const std::string& path) {
  const ssize_t got = ::pread(fd, bytes.data(), bytes.size(), 0);
  if (got < 0) return SystemError("read", path);
  if (static_cast<size_t>(got) != bytes.size()) {
    return Error(ErrorCode::kLost, fmt::format("read '{}': short, {} of {} bytes", path, got, bytes.size()));
  }
  return {};
}

Status CloseFile(UniqueFd fd, const std::string& path) {
  if (::close(fd.Release()) != 0) return SystemError("close", path);
  return {};
}

Status DropCache(int fd, const std::string& path) {
  if (::fdatasync(fd) != 0) return SystemError("fdatasync", path);
  if (const int error = ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED); error != 0) {
    return Error::FromSystem(error, fmt::format("fadvise '{}'", path));
  }
  return {};
}

Status WriteFile(const std::string& path, std::span<const std::byte> bytes) {
  Result<UniqueFd> fd = OpenFile(path, O_WRONLY | O_CREAT | O_TRUNC);
  if (!fd) return fd.error();
  if (Status written = WriteAll(fd->get(), bytes, path); !written) return written;
  return CloseFile(std::move(*fd), path);
}

Status ReadFile(const std::string& path, int flags, std::span<std::byte> bytes) {
  Result<UniqueFd> fd = OpenFile(path, O_RDONLY | flags);
  if (!fd) return fd.error();
  if (Status read = ReadWhole(fd->get(), bytes, path); !read) return read;
  return CloseFile(std::move(*fd), path);
}

Status MakeDirectory(const std::string& path) {
  if (::mkdir(path.c_str(), 0755) != 0) return SystemError("mkdir", path);
  return {};
}

Status CheckDirectory(const std::string& path, const std::string& option) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) {
    return Error::FromSystem(errno, fmt::format("{} '{}': name a directory that exists", option, path));
  }
  if (!S_ISDIR(status.st_mode)) {
    return Error(ErrorCode::kNotDirectory, fmt::format("{} '{}' is not a directory", option, path));
  }
  return {};
}

void RemoveTree(const std::string& path) {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

}  // namespace kvpagefs
