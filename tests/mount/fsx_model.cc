#include "tests/mount/fsx_model.h"

#include <algorithm>
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace kvpagefs::mount_test {
namespace {

constexpr size_t kFiles = 8;
constexpr size_t kLoggedSteps = 60;
constexpr size_t kBufferBytes = 64 * 1024;
constexpr uint64_t kAlign = 4096;

std::string Where(uint64_t offset, uint64_t bytes) { return std::to_string(bytes) + " at " + std::to_string(offset); }

}  // namespace

FsxModel::FsxModel(Options options)
    : options_(std::move(options)),
      random_(options_.seed),
      buffer_(kBufferBytes),
      noise_(Pattern(options_.seed, 1 << 20)) {
  for (size_t i = 0; i < kFiles; ++i) {
    files_.emplace_back();
    files_.back().name = "f" + std::to_string(i);
  }
}

void FsxModel::Log(const File& file, const std::string& what) {
  log_.push_back(std::to_string(steps_) + " " + file.name + " " + what);
  if (log_.size() > kLoggedSteps) log_.pop_front();
}

std::string FsxModel::Fail(const std::string& what) const {
  std::string text = what + "\nseed " + std::to_string(options_.seed) + ", last operations:\n";
  for (const std::string& line : log_) text += "  " + line + "\n";
  return text;
}

std::string FsxModel::Expect(const std::string& what, int64_t expected, int64_t got) const {
  if (expected == got) return "";
  return Fail(what + ": expected " + Value(expected) + ", got " + Value(got));
}

void FsxModel::Store(File* file, uint64_t offset, std::string_view bytes) {
  std::string& content = *file->content;
  if (content.size() < offset + bytes.size()) content.resize(offset + bytes.size(), '\0');
  std::memcpy(content.data() + offset, bytes.data(), bytes.size());
}

std::string FsxModel::Step() {
  ++steps_;
  File* file = RandomFile();
  switch (file->state) {
    case State::kClosed: return StepClosed(file);
    case State::kReading: return StepOpen(file);
    case State::kWriting: return Random(2) == 0 ? StepOpen(file) : StepWriting(file);
  }
  return "";
}

std::string FsxModel::StepClosed(File* file) {
  switch (Random(16)) {
    case 0: return Unlink(file);
    case 1: return Rename(file);
    case 2: return TruncateByName(file);
    case 3: return Compare(file);
    case 4:
    case 5:
    case 6:
    case 7: return OpenForReading(file);
    default: return OpenForWriting(file);
  }
}

std::string FsxModel::StepOpen(File* file) {
  const uint64_t choice = Random(100);
  if (choice < 45) return PositionedRead(file);
  if (choice < 80) return Read(file);
  if (choice < 86) return MapRead(file);
  if (choice < 92) return Expect("fstat", static_cast<int64_t>(Bytes(*file).size()), SizeOf(file->fd.get()));
  if (choice < 96) return Close(file);
  if (file->state != State::kReading) return PositionedRead(file);
  switch (Random(3)) {
    case 0: return Unlink(file);
    case 1: return options_.readers_keep_versions ? RewriteByName(file) : "";
    default: return options_.readers_keep_versions ? TruncateByName(file) : "";
  }
}

std::string FsxModel::StepWriting(File* file) {
  const uint64_t choice = Random(100);
  if (choice < 50) return PositionedWrite(file);
  if (choice < 80) return Write(file);
  if (choice < 86) return Truncate(file);
  if (choice < 92) return MapWrite(file);
  if (choice < 94) return Sync(file);
  return Close(file);
}

std::string FsxModel::OpenForReading(File* file) {
  file->direct = Random(4) == 0;
  const int flags = O_RDONLY | (file->direct ? O_DIRECT : 0) | (Random(8) == 0 ? O_NOATIME : 0);
  Log(*file, "open for reading, flags " + std::to_string(flags));
  file->fd = Open(Path(*file), flags);
  if (!file->content) return Expect("open", -ENOENT, file->fd.result());
  if (!file->fd) return Expect("open", 0, file->fd.result());
  file->state = State::kReading;
  file->view = *file->content;
  file->cursor = 0;
  return "";
}

std::string FsxModel::OpenForWriting(File* file) {
  file->direct = Random(4) == 0;
  file->append = Random(10) == 0;
  int flags = O_RDWR | (file->direct ? O_DIRECT : 0) | (file->append ? O_APPEND : 0);
  if (Random(4) != 0) flags |= O_CREAT;
  if (Random(3) == 0) flags |= O_TRUNC;
  if ((flags & O_CREAT) != 0 && Random(6) == 0) flags |= O_EXCL;
  Log(*file, "open for writing, flags " + std::to_string(flags));
  file->fd = Open(Path(*file), flags);
  if (file->content && (flags & O_EXCL) != 0) return Expect("open", -EEXIST, file->fd.result());
  if (!file->content && (flags & O_CREAT) == 0) return Expect("open", -ENOENT, file->fd.result());
  if (!file->fd) return Expect("open", 0, file->fd.result());
  if (!file->content || (flags & O_TRUNC) != 0) file->content = "";
  file->state = State::kWriting;
  file->cursor = 0;
  return "";
}

std::string FsxModel::TruncateByName(File* file) {
  const uint64_t bytes = Random(options_.max_bytes / 4);
  Log(*file, "truncate by name to " + std::to_string(bytes));
  const int64_t got = Sys(truncate(Path(*file).c_str(), static_cast<off_t>(bytes)));
  if (!file->content) return Expect("truncate", -ENOENT, got);
  file->content->resize(bytes, '\0');
  return Expect("truncate", 0, got);
}

// Of a file that is closed, or open for reading: then the reader keeps its bytes.
std::string FsxModel::Unlink(File* file) {
  Log(*file, "unlink");
  const int64_t got = Sys(unlink(Path(*file).c_str()));
  const int64_t expected = file->content ? 0 : -ENOENT;
  file->content.reset();
  return Expect("unlink", expected, got);
}

std::string FsxModel::Rename(File* file) {
  File* to = RandomFile();
  if (to->state == State::kWriting) return "";
  Log(*file, "rename to " + to->name);
  const int64_t got = Sys(rename(Path(*file).c_str(), Path(*to).c_str()));
  if (!file->content) return Expect("rename", -ENOENT, got);
  if (to != file) {
    to->content = std::move(file->content);
    file->content.reset();
  }
  return Expect("rename", 0, got);
}

// Under a reader, who keeps what it opened.
std::string FsxModel::RewriteByName(File* file) {
  const uint64_t length = Random(options_.max_bytes / 8);
  Log(*file, "rewrite by name, " + std::to_string(length) + " bytes");
  file->content = noise_.substr(Random(noise_.size() - length), length);
  return Expect("rewrite", 0, WriteFile(Path(*file), *file->content));
}

std::string FsxModel::Compare(File* file) {
  Log(*file, "compare");
  int64_t error = 0;
  const std::string bytes = ReadFile(Path(*file), &error);
  if (!file->content) return Expect("read whole", -ENOENT, error);
  if (error != 0 || bytes != *file->content) {
    return Fail("whole file: expected " + Digest(*file->content) + ", got " + Value(error) + " " + Digest(bytes));
  }
  return Expect("stat", static_cast<int64_t>(bytes.size()), SizeOf(Path(*file)));
}

std::string FsxModel::PositionedRead(File* file) {
  const std::string& bytes = Bytes(*file);
  uint64_t offset = Random(bytes.size() + bytes.size() / 8 + 2);
  uint64_t length = Random(8) == 0 ? kBufferBytes : 1 + Random(4096);
  if (file->direct) {
    offset = offset / kAlign * kAlign;
    length = std::max(kAlign, length / kAlign * kAlign);
  }
  Log(*file, "pread " + Where(offset, length));
  const int64_t got = Sys(pread(file->fd.get(), buffer_.data(), length, static_cast<off_t>(offset)));
  const uint64_t expected = offset >= bytes.size() ? 0 : std::min<uint64_t>(length, bytes.size() - offset);
  if (got != static_cast<int64_t>(expected)) return Expect("pread", static_cast<int64_t>(expected), got);
  if (std::memcmp(buffer_.data(), bytes.data() + std::min<uint64_t>(offset, bytes.size()), expected) != 0) {
    return Fail("pread: wrong bytes");
  }
  return "";
}

std::string FsxModel::Read(File* file) {
  const std::string& bytes = Bytes(*file);
  uint64_t length = 1 + Random(4096);
  uint64_t start = Random(2) == 0 ? file->cursor : Random(bytes.size() + 1);
  if (file->direct) {
    start = start / kAlign * kAlign;
    length = kAlign * (1 + Random(3));
  }
  Log(*file, "read " + Where(start, length));
  if (Sys(lseek(file->fd.get(), static_cast<off_t>(start), SEEK_SET)) < 0) return Fail("lseek");
  const int64_t got = Sys(read(file->fd.get(), buffer_.data(), length));
  const uint64_t expected = start >= bytes.size() ? 0 : std::min<uint64_t>(length, bytes.size() - start);
  if (got != static_cast<int64_t>(expected)) return Expect("read", static_cast<int64_t>(expected), got);
  file->cursor = start + expected;
  if (std::memcmp(buffer_.data(), bytes.data() + std::min<uint64_t>(start, bytes.size()), expected) != 0) {
    return Fail("read: wrong bytes");
  }
  return "";
}

std::string FsxModel::MapRead(File* file) {
  const std::string& bytes = Bytes(*file);
  if (bytes.empty()) return "";
  const uint64_t offset = Random(bytes.size()) / kAlign * kAlign;
  const uint64_t length = std::min<uint64_t>(bytes.size() - offset, 1 + Random(32768));
  const int flags = Random(2) == 0 ? MAP_SHARED : MAP_PRIVATE;
  Log(*file, "map for reading " + Where(offset, length));
  void* map = mmap(nullptr, length, PROT_READ, flags, file->fd.get(), static_cast<off_t>(offset));
  if (map == MAP_FAILED) return Expect("mmap", 0, -errno);
  const bool same = std::memcmp(map, bytes.data() + offset, length) == 0;
  munmap(map, length);
  return same ? "" : Fail("mapping: wrong bytes");
}

std::string FsxModel::PositionedWrite(File* file) {
  if (file->append) return Write(file);
  uint64_t offset = Random(2) == 0 ? Random(file->content->size() + 1) : Random(options_.max_bytes);
  uint64_t length = Random(16) == 0 ? kBufferBytes : 1 + Random(4096);
  if (file->direct) {
    offset = offset / kAlign * kAlign;
    length = std::max(kAlign, length / kAlign * kAlign);
  }
  if (offset + length > options_.max_bytes) return "";
  std::memcpy(buffer_.data(), noise_.data() + Random(noise_.size() - length), length);
  Log(*file, "pwrite " + Where(offset, length));
  const int64_t got = Sys(pwrite(file->fd.get(), buffer_.data(), length, static_cast<off_t>(offset)));
  Store(file, offset, buffer_.view(length));
  return Expect("pwrite", static_cast<int64_t>(length), got);
}

std::string FsxModel::Write(File* file) {
  uint64_t start = file->append     ? file->content->size()
                   : Random(2) == 0 ? file->cursor
                                    : Random(file->content->size() + 1);
  uint64_t length = 1 + Random(4096);
  if (file->direct) {
    if (file->append && start % kAlign != 0) return "";
    start = start / kAlign * kAlign;
    length = kAlign * (1 + Random(3));
  }
  if (start + length > options_.max_bytes) return "";
  std::memcpy(buffer_.data(), noise_.data() + Random(noise_.size() - length), length);
  Log(*file, "write " + Where(start, length));
  if (Sys(lseek(file->fd.get(), static_cast<off_t>(start), SEEK_SET)) < 0) return Fail("lseek");
  const int64_t got = Sys(write(file->fd.get(), buffer_.data(), length));
  Store(file, start, buffer_.view(length));
  file->cursor = start + length;
  return Expect("write", static_cast<int64_t>(length), got);
}

std::string FsxModel::MapWrite(File* file) {
  if (file->content->empty()) return "";
  const uint64_t offset = Random(file->content->size()) / kAlign * kAlign;
  const uint64_t length = std::min<uint64_t>(file->content->size() - offset, 1 + Random(16384));
  Log(*file, "map for writing " + Where(offset, length));
  void* map = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED, file->fd.get(), static_cast<off_t>(offset));
  if (map == MAP_FAILED) return Expect("mmap", 0, -errno);
  const bool same = std::memcmp(map, file->content->data() + offset, length) == 0;
  const std::string_view bytes = std::string_view(noise_).substr(Random(noise_.size() - length), length);
  std::memcpy(map, bytes.data(), length);
  Store(file, offset, bytes);
  if (Random(2) == 0) msync(map, length, MS_SYNC);
  munmap(map, length);
  return same ? "" : Fail("mapping for writing: wrong bytes in it");
}

