#include "spill/owner_lock.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <limits.h>
#include <sys/file.h>
#include <unistd.h>

#include "spill/disk_error.h"
#include "spill/disk_files.h"

namespace kvpagefs {
namespace {

constexpr size_t kMaxLine = 300;
constexpr size_t kMaxBytes = 4 * kMaxLine;

// Another process wrote it, or anybody did.
std::string OneLine(std::string_view text) {
  std::string line(text.substr(0, kMaxLine));
  std::ranges::replace_if(line, [](char c) { return c >= 0 && c < ' '; }, ' ');
  return line;
}

std::string HostName() {
  std::array<char, HOST_NAME_MAX + 1> name = {};
  if (gethostname(name.data(), name.size() - 1) != 0) return "?";
  return OneLine(name.data());
}

// What follows `key` and a space in its line.
std::string Field(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    if (line.size() > key.size() && line.starts_with(key) && line[key.size()] == ' ') {
      return OneLine(line.substr(key.size() + 1));
    }
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
  return {};
}

std::string DescribeOwner(const DirectoryRef& directory) {
  const Result<std::vector<std::byte>> bytes = ReadOwnFile(directory, kOwnerLockFile, kMaxBytes);
  if (!bytes.ok()) return "another process";
  const std::string_view text(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  const std::string process = Field(text, "process");
  const std::string host = Field(text, "host");
  const std::string owner = Field(text, "owner");
  if (process.empty()) return "another process";
  return fmt::format("process {}{}{}", process, host.empty() || host == HostName() ? "" : " on host " + host,
                     owner.empty() ? "" : " (" + owner + ")");
}

Result<int> OpenLockFile(const DirectoryRef& directory) {
  // For reading: a file that is open for writing would keep the file system from being made read-only.
  Result<int> fd = OpenOwnFile(directory, kOwnerLockFile, O_RDONLY);
  if (fd.ok() || fd.code() != ErrorCode::kNotFound) return fd;
  fd = MakeOwnFile(directory, kOwnerLockFile, O_RDONLY);
  // Another process was faster.
  if (!fd.ok() && fd.code() == ErrorCode::kExists) return OpenOwnFile(directory, kOwnerLockFile, O_RDONLY);
  return fd;
}

}  // namespace

Result<std::unique_ptr<OwnerLock>> OwnerLock::Take(const DirectoryRef& directory, const std::string& owner_text) {
  const Result<int> opened = OpenLockFile(directory);
  if (!opened.ok()) return opened.error();
  std::unique_ptr<OwnerLock> lock(new OwnerLock(*opened));
  if (flock(*opened, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return DiskError(errno, directory.PathOf(kOwnerLockFile));
    return Error(ErrorCode::kUnavailable, fmt::format("{} is in use by {}: stop it, or name another directory",
                                                      directory.path, DescribeOwner(directory)));
  }
  const std::string text = fmt::format("process {}\nhost {}\nowner {}\n", getpid(), HostName(), OneLine(owner_text));
  // The lock holds without the text too: a full disk must not keep anybody from starting.
  if (const Result<int> writable = OpenOwnFile(directory, kOwnerLockFile, O_WRONLY | O_TRUNC); writable.ok()) {
    const OwnedFd fd(*writable);
    (void)WriteAll(fd.get(), std::as_bytes(std::span(text)));
  }
  return lock;
}

}  // namespace kvpagefs
