#include "tests/mount/harness/sys.h"

#include <algorithm>
#include <cassert>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

namespace kvpagefs::mount_test {

std::string Outcome(int64_t result) { return result >= 0 ? "ok" : Value(result); }

std::string Value(int64_t result) {
  if (result >= 0) return std::to_string(result);
  const char* name = strerrorname_np(static_cast<int>(-result));
  if (result == -EOPNOTSUPP) return "EOPNOTSUPP";
  return name != nullptr ? name : "errno " + std::to_string(-result);
}

int64_t Fd::Close() {
  if (value_ < 0) return value_;
  return Sys(close(std::exchange(value_, -EBADF)));
}

void Fd::Reset() {
  if (value_ >= 0) close(value_);
  value_ = -EBADF;
}

Fd Open(const std::string& path, int flags, mode_t mode) { return Fd(open(path.c_str(), flags | O_CLOEXEC, mode)); }

int64_t WriteAll(int fd, std::string_view bytes, int64_t offset) {
  while (!bytes.empty()) {
    const ssize_t done =
        offset < 0 ? write(fd, bytes.data(), bytes.size()) : pwrite(fd, bytes.data(), bytes.size(), offset);
    if (done < 0) return -errno;
    if (done == 0) return -EIO;
    bytes.remove_prefix(static_cast<size_t>(done));
    if (offset >= 0) offset += done;
  }
  return 0;
}

int64_t WriteFile(const std::string& path, std::string_view bytes, mode_t mode) {
  Fd fd = Open(path, O_WRONLY | O_CREAT | O_TRUNC, mode);
  if (!fd) return fd.result();
  const int64_t written = WriteAll(fd.get(), bytes);
  const int64_t closed = fd.Close();
  return written != 0 ? written : closed;
}

std::string ReadFile(const std::string& path, int64_t* error, int flags) {
  Fd fd = Open(path, O_RDONLY | flags);
  if (error != nullptr) *error = fd ? 0 : fd.result();
  std::string bytes;
  alignas(4096) char chunk[65536];
  while (fd) {
    const ssize_t got = read(fd.get(), chunk, sizeof(chunk));
    if (got < 0 && error != nullptr) *error = -errno;
    if (got <= 0) break;
    bytes.append(chunk, static_cast<size_t>(got));
  }
  return bytes;
}

std::string Contents(const std::string& path) {
  int64_t error = 0;
  std::string bytes = ReadFile(path, &error);
  return error == 0 ? bytes : "error:" + Value(error);
}

std::string ReadDescriptor(int fd) {
  std::string bytes;
  char chunk[65536];
  ssize_t got = 0;
  while ((got = pread(fd, chunk, sizeof(chunk), static_cast<off_t>(bytes.size()))) > 0) {
    bytes.append(chunk, static_cast<size_t>(got));
  }
  return got < 0 ? "error:" + Value(-errno) : bytes;
}

int64_t SizeOf(const std::string& path) {
  struct stat info{};
  return stat(path.c_str(), &info) != 0 ? -errno : info.st_size;
}

int64_t SizeOf(int fd) {
  struct stat info{};
  return fstat(fd, &info) != 0 ? -errno : info.st_size;
}

struct stat StatOf(const std::string& path) {
  struct stat info{};
  if (stat(path.c_str(), &info) != 0) info = {};
  return info;
}

std::vector<std::string> List(const std::string& dir) {
  std::vector<std::string> names;
  DIR* stream = opendir(dir.c_str());
  if (stream == nullptr) return {"error:" + Value(-errno)};
  while (const dirent* entry = readdir(stream)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  closedir(stream);
  std::sort(names.begin(), names.end());
  return names;
}

std::string Join(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

bool IsListed(const std::string& dir, const std::string& name) {
  const std::vector<std::string> names = List(dir);
  return std::binary_search(names.begin(), names.end(), name);
}

std::string Pattern(uint64_t seed, size_t bytes) {
  std::string out(bytes, '\0');
  uint64_t state = seed * 0x9E3779B97F4A7C15u + 1;
  for (size_t at = 0; at < bytes; at += 8) {
    state += 0x9E3779B97F4A7C15u;
    uint64_t word = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9u;
    word = (word ^ (word >> 27)) * 0x94D049BB133111EBu;
    word ^= word >> 31;
    std::memcpy(out.data() + at, &word, std::min<size_t>(8, bytes - at));
  }
  return out;
}

std::string Digest(std::string_view bytes) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  char text[64];
  snprintf(text, sizeof(text), "%zu bytes %016llx", bytes.size(), static_cast<unsigned long long>(hash));
  return text;
}

ScratchDir::ScratchDir(const std::string& under) {
  std::string name = under + "/kvpagefs-test-XXXXXX";
  const char* made = mkdtemp(name.data());
  assert(made != nullptr);
  path_ = made;
}

ScratchDir::~ScratchDir() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

AlignedBuffer::AlignedBuffer(size_t bytes)
    : data_(static_cast<char*>(std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096))), bytes_(bytes) {
  assert(data_ != nullptr);
}

AlignedBuffer::~AlignedBuffer() { std::free(data_); }

}  // namespace kvpagefs::mount_test
