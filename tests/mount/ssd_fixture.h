// Nodes with an SSD tier: small memory, small pages, a directory of their own that outlives the daemon.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "tests/mount/harness/mount_test.h"
#include "tests/mount/harness/page_content.h"

namespace kvpagefs::mount_test {

class SsdTest : public NodeTest {
 protected:
  static constexpr size_t kPageBytes = size_t{1} << 20;

  struct Setup {
    std::string memory = "32MiB";
    std::string ssd = "256MiB";
    std::vector<std::string> more;  // arguments
    std::string dir;                // empty: the test's own
  };
  // Starts the first node or, after StopNode or KillNode, the next one in the same directory.
  void StartSsdNode() { StartSsdNode(Setup()); }
  void StartSsdNode(const Setup& setup) {
    NodeProcess::Options options;
    options.memory = setup.memory;
    options.arguments = {"--ssd-dir", setup.dir.empty() ? ssd_dir_ : setup.dir, "--ssd", setup.ssd, "--max-page",
                         "8MiB"};
    options.arguments.insert(options.arguments.end(), setup.more.begin(), setup.more.end());
    options.mount_point = mount_point_;
    mkdir(mount_point_.c_str(), 0755);
    StartRealNode(std::move(options));
  }
  // As a crash: nothing is written behind.
  void KillNode() {
    node_->Kill();
    node_->Detach();
    node_.reset();
  }

  std::string Name(size_t i) const { return "page-" + std::to_string(i); }
  void WritePages(size_t begin, size_t end, uint64_t serial = 1) {
    for (size_t i = begin; i < end; ++i) {
      ASSERT_EQ(Value(WriteFile(Path(Name(i)), MakePage(i, serial, kPageBytes))), "0") << i;
    }
  }
  // How many of the pages are there; each of them must be right.
  size_t CountRight(size_t begin, size_t end) {
    size_t right = 0;
    for (size_t i = begin; i < end; ++i) {
      int64_t error = 0;
      const std::string bytes = ReadFile(Path(Name(i)), &error);
      if (error != 0) {
        EXPECT_EQ(Value(error), "ENOENT") << i;
        continue;
      }
      EXPECT_EQ(CheckPage(i, bytes), "") << i;
      ++right;
    }
    return right;
  }
  uint64_t Number(const char* key) {
    const std::optional<uint64_t> number = node_->StatusNumber(key);
    EXPECT_TRUE(number.has_value()) << "no '" << key << "' in the status file";
    return number.value_or(0);
  }
  bool WaitUntilSpilled(size_t pages) {
    return WaitUntil(
        [&] {
          return Number("ssd_pages") >= pages && Number("spill_queued_pages") == 0 &&
                 Number("spill_pages_in_flight") == 0;
        },
        Seconds(60));
  }
  std::string Xattr(const std::string& name, const char* key) {
    char value[256];
    const ssize_t bytes = getxattr(Path(name).c_str(), key, value, sizeof(value));
    return bytes < 0 ? Value(-errno) : std::string(value, static_cast<size_t>(bytes));
  }
  static int64_t Fsync(const std::string& path) {
    Fd fd = Open(path, O_RDONLY);
    return fd ? Sys(fsync(fd.get())) : fd.result();
  }
  std::vector<std::string> RegionFiles() const {
    std::vector<std::string> files;
    for (const std::string& name : List(ssd_dir_)) {
      if (name.starts_with("region-")) files.push_back(ssd_dir_ + "/" + name);
    }
    return files;
  }

  const ScratchDir scratch_{test_options_.scratch_dir};
  const std::string ssd_dir_ = scratch_.path() + "/ssd";
  const std::string mount_point_ = scratch_.path() + "/mount";
};

}  // namespace kvpagefs::mount_test
