#include "daemon/secret_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include <fmt/format.h>

namespace kvpagefs {
namespace {

constexpr mode_t kOthers = 077;

Error Refuse(ErrorCode code, const std::string& path, const std::string& what) {
  return {code, fmt::format("--secret-file {}: {}", path, what)};
}

Result<std::string> ReadAll(int fd, const std::string& path) {
  struct stat status = {};
  if (fstat(fd, &status) != 0) return Error::FromSystem(errno, "--secret-file " + path);
  if (!S_ISREG(status.st_mode)) return Refuse(ErrorCode::kInvalid, path, "is not a file");
  if ((status.st_mode & kOthers) != 0) {
    return Refuse(ErrorCode::kNotPermitted, path, fmt::format("others may read it: run 'chmod 600 {}'", path));
  }
  std::array<char, kMaxSecretBytes + 1> buffer{};
  size_t filled = 0;
  while (filled < buffer.size()) {
    const ssize_t got = read(fd, buffer.data() + filled, buffer.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Error::FromSystem(errno, "--secret-file " + path);
    if (got == 0) break;
    filled += static_cast<size_t>(got);
  }
  return std::string(buffer.data(), filled);
}

}  // namespace

Result<std::string> ReadSecretFile(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (fd < 0) return Error::FromSystem(errno, "--secret-file " + path);
  Result<std::string> secret = ReadAll(fd, path);
  close(fd);
  if (!secret.ok()) return secret;
  if (secret->size() > kMaxSecretBytes) {
    return Refuse(ErrorCode::kInvalid, path, fmt::format("is longer than {} bytes", kMaxSecretBytes));
  }
  secret->erase(secret->find_last_not_of(" \t\r\n") + 1);
  if (secret->size() < kMinSecretBytes) {
    return Refuse(ErrorCode::kInvalid, path,
                  fmt::format("a secret has at least {} bytes: make one with 'openssl rand -hex 32'", kMinSecretBytes));
  }
  return secret;
}

}  // namespace kvpagefs
