#include "spill/disk_files.h"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "spill/disk_error.h"
#include "spill/extent.h"
#include "spill/segment_source.h"

namespace kvpagefs {
namespace {

constexpr std::string_view kRegionPrefix = "region-";
constexpr size_t kRegionDigits = 16;
constexpr size_t kMaxSmallName = 64;
constexpr size_t kZeroBytes = size_t{1} << 20;
constexpr int kMaxInterruptions = 1000;

bool IsLowerOrDigit(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

// tmpfs takes O_DIRECT and copies all the same.
bool MayBeDirect(int directory_fd) {
  struct statfs info = {};
  if (fstatfs(directory_fd, &info) != 0) return false;
  const auto kind = static_cast<uint64_t>(info.f_type);
  return kind != TMPFS_MAGIC && kind != RAMFS_MAGIC;
}

// False where blocks of kBlockBytes cannot be transferred directly.
bool TakesOurBlocks(int fd) {
#ifdef STATX_DIOALIGN
  struct statx info = {};
  if (statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &info) != 0 || (info.stx_mask & STATX_DIOALIGN) == 0) return true;
  return info.stx_dio_offset_align != 0 && info.stx_dio_offset_align <= kBlockBytes &&
         info.stx_dio_mem_align <= kBlockBytes;
#else
  return fd >= 0;
#endif
}

// 0 or an errno.
int WriteZeros(int fd, uint64_t bytes) {
  const std::vector<std::byte> zeros(static_cast<size_t>(std::min<uint64_t>(bytes, kZeroBytes)));
  while (bytes > 0) {
    const uint64_t part = std::min<uint64_t>(bytes, zeros.size());
    if (const int failed = WriteAll(fd, std::span(zeros).first(part)); failed != 0) return failed;
    bytes -= part;
  }
  return fdatasync(fd) == 0 ? 0 : errno;
}

// 0 or an errno.
int Allocate(int fd, uint64_t bytes) {
  int failed = EINTR;
  for (int i = 0; failed == EINTR && i < kMaxInterruptions; ++i) {
    failed = fallocate(fd, 0, 0, static_cast<off_t>(bytes)) == 0 ? 0 : errno;
  }
  return failed == EOPNOTSUPP ? WriteZeros(fd, bytes) : failed;
}

Error BadName(std::string_view name) {
  return {ErrorCode::kInvalid, fmt::format("'{}' is no name of a file in an SSD directory", name)};
}

}  // namespace

bool IsRegionName(std::string_view name) {
  if (name.size() != kRegionPrefix.size() + kRegionDigits || !name.starts_with(kRegionPrefix)) return false;
  return std::ranges::all_of(name.substr(kRegionPrefix.size()),
                             [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool IsSmallFileName(std::string_view name) {
  if (name.empty() || name.size() > kMaxSmallName || !IsLowerOrDigit(name.front())) return false;
  if (name.ends_with(".new") || name.starts_with(kRegionPrefix)) return false;
  if (name == kIdentityFile || name == kOwnerLockFile) return false;
  return std::ranges::all_of(name, [](char c) { return IsLowerOrDigit(c) || c == '.' || c == '-' || c == '_'; });
}

OpenFile::~OpenFile() { close(fd); }

DiskFiles::DiskFiles(std::string path, int directory_fd, std::shared_ptr<void> owner_lock)
    : path_(std::move(path)),
      directory_fd_(directory_fd),
      owner_lock_(std::move(owner_lock)),
      direct_(MayBeDirect(directory_fd)) {}

DiskFiles::~DiskFiles() { close(directory_fd_); }

Result<std::vector<SsdDisk::FileInfo>> DiskFiles::List() const {
  // A descriptor of its own: the position of a directory belongs to the open file.
  OwnedFd fd(openat(directory_fd_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.get() < 0) return DiskError(errno, path_);
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(fdopendir(fd.get()), closedir);
  if (dir == nullptr) return DiskError(errno, path_);
  (void)fd.Release();
  std::vector<SsdDisk::FileInfo> found;
  for (;;) {
    errno = 0;
    const dirent* const entry = readdir(dir.get());
    if (entry == nullptr && errno != 0) return DiskError(errno, path_);
    if (entry == nullptr) break;
    struct stat info = {};
    if (!IsRegionName(entry->d_name) || fstatat(directory_fd_, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0 ||
        !IsOwnFile(info)) {
      continue;
    }
    found.push_back({.name = entry->d_name,
                     .bytes = static_cast<uint64_t>(info.st_size),
                     .allocated_bytes = static_cast<uint64_t>(info.st_blocks) * 512});
  }
  return found;
}

Result<std::unique_ptr<OpenFile>> DiskFiles::Open(std::string_view name, uint64_t bytes_if_new) const {
  if (!IsRegionName(name)) return BadName(name);
  Result<std::unique_ptr<OpenFile>> existing = OpenExisting(name);
  if (existing.ok() || existing.code() != ErrorCode::kNotFound) return existing;
  return Make(name, bytes_if_new);
}

Result<std::unique_ptr<OpenFile>> DiskFiles::OpenExisting(std::string_view name) const {
  Result<int> fd = OpenOwnFile(Directory(), name, O_RDWR);
  if (!fd.ok() && fd.code() != ErrorCode::kNotFound && fd.code() != ErrorCode::kInvalid) {
    // Read-only file system, or an immutable file.
    if (const Result<int> readable = OpenOwnFile(Directory(), name, O_RDONLY); readable.ok()) fd = *readable;
  }
  if (!fd.ok()) return fd.error();
  return Wrap(name, *fd);
}

Result<std::unique_ptr<OpenFile>> DiskFiles::Make(std::string_view name, uint64_t bytes) const {
  const Result<int> made = MakeOwnFile(Directory(), name, O_RDWR);
  if (!made.ok()) return made.error();
  OwnedFd fd(*made);
  if (const int failed = Allocate(fd.get(), bytes); failed != 0) {
    (void)unlinkat(directory_fd_, std::string(name).c_str(), 0);
    return DiskError(failed, fmt::format("{}: {} bytes", Directory().PathOf(name), bytes));
  }
  return Wrap(name, fd.Release());
}

std::unique_ptr<OpenFile> DiskFiles::Wrap(std::string_view name, int fd) const {
  auto file = std::make_unique<OpenFile>(Directory().PathOf(name), fd);
  // Set afterwards: an open that is refused because of O_DIRECT may have made the file nevertheless.
  file->direct = direct_ && TakesOurBlocks(fd) && fcntl(fd, F_SETFL, O_DIRECT) == 0;
  return file;
}

Status DiskFiles::Remove(std::string_view name) const {
  if (!IsRegionName(name) && !IsSmallFileName(name)) return BadName(name);
  const std::string file(name);
  struct stat info = {};
  if (fstatat(directory_fd_, file.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return {};
    return DiskError(errno, Directory().PathOf(name));
  }
  if (!IsOwnFile(info)) {
    return Error(ErrorCode::kInvalid, fmt::format("{} is not a file of ours: left alone", Directory().PathOf(name)));
  }
  const Result<int> opened = OpenOwnFile(Directory(), name, O_WRONLY);
  const OwnedFd fd(opened.ok() ? *opened : -1);
  if (unlinkat(directory_fd_, file.c_str(), 0) != 0 && errno != ENOENT) {
    return DiskError(errno, Directory().PathOf(name));
  }
  // The ring's table lets go of a closed file a little later; the blocks are wanted now.
  if (fd.get() >= 0 && ftruncate(fd.get(), 0) != 0) errno = 0;
  return {};
}

Status DiskFiles::SyncDirectory() const { return SyncDirectoryRef(Directory()); }

Result<std::vector<std::byte>> DiskFiles::ReadSmall(std::string_view name, uint64_t max_bytes) const {
  if (!IsSmallFileName(name)) return BadName(name);
  return ReadOwnFile(Directory(), name, max_bytes);
}

Status DiskFiles::AppendSmall(std::string_view name, std::span<const std::byte> bytes) {
  if (!IsSmallFileName(name)) return BadName(name);
  const MutexLock lock(small_mutex_);
  Result<int> opened = OpenOwnFile(Directory(), name, O_WRONLY | O_APPEND);
  if (!opened.ok() && opened.code() == ErrorCode::kNotFound) {
    opened = MakeOwnFile(Directory(), name, O_WRONLY | O_APPEND);
    small_file_made_ = small_file_made_ || opened.ok();
  }
  if (!opened.ok()) return opened.error();
  const OwnedFd fd(*opened);
  struct stat before = {};
  if (fstat(fd.get(), &before) != 0) return DiskError(errno, Directory().PathOf(name));
  const int failed = WriteAll(fd.get(), bytes);
  if (failed == 0) return {};
  // All or nothing as far as the disk lets us; a rest that stays is the reader's to recognise.
  if (ftruncate(fd.get(), before.st_size) != 0) errno = 0;
  return DiskError(failed, Directory().PathOf(name));
}

Status DiskFiles::SyncSmall(std::string_view name) {
  if (!IsSmallFileName(name)) return BadName(name);
  const Result<int> opened = OpenOwnFile(Directory(), name, O_RDONLY);
  if (!opened.ok()) return opened.error();
  const OwnedFd fd(*opened);
  if (fdatasync(fd.get()) != 0) return DiskError(errno, fmt::format("{}: fdatasync", Directory().PathOf(name)));
  const MutexLock lock(small_mutex_);
  if (!small_file_made_) return {};
  const Status synced = SyncDirectory();
  small_file_made_ = !synced.ok();
  return synced;
}

Status DiskFiles::ReplaceSmall(std::string_view name, std::span<const std::byte> bytes) {
  if (!IsSmallFileName(name)) return BadName(name);
  const MutexLock lock(small_mutex_);
  return ReplaceOwnFile(Directory(), name, bytes);
}

}  // namespace kvpagefs