std::string FsxModel::Truncate(File* file) {
  const uint64_t bytes = Random(2) == 0 ? Random(file->content->size() + 1) : Random(options_.max_bytes / 2);
  Log(*file, "ftruncate to " + std::to_string(bytes));
  file->content->resize(bytes, '\0');
  return Expect("ftruncate", 0, Sys(ftruncate(file->fd.get(), static_cast<off_t>(bytes))));
}

std::string FsxModel::Sync(File* file) {
  Log(*file, "fsync");
  return Expect("fsync", 0, Sys(Random(2) == 0 ? fsync(file->fd.get()) : fdatasync(file->fd.get())));
}

std::string FsxModel::Close(File* file) {
  Log(*file, "close");
  const int64_t closed = file->fd.Close();
  const bool wrote = file->state == State::kWriting;
  file->state = State::kClosed;
  file->view.clear();
  if (closed != 0) return Expect("close", 0, closed);
  return wrote && Random(4) == 0 ? Compare(file) : "";
}

std::string FsxModel::Finish() {
  std::vector<std::string> expected;
  for (File& file : files_) {
    std::string problem = file.state == State::kClosed ? "" : Close(&file);
    if (problem.empty()) problem = Compare(&file);
    if (!problem.empty()) return problem;
    if (file.content) expected.push_back(file.name);
  }
  const std::string listed = Join(List(options_.dir));
  return listed == Join(expected) ? "" : Fail("listing: expected " + Join(expected) + ", got " + listed);
}

}  // namespace kvpagefs::mount_test
