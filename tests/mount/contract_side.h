// One script of operations, run on a plain directory and on the mount; what both say is compared line by line.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/mount/harness/mount_test.h"

namespace kvpagefs::mount_test {

// Where a script works and what it has seen there.
class Side {
 public:
  Side(std::string dir, uint64_t seed) : dir_(std::move(dir)), seed_(seed) {}

  const std::string& dir() const { return dir_; }
  std::string Path(const std::string& name) const { return dir_ + "/" + name; }
  std::string Bytes(size_t bytes, uint64_t stream = 0) const { return Pattern(seed_ * 1000 + stream, bytes); }

  void Note(const std::string& step, std::string seen) { notes_.emplace_back(step, std::move(seen)); }
  // "ok" or the errno's name.
  void Ok(const std::string& step, int64_t result) { Note(step, Outcome(result)); }
  // The number or the errno's name.
  void Number(const std::string& step, int64_t result) { Note(step, Value(result)); }
  void Yes(const std::string& step, bool seen) { Note(step, seen ? "yes" : "no"); }
  // Size and checksum of a file by a fresh open.
  void File(const std::string& step, const std::string& name) { Note(step, Digest(Contents(Path(name)))); }

  using Notes = std::vector<std::pair<std::string, std::string>>;
  const Notes& notes() const { return notes_; }

 private:
  std::string dir_;
  uint64_t seed_;
  Notes notes_;
};

class ContractTest : public NodeTest {
 protected:
  using Script = std::function<void(Side& side)>;

  void SetUp() override {
    NodeProcess::Options options;
    options.memory = "192MiB";
    StartNode(std::move(options));
    if (IsSkipped() || HasFatalFailure()) return;
    plain_ = std::make_unique<ScratchDir>(test_options_.scratch_dir);
  }

  // Runs the script on both sides. Every line must be the same, but for those in the table of intended differences,
  // which must differ exactly as stated there.
  void Compare(const Script& script);

 private:
  void CompareLine(const std::pair<std::string, std::string>& plain, const std::pair<std::string, std::string>& mount);

  std::unique_ptr<ScratchDir> plain_;
};

}  // namespace kvpagefs::mount_test
