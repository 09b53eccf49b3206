// opendir, readdir with d_type until the end, closedir: of the small directory of files, and of a large one.
#include <dirent.h>
#include <unistd.h>

#include <cerrno>

#include <fmt/format.h>

#include "tools/file_ops.h"
#include "tools/micro_case.h"
#include "tools/page_content.h"

namespace kvpagefs {
namespace {

constexpr uint64_t kSmallFileBytes = uint64_t{64} * 1024;
constexpr uint64_t kProgressStep = 4096;

class ListCase final : public MicroCase {
 public:
  using Directories = std::array<std::string, kSideCount>;
  ListCase(Directories directories, uint64_t entries, size_t items)
      : directories_(std::move(directories)), entries_(entries), items_(items) {}

  size_t ItemCount() const override { return items_; }

  Status Run(size_t side, size_t /*item*/) override {
    regular_files_ = 0;
    DIR* const directory = ::opendir(directories_[side].c_str());
    if (directory == nullptr) return Error::FromSystem(errno, fmt::format("opendir '{}'", directories_[side]));
    errno = 0;
    while (const dirent* entry = ::readdir(directory)) {
      if (entry->d_type == DT_REG) ++regular_files_;
    }
    const int errno_value = errno;
    ::closedir(directory);
    if (errno_value != 0) return Error::FromSystem(errno_value, fmt::format("readdir '{}'", directories_[side]));
    return {};
  }

  Status Verify(size_t side, size_t /*item*/) override {
    if (regular_files_ == entries_) return {};
    return Error(ErrorCode::kLost, fmt::format("listing '{}': {} regular files instead of {}", directories_[side],
                                               regular_files_, entries_));
  }

 private:
  const Directories directories_;
  const uint64_t entries_;
  const size_t items_;
  uint64_t regular_files_ = 0;
};

Status FillDirectory(MicroEnvironment& environment, const std::string& directory) {
  const MicroOptions& options = environment.options();
  const auto content = environment.Buffer(AlignedBuffer::kAlignment + options.list_bytes).first(options.list_bytes);
  for (uint64_t i = 0; i < options.list_entries; ++i) {
    if (i % kProgressStep == 0) {
      environment.progress().Show(fmt::format("filling {}: {} of {}", directory, i, options.list_entries));
      if (environment.stop().Requested()) return ErrorCode::kInterrupted;
    }
    const std::string name = fmt::format("entry-{:09}_{}.bin", i, options.seed);
    FillContent(ContentSeed(name), content);
    if (Status written = WriteFile(fmt::format("{}/{}", directory, name), content); !written) return written;
  }
  return {};
}

Result<std::unique_ptr<MicroCase>> MakeLargeListing(MicroEnvironment& environment) {
  Result<std::array<std::string, kSideCount>> directories = environment.NewDirectories("listed");
  if (!directories) return directories.error();
  for (const std::string& directory : *directories) {
    if (Status filled = FillDirectory(environment, directory); !filled) return filled.error();
  }
  return std::unique_ptr<MicroCase>(new ListCase(std::move(*directories), environment.options().list_entries, 1));
}

Result<std::unique_ptr<MicroCase>> MakeSmallListing(MicroEnvironment& environment) {
  const uint64_t files = environment.options().files;
  Result<FileSets> sets = environment.Files(files, kSmallFileBytes);
  if (!sets) return sets.error();
  ListCase::Directories directories = {(*sets)[kDirSide]->directory, (*sets)[kAgainstSide]->directory};
  return std::unique_ptr<MicroCase>(new ListCase(std::move(directories), files, files));
}

}  // namespace

void AddListCases(const MicroOptions& options, MicroCaseList& list) {
  list.push_back({"readdir", fmt::format("readdir, {} entries", options.files), 0, "-", CacheState::kAny, false,
                  MakeSmallListing});
  list.push_back({"list", fmt::format("readdir, {} entries", options.list_entries), 0, "-", CacheState::kAny, false,
                  MakeLargeListing});
}

}  // namespace kvpagefs
