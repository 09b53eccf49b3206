// A segment in a regular file: the bytes, then one block that marks the file as ours.
//
// The mark is written before anything else changes, so a crash at any moment leaves a file that is empty or marked, and
// the next start can use it.
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/size.h"
#include "spill/extent.h"
#include "spill/segment_source.h"

namespace kvpagefs {
namespace {

constexpr char kMark[] = "KVPSEG1\n";
constexpr size_t kMarkBytes = sizeof(kMark) - 1;

struct TargetFile {
  std::string option;  // "--memory-path PATH"
  std::string path;
  uint64_t bytes;
};

Error Refuse(const TargetFile& file, const char* why) {
  return Error(ErrorCode::kInvalid, fmt::format("{}: {}", file.option, why));
}

// The size of a file that is empty or has the mark; an error for everything else.
Result<uint64_t> CheckOwnership(int fd, const TargetFile& file) {
  struct stat info = {};
  if (fstat(fd, &info) != 0) return Error::FromSystem(errno, file.option);
  if (!S_ISREG(info.st_mode)) {
    return Refuse(file, "neither a regular file nor a DAX device: name a file that kvpagefs may create");
  }
  struct statfs system = {};
  if (fstatfs(fd, &system) != 0) return Error::FromSystem(errno, file.option);
  if (static_cast<uint64_t>(system.f_type) == HUGETLBFS_MAGIC) {
    return Refuse(file, "is on hugetlbfs: leave --memory-path out and use --huge-pages on");
  }
  const uint64_t old_bytes = static_cast<uint64_t>(info.st_size);
  if (old_bytes == 0) return old_bytes;
  std::array<char, kMarkBytes> found = {};
  const bool marked = old_bytes > kBlockBytes && old_bytes % kBlockBytes == 0 &&
                      pread(fd, found.data(), found.size(), static_cast<off_t>(old_bytes - kBlockBytes)) ==
                          static_cast<ssize_t>(found.size()) &&
                      std::memcmp(found.data(), kMark, kMarkBytes) == 0;
  if (!marked) return Refuse(file, "has contents that are not kvpagefs's: name another file, or remove it");
  return old_bytes;
}

Status WriteMark(int fd, const TargetFile& file) {
  std::array<char, kBlockBytes> block = {};
  const std::string text =
      fmt::format("{}memory segment of kvpagefs, {} bytes, process {}\n", kMark, file.bytes, getpid());
  std::memcpy(block.data(), text.data(), text.size());
  const ssize_t written = pwrite(fd, block.data(), block.size(), static_cast<off_t>(file.bytes));
  if (written == static_cast<ssize_t>(block.size())) return {};
  return Error::FromSystem(written < 0 ? errno : ENOSPC, file.option);
}

// The mark at its new place first, then the blocks, then the end.
Status Resize(int fd, const TargetFile& file) {
  if (const Status marked = WriteMark(fd, file); !marked.ok()) return marked;
  int result = EINTR;
  while (result == EINTR) result = posix_fallocate(fd, 0, static_cast<off_t>(file.bytes + kBlockBytes));
  if (result == ENOSPC || result == EFBIG) {
    return Error(ErrorCode::kNoSpace, fmt::format("{}: its file system has no room for {}: choose a smaller --memory",
                                                  file.option, FormatSize(file.bytes)));
  }
  if (result != 0) return Error::FromSystem(result, file.option);
  if (ftruncate(fd, static_cast<off_t>(file.bytes + kBlockBytes)) != 0) return Error::FromSystem(errno, file.option);
  return {};
}

// The file is locked.
Result<MappedMemory> Prepare(OwnedFd& fd, const TargetFile& file) {
  const Result<uint64_t> old_bytes = CheckOwnership(fd.get(), file);
  if (!old_bytes.ok()) return old_bytes.error();
  if (const Status resized = Resize(fd.get(), file); !resized.ok()) {
    // As it was. The mark of an older, smaller segment is still there.
    if (ftruncate(fd.get(), static_cast<off_t>(*old_bytes)) != 0) return Error::FromSystem(errno, file.option);
    return resized.error();
  }
  Result<MappedMemory> mapped = MapDescriptor(fd, file.bytes, file.option);
  if (mapped.ok()) mapped->description = "file " + file.path;
  return mapped;
}

}  // namespace

Result<MappedMemory> MapFile(const std::string& path, uint64_t bytes) {
  TargetFile file{.option = "--memory-path " + path, .path = path, .bytes = bytes};
  // NONBLOCK: a FIFO in its place must not stop us.
  constexpr int kFlags = O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
  OwnedFd fd(open(path.c_str(), kFlags | O_CREAT | O_EXCL, 0600));
  if (fd.get() < 0 && errno == EEXIST) {
    OwnedFd existing(open(path.c_str(), kFlags));
    if (existing.get() < 0 && errno == EISDIR) return Refuse(file, "is a directory: name a file in it");
    if (existing.get() < 0) return Error::FromSystem(errno, file.option);
    if (const Status locked = LockDescriptor(existing.get(), file.path); !locked.ok()) return locked.error();
    return Prepare(existing, file);
  }
  if (fd.get() < 0 && errno == ENOENT) return Refuse(file, "its directory does not exist: create it first");
  if (fd.get() < 0) return Error::FromSystem(errno, file.option);
  if (const Status locked = LockDescriptor(fd.get(), file.path); !locked.ok()) return locked.error();
  Result<MappedMemory> mapped = Prepare(fd, file);
  if (!mapped.ok()) unlink(path.c_str());
  return mapped;
}

}  // namespace kvpagefs
