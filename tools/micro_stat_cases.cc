// stat(2) of a file that is there and was looked up before, and of a name that nobody asked for yet.
#include <sys/stat.h>

#include <cerrno>

#include <fmt/format.h>

#include "tools/micro_case.h"
#include "tools/text_table.h"

namespace kvpagefs {
namespace {

// The size does not matter to stat; one is enough.
constexpr uint64_t kFileBytes = uint64_t{64} * 1024;

class StatHitCase final : public MicroCase {
 public:
  explicit StatHitCase(FileSets files) : files_(files) {}

  size_t ItemCount() const override { return files_[kDirSide]->paths.size(); }

  Status BeginRun(size_t side) override {
    for (size_t item = 0; item < ItemCount(); ++item) {
      if (Status known = Run(side, item); !known) return known;
    }
    return {};
  }

  Status Run(size_t side, size_t item) override {
    if (::stat(files_[side]->paths[item].c_str(), &status_) == 0) return {};
    return Error::FromSystem(errno, fmt::format("stat '{}'", files_[side]->paths[item]));
  }

  Status Verify(size_t side, size_t item) override {
    if (static_cast<uint64_t>(status_.st_size) == files_[side]->bytes && S_ISREG(status_.st_mode)) return {};
    return Error(ErrorCode::kLost, fmt::format("stat '{}': wrong size or type", files_[side]->paths[item]));
  }

 private:
  const FileSets files_;
  struct stat status_{};
};

class StatMissCase final : public MicroCase {
 public:
  StatMissCase(MicroEnvironment& environment, FileSets files) : environment_(environment), files_(files) {}

  size_t ItemCount() const override { return environment_.options().files; }

  Status Prepare(size_t side, size_t /*item*/) override {
    // A name that was asked for before may be answered from a cache of misses.
    path_ = fmt::format("{}/missing-{}_{}.bin", files_[side]->directory, next_name_++, environment_.options().seed);
    return {};
  }

  Status Run(size_t /*side*/, size_t /*item*/) override {
    struct stat status{};
    if (::stat(path_.c_str(), &status) == 0) {
      return Error(ErrorCode::kExists, fmt::format("stat '{}': there is no such file, yet it was found", path_));
    }
    if (errno == ENOENT) return {};
    return Error::FromSystem(errno, fmt::format("stat '{}'", path_));
  }

 private:
  MicroEnvironment& environment_;
  const FileSets files_;
  uint64_t next_name_ = 0;
  std::string path_;
};

}  // namespace

void AddStatCases(const MicroOptions& /*options*/, MicroCaseList& list) {
  for (const bool hit : {true, false}) {
    const auto make = [hit](MicroEnvironment& environment) -> Result<std::unique_ptr<MicroCase>> {
      Result<FileSets> files = environment.Files(environment.options().files, kFileBytes);
      if (!files) return files.error();
      if (hit) return std::unique_ptr<MicroCase>(new StatHitCase(*files));
      return std::unique_ptr<MicroCase>(new StatMissCase(environment, *files));
    };
    list.push_back({hit ? "stat-hit" : "stat-miss", hit ? "stat, hit, warm" : "stat, miss", 0, "-",
                    hit ? CacheState::kWarm : CacheState::kAny, false, make});
  }
}

}  // namespace kvpagefs
