#include "meta/server_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "base/checksum.h"

namespace kvpagefs {
namespace {

constexpr const char* kNodesFile = "NODES";
constexpr const char* kNewNodesFile = "NODES.new";
constexpr const char* kDeletedFile = "DELETED";
constexpr const char* kOldDeletedFile = "DELETED.old";
constexpr size_t kRecordBytes = 16;
constexpr size_t kReadRecords = 4096;

uint64_t ChecksumOf(std::string_view text) { return Checksum(std::as_bytes(std::span(text.data(), text.size()))); }

void PutNumber(std::string* out, uint64_t value) {
  for (int i = 0; i < 8; ++i) out->push_back(static_cast<char>(value >> (8 * i) & 0xFF));
}

uint64_t GetNumber(const char* at) {
  uint64_t value = 0;
  for (int i = 7; i >= 0; --i) value = value << 8 | static_cast<uint8_t>(at[i]);
  return value;
}

std::string EncodeDeleted(PageId page) {
  std::string record;
  PutNumber(&record, page.value);
  PutNumber(&record, ChecksumOf(record));
  return record;
}

Status WriteAll(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return Error::FromSystem(errno, path + ": cannot be written");
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return {};
}

// The records of one file; a file that is missing has none.
void ReadRecords(const std::string& path, const std::function<void(PageId)>& visit) {
  std::ifstream file(path, std::ios::binary);
  std::array<char, kRecordBytes * kReadRecords> buffer{};
  while (file) {
    file.read(buffer.data(), buffer.size());
    const auto got = static_cast<size_t>(file.gcount());
    for (size_t at = 0; at + kRecordBytes <= got; at += kRecordBytes) {
      const char* const id = buffer.data() + at;
      if (GetNumber(id + 8) == ChecksumOf({id, 8})) visit(PageId{GetNumber(id)});
    }
  }
}

}  // namespace

ServerFiles::~ServerFiles() {
  if (deleted_fd_ >= 0) close(deleted_fd_);
}

Result<std::vector<NodeTable::Known>> ServerFiles::LoadNodes() const {
  const std::string path = PathOf(kNodesFile);
  const Error damaged(ErrorCode::kInvalid, path + ": damaged");
  std::vector<NodeTable::Known> nodes;
  if (access(path.c_str(), F_OK) != 0) return nodes;
  std::ifstream file(path, std::ios::binary);
  std::string text;
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    NodeTable::Known known;
    std::string first;
    if (!(words >> first)) return damaged;
    if (first == "end") {
      std::string sum;
      words >> sum;
      if (sum != fmt::format("{:016x}", ChecksumOf(text))) return damaged;
      return nodes;
    }
    unsigned number = 0;
    if (std::sscanf(first.c_str(), "%5u", &number) != 1 || number > UINT16_MAX) return damaged;
    known.number = static_cast<uint16_t>(number);
    if (!(words >> known.identity >> known.name)) return damaged;
    nodes.push_back(std::move(known));
    text += line + "\n";
  }
  return damaged;
}

Status ServerFiles::SaveNodes(const std::vector<NodeTable::Known>& nodes) const {
  std::string text;
  for (const NodeTable::Known& known : nodes) {
    text += fmt::format("{} {} {}\n", known.number, known.identity, known.name);
  }
  text += fmt::format("end {:016x}\n", ChecksumOf(text));
  const std::string path = PathOf(kNewNodesFile);
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return Error::FromSystem(errno, path + ": cannot be made");
  Status saved = WriteAll(fd, text, path);
  if (saved.ok() && fsync(fd) != 0) saved = Error::FromSystem(errno, path + ": cannot be written");
  close(fd);
  if (!saved.ok()) return saved;
  if (std::rename(path.c_str(), PathOf(kNodesFile).c_str()) != 0) return Error::FromSystem(errno, path + ": rename");
  const int dir_fd = open(dir_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (dir_fd < 0) return Error::FromSystem(errno, dir_);
  if (fsync(dir_fd) != 0) saved = Error::FromSystem(errno, dir_ + ": cannot be written");
  close(dir_fd);
  return saved;
}

Status ServerFiles::LoadDeleted(const std::function<void(PageId)>& visit) {
  ReadRecords(PathOf(kOldDeletedFile), visit);
  ReadRecords(PathOf(kDeletedFile), visit);
  return OpenDeleted();
}

Status ServerFiles::OpenDeleted() {
  const std::string path = PathOf(kDeletedFile);
  deleted_fd_ = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (deleted_fd_ < 0) return Error::FromSystem(errno, path + ": cannot be opened");
  struct stat status = {};
  if (fstat(deleted_fd_, &status) != 0) return Error::FromSystem(errno, path);
  records_ = static_cast<uint64_t>(status.st_size) / kRecordBytes;
  // A crash may have left a piece of a record.
  const auto whole = static_cast<off_t>(records_ * kRecordBytes);
  if (ftruncate(deleted_fd_, whole) != 0) return Error::FromSystem(errno, path + ": cannot be shortened");
  return {};
}

Status ServerFiles::AppendDeleted(const std::vector<PageId>& pages) {
  if (pages.empty()) return {};
  const std::string path = PathOf(kDeletedFile);
  if (deleted_fd_ >= 0 && records_ >= kMaxRecords) {
    close(deleted_fd_);
    deleted_fd_ = -1;
    if (std::rename(path.c_str(), PathOf(kOldDeletedFile).c_str()) != 0) {
      return Error::FromSystem(errno, path + ": rename");
    }
  }
  if (deleted_fd_ < 0) {
    if (Status opened = OpenDeleted(); !opened.ok()) return opened;
  }
  std::string bytes;
  for (const PageId page : pages) bytes += EncodeDeleted(page);
  Status written = WriteAll(deleted_fd_, bytes, path);
  records_ += pages.size();
  if (!written.ok()) {
    // Opened again, and cut to whole records, at the next call.
    close(deleted_fd_);
    deleted_fd_ = -1;
  }
  return written;
}

}  // namespace kvpagefs
