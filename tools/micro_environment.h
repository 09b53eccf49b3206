// The two directories of a measurement, the files in them and the memory that is read into.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "tools/aligned_buffer.h"
#include "tools/micro_options.h"
#include "tools/progress.h"
#include "tools/stop_signal.h"

namespace kvpagefs {

inline constexpr size_t kDirSide = 0;
inline constexpr size_t kAgainstSide = 1;
inline constexpr size_t kSideCount = 2;

struct MicroSide {
  std::string given;       // as the command line names it
  std::string root;        // made inside `given` for this measurement, removed at its end
  std::string filesystem;  // FilesystemName
  bool direct = false;     // open(2) takes O_DIRECT
  bool can_be_cold = false;
};

// Files with content from their names (page_content.h).
struct FileSet {
  std::string directory;
  uint64_t bytes = 0;
  std::vector<std::string> paths;
  std::vector<uint64_t> seeds;
};
using FileSets = std::array<const FileSet*, kSideCount>;

// One thread.
class MicroEnvironment {
 public:
  // `progress` and `stop` outlive the environment.
  static Result<std::unique_ptr<MicroEnvironment>> Make(const MicroOptions& options, Progress& progress,
                                                        StopSignal& stop);
  // Removes what was made on both sides.
  ~MicroEnvironment();

  const MicroOptions& options() const { return options_; }
  const MicroSide& side(size_t index) const { return sides_[index]; }
  Progress& progress() { return progress_; }
  StopSignal& stop() { return stop_; }

  // Made, read back and checked at the first call with these figures, kept until the end. The pointers stay valid.
  Result<FileSets> Files(uint64_t count, uint64_t bytes);

  // A new empty directory in each root.
  Result<std::array<std::string, kSideCount>> NewDirectories(const std::string& name);

  // The same memory for every caller: at most one case uses it at a time. Grown outside of timed parts.
  std::span<std::byte> Buffer(size_t bytes);

 private:
  MicroEnvironment(const MicroOptions& options, Progress& progress, StopSignal& stop)
      : options_(options), progress_(progress), stop_(stop) {}
  Status OpenSide(size_t index, const std::string& given);
  Result<FileSet> MakeFiles(size_t side, uint64_t count, uint64_t bytes);

  const MicroOptions options_;
  Progress& progress_;
  StopSignal& stop_;
  std::array<MicroSide, kSideCount> sides_;
  std::map<std::pair<uint64_t, uint64_t>, std::array<FileSet, kSideCount>> file_sets_;
  AlignedBuffer buffer_;
};

// FindWrongByte as an error that names the path.
Status CheckContent(uint64_t seed, std::span<const std::byte> bytes, const std::string& path);

}  // namespace kvpagefs
