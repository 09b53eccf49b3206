// Thin wrappers of system calls for tests: a value or -errno, and descriptors that close themselves.
#pragma once

#include <cerrno>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/stat.h>
#include <sys/types.h>

namespace kvpagefs::mount_test {

// What a system call returned: its value, or -errno.
inline int64_t Sys(int64_t result) { return result < 0 ? -errno : result; }

// "ok" for values >= 0, else the name of the errno ("ENOENT").
std::string Outcome(int64_t result);
// The number itself for values >= 0, else the name of the errno.
std::string Value(int64_t result);

class Fd {
 public:
  Fd() = default;
  // Takes what open(2) and its kin returned; keeps -errno when it failed.
  explicit Fd(int result) : value_(result < 0 ? -errno : result) {}
  ~Fd() { Reset(); }
  Fd(Fd&& other) noexcept : value_(std::exchange(other.value_, -EBADF)) {}
  Fd& operator=(Fd&& other) noexcept {
    Reset();
    value_ = std::exchange(other.value_, -EBADF);
    return *this;
  }
  explicit operator bool() const { return value_ >= 0; }
  int get() const { return value_; }
  // The descriptor, or -errno of the open.
  int64_t result() const { return value_; }
  // 0 or -errno of close(2).
  int64_t Close();
  int Release() { return std::exchange(value_, -EBADF); }

 private:
  void Reset();
  int value_ = -EBADF;
};

Fd Open(const std::string& path, int flags, mode_t mode = 0644);

// Create or overwrite with one write; 0 or -errno of the first step that failed.
int64_t WriteFile(const std::string& path, std::string_view bytes, mode_t mode = 0644);
// Through `flags` (O_RDONLY is implied): the bytes until EOF in one string; -errno in *error when it failed, else 0.
std::string ReadFile(const std::string& path, int64_t* error = nullptr, int flags = 0);
// ReadFile, or "error:ENOENT".
std::string Contents(const std::string& path);
std::string ReadDescriptor(int fd);
// All of `bytes` with write(2) (pwrite for `offset` >= 0); 0 or -errno.
int64_t WriteAll(int fd, std::string_view bytes, int64_t offset = -1);

// Size or -errno of stat(2).
int64_t SizeOf(const std::string& path);
int64_t SizeOf(int fd);
// stat(2) of something that must be there; zeros otherwise.
struct stat StatOf(const std::string& path);

// Sorted, without "." and "..".
std::vector<std::string> List(const std::string& dir);
std::string Join(const std::vector<std::string>& words);
bool IsListed(const std::string& dir, const std::string& name);

// Deterministic bytes from a seed.
std::string Pattern(uint64_t seed, size_t bytes);
// Short text for bytes: their count and a checksum.
std::string Digest(std::string_view bytes);

// A directory that is removed, with what is in it, at the end.
class ScratchDir {
 public:
  explicit ScratchDir(const std::string& under);
  ~ScratchDir();
  ScratchDir(const ScratchDir&) = delete;
  ScratchDir& operator=(const ScratchDir&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Page-aligned memory, for O_DIRECT.
class AlignedBuffer {
 public:
  explicit AlignedBuffer(size_t bytes);
  ~AlignedBuffer();
  AlignedBuffer(const AlignedBuffer&) = delete;
  AlignedBuffer& operator=(const AlignedBuffer&) = delete;
  char* data() { return data_; }
  size_t bytes() const { return bytes_; }
  std::string_view view(size_t bytes) const { return {data_, bytes}; }

 private:
  char* data_;
  size_t bytes_;
};

}  // namespace kvpagefs::mount_test
