// Random file operations against a model in memory, in the manner of fsx.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "tests/mount/harness/sys.h"

namespace kvpagefs::mount_test {

class FsxModel {
 public:
  struct Options {
    std::string dir;
    uint64_t seed = 1;
    bool readers_keep_versions = true;  // as a kvpagefs mount does, and a plain directory does not
    size_t max_bytes = 256 * 1024;
  };
  explicit FsxModel(Options options);

  // One operation on one file. Empty, or what went wrong, with the last operations.
  std::string Step();
  // Closes everything and compares all files and the listing.
  std::string Finish();

 private:
  enum class State : uint8_t { kClosed, kReading, kWriting };

  struct File {
    std::string name;
    std::optional<std::string> content;  // what the name stands for
    State state = State::kClosed;
    Fd fd;
    bool direct = false;
    bool append = false;
    std::string view;     // what a reader opened
    uint64_t cursor = 0;  // of a descriptor
  };

  uint64_t Random(uint64_t below) { return below == 0 ? 0 : random_() % below; }
  std::string Path(const File& file) const { return options_.dir + "/" + file.name; }
  const std::string& Bytes(const File& file) const { return file.state == State::kWriting ? *file.content : file.view; }
  File* RandomFile() { return &files_[Random(files_.size())]; }
  void Log(const File& file, const std::string& what);
  std::string Fail(const std::string& what) const;
  std::string Expect(const std::string& what, int64_t expected, int64_t got) const;
  void Store(File* file, uint64_t offset, std::string_view bytes);

  std::string StepClosed(File* file);
  std::string StepOpen(File* file);
  std::string StepWriting(File* file);
  std::string OpenForReading(File* file);
  std::string OpenForWriting(File* file);
  std::string TruncateByName(File* file);
  std::string Unlink(File* file);
  std::string Rename(File* file);
  std::string RewriteByName(File* file);
  std::string Compare(File* file);
  std::string Read(File* file);
  std::string PositionedRead(File* file);
  std::string MapRead(File* file);
  std::string Write(File* file);
  std::string PositionedWrite(File* file);
  std::string MapWrite(File* file);
  std::string Truncate(File* file);
  std::string Sync(File* file);
  std::string Close(File* file);

  Options options_;
  std::mt19937_64 random_;
  std::vector<File> files_;
  AlignedBuffer buffer_;
  std::deque<std::string> log_;
  uint64_t steps_ = 0;
  std::string noise_;
};

}  // namespace kvpagefs::mount_test
