// Reading whole files with one pread: on a descriptor that is open already, with open and close, and open and close
// alone.
#include "tools/file_ops.h"
#include "tools/micro_case.h"
#include "tools/text_table.h"

namespace kvpagefs {
namespace {

struct ReadShape {
  const char* name;
  const char* label;
  CacheState cache;
  bool direct;
  bool open_timed;
  bool read;
};

constexpr ReadShape kShapes[] = {
    {"read-warm", "read, warm", CacheState::kWarm, false, false, true},
    {"read-cold", "read, cold", CacheState::kCold, false, false, true},
    {"read-cold-direct", "read, cold, O_DIRECT", CacheState::kCold, true, false, true},
    {"open", "open+close", CacheState::kWarm, false, true, false},
    {"open-read-close-cold", "open+read+close, cold", CacheState::kCold, false, true, true},
    {"open-read-close-cold-direct", "open+read+close, cold, O_DIRECT", CacheState::kCold, true, true, true},
};

class ReadCase final : public MicroCase {
 public:
  ReadCase(MicroEnvironment& environment, FileSets files, const ReadShape& shape)
      : environment_(environment), files_(files), shape_(shape) {}

  size_t ItemCount() const override { return files_[kDirSide]->paths.size(); }

  Status BeginRun(size_t side) override {
    if (shape_.cache != CacheState::kWarm) return {};
    return ReadFilesOnce(*files_[side], Buffer());
  }

  Status Prepare(size_t side, size_t item) override {
    const std::string& path = files_[side]->paths[item];
    flags_ = O_RDONLY | (shape_.direct && environment_.side(side).direct ? O_DIRECT : 0);
    if (shape_.open_timed) return shape_.cache == CacheState::kCold ? DropFileCache(path) : Status();
    Result<UniqueFd> fd = OpenFile(path, flags_);
    if (!fd) return fd.error();
    fd_ = std::move(*fd);
    return shape_.cache == CacheState::kCold ? DropCache(fd_.get(), path) : Status();
  }

  Status Run(size_t side, size_t item) override {
    const std::string& path = files_[side]->paths[item];
    if (!shape_.open_timed) return ReadWhole(fd_.get(), buffer_, path);
    Result<UniqueFd> fd = OpenFile(path, flags_);
    if (!fd) return fd.error();
    if (shape_.read) {
      if (Status read = ReadWhole(fd->get(), buffer_, path); !read) return read;
    }
    return CloseFile(std::move(*fd), path);
  }

  Status Verify(size_t side, size_t item) override {
    if (!shape_.read) return {};
    return CheckContent(files_[side]->seeds[item], buffer_, files_[side]->paths[item]);
  }

  Status Finish(size_t /*side*/, size_t /*item*/) override {
    fd_.Reset();
    return {};
  }

 private:
  std::span<std::byte> Buffer() { return buffer_ = environment_.Buffer(files_[kDirSide]->bytes); }

  MicroEnvironment& environment_;
  const FileSets files_;
  const ReadShape shape_;
  std::span<std::byte> buffer_ = Buffer();
  int flags_ = 0;
  UniqueFd fd_;
};

}  // namespace

void AddReadCases(const MicroOptions& options, MicroCaseList& list) {
  for (const ReadShape& shape : kShapes) {
    for (const uint64_t bytes : options.sizes_bytes) {
      const auto make = [bytes, shape](MicroEnvironment& environment) -> Result<std::unique_ptr<MicroCase>> {
        Result<FileSets> files = environment.Files(environment.options().files, bytes);
        if (!files) return files.error();
        return std::unique_ptr<MicroCase>(new ReadCase(environment, *files, shape));
      };
      list.push_back({shape.name, shape.label, bytes, ShortSize(bytes), shape.cache, shape.direct, make});
    }
  }
}

}  // namespace kvpagefs
