// Reading whole files through a mapping: mmap and one access to every page; unmapping is not timed.
#include <sys/mman.h>

#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "tools/file_ops.h"
#include "tools/micro_case.h"
#include "tools/text_table.h"

namespace kvpagefs {
namespace {

constexpr size_t kPageBytes = 4096;

struct MapShape {
  const char* name;
  const char* label;
  int flags;
  CacheState cache;
};

constexpr MapShape kShapes[] = {
    {"map-private-warm", "map PRIVATE|POPULATE, warm", MAP_PRIVATE | MAP_POPULATE, CacheState::kWarm},
    {"map-private-cold", "map PRIVATE|POPULATE, cold", MAP_PRIVATE | MAP_POPULATE, CacheState::kCold},
    {"map-shared-warm", "map SHARED, warm", MAP_SHARED, CacheState::kWarm},
    {"map-shared-cold", "map SHARED, cold", MAP_SHARED, CacheState::kCold},
};

class Mapping {
 public:
  Mapping() = default;
  ~Mapping() { Unmap(); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  // False with errno.
  bool Map(int fd, size_t bytes, int flags) {
    void* const address = ::mmap(nullptr, bytes, PROT_READ, flags, fd, 0);
    if (address == MAP_FAILED) return false;
    bytes_ = {static_cast<const std::byte*>(address), bytes};
    return true;
  }
  void Unmap() {
    if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
    bytes_ = {};
  }
  std::span<const std::byte> bytes() const { return bytes_; }
  void Touch() const {
    for (size_t offset = 0; offset < bytes_.size(); offset += kPageBytes) {
      [[maybe_unused]] const volatile std::byte seen = bytes_[offset];
    }
  }

 private:
  std::span<const std::byte> bytes_;
};

class MapCase final : public MicroCase {
 public:
  MapCase(MicroEnvironment& environment, FileSets files, const MapShape& shape)
      : environment_(environment), files_(files), shape_(shape) {}

  size_t ItemCount() const override { return files_[kDirSide]->paths.size(); }

  Status BeginRun(size_t side) override {
    if (shape_.cache != CacheState::kWarm) return {};
    return ReadFilesOnce(*files_[side], environment_.Buffer(files_[side]->bytes));
  }

  Status Prepare(size_t side, size_t item) override {
    const std::string& path = files_[side]->paths[item];
    Result<UniqueFd> fd = OpenFile(path, O_RDONLY);
    if (!fd) return fd.error();
    fd_ = std::move(*fd);
    return shape_.cache == CacheState::kCold ? DropCache(fd_.get(), path) : Status();
  }

  Status Run(size_t side, size_t item) override {
    if (!mapping_.Map(fd_.get(), files_[side]->bytes, shape_.flags)) {
      return Error::FromSystem(errno, fmt::format("mmap '{}'", files_[side]->paths[item]));
    }
    mapping_.Touch();
    return {};
  }

  Status Verify(size_t side, size_t item) override {
    return CheckContent(files_[side]->seeds[item], mapping_.bytes(), files_[side]->paths[item]);
  }

  Status Finish(size_t /*side*/, size_t /*item*/) override {
    mapping_.Unmap();
    fd_.Reset();
    return {};
  }

 private:
  MicroEnvironment& environment_;
  const FileSets files_;
  const MapShape shape_;
  UniqueFd fd_;
  Mapping mapping_;
};

}  // namespace

void AddMapCases(const MicroOptions& options, MicroCaseList& list) {
  for (const MapShape& shape : kShapes) {
    for (const uint64_t bytes : options.sizes_bytes) {
      const auto make = [bytes, shape](MicroEnvironment& environment) -> Result<std::unique_ptr<MicroCase>> {
        Result<FileSets> files = environment.Files(environment.options().files, bytes);
        if (!files) return files.error();
        return std::unique_ptr<MicroCase>(new MapCase(environment, *files, shape));
      };
      list.push_back({shape.name, shape.label, bytes, ShortSize(bytes), shape.cache, false, make});
    }
  }
}

}  // namespace kvpagefs
