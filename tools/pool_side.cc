#include "tools/pool_side.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "tools/file_ops.h"
#include "tools/page_content.h"

namespace kvpagefs {
namespace {

class PageSide final : public PoolSide {
 public:
  explicit PageSide(std::string directory) : directory_(std::move(directory)) {}
  ~PageSide() override { RemoveTree(directory_); }

  Status Write(uint64_t page, std::span<const std::byte> bytes) override { return WriteFile(PathOf(page), bytes); }
  // Names are durable only with their bytes.
  Status Sync() override {
    Result<UniqueFd> fd = OpenFile(directory_, O_RDONLY | O_DIRECTORY);
    if (!fd) return fd.error();
    if (fsync(fd->get()) != 0) return Error::FromSystem(errno, fmt::format("fsync '{}'", directory_));
    return {};
  }
  Status Read(uint64_t page, std::span<std::byte> bytes) override {
    return ReadFile(PathOf(page), O_RDONLY | O_DIRECT, bytes);
  }

 private:
  std::string PathOf(uint64_t page) const { return fmt::format("{}/pool-{:08}", directory_, page); }
  const std::string directory_;
};

class FileSide final : public PoolSide {
 public:
  FileSide(UniqueFd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}

  Status Write(uint64_t page, std::span<const std::byte> bytes) override {
    return Whole(pwrite(fd_.get(), bytes.data(), bytes.size(), static_cast<off_t>(page * bytes.size())), bytes.size());
  }
  Status Sync() override {
    if (fdatasync(fd_.get()) != 0) return Error::FromSystem(errno, fmt::format("fdatasync '{}'", path_));
    return {};
  }
  Status Read(uint64_t page, std::span<std::byte> bytes) override {
    return Whole(pread(fd_.get(), bytes.data(), bytes.size(), static_cast<off_t>(page * bytes.size())), bytes.size());
  }

 private:
  Status Whole(ssize_t done, size_t wanted) const {
    if (done < 0) return Error::FromSystem(errno, fmt::format("'{}'", path_));
    if (static_cast<size_t>(done) != wanted) return Error(ErrorCode::kLost, fmt::format("'{}': cut short", path_));
    return {};
  }

  const UniqueFd fd_;
  const std::string path_;
};

}  // namespace

Result<std::unique_ptr<PoolSide>> MakePageSide(const PoolOptions& options) {
  const std::string directory = fmt::format("{}/kvpagebench-pool-{}", options.directory, getpid());
  if (Status made = MakeDirectory(directory); !made) return made.error();
  return std::unique_ptr<PoolSide>(std::make_unique<PageSide>(directory));
}

Result<std::unique_ptr<PoolSide>> MakeFileSide(const PoolOptions& options) {
  const std::string path = fmt::format("{}/kvpagebench-pool-{}", options.against, getpid());
  Result<UniqueFd> fd = OpenFile(path, O_RDWR | O_CREAT | O_EXCL | O_DIRECT);
  if (!fd) return fd.error();
  unlink(path.c_str());
  const int result = posix_fallocate(fd->get(), 0, static_cast<off_t>(options.pages * options.page_bytes));
  if (result != 0) return Error::FromSystem(result, fmt::format("'{}': preallocation", path));
  return std::unique_ptr<PoolSide>(std::make_unique<FileSide>(std::move(*fd), path));
}

uint64_t PoolContentSeed(const PoolOptions& options, uint64_t page) {
  return ContentSeed(fmt::format("pool-{}-{}", options.seed, page));
}

}  // namespace kvpagefs
