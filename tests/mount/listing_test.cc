// A million names in one directory, listed while others come and go. KVPAGEFS_LIST_FILES scales it.
#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstring>

#include "tests/mount/harness/mount_test.h"

namespace kvpagefs::mount_test {
namespace {

constexpr uint64_t kFiles = 1'000'000;
constexpr uint64_t kPlainFiles = 20'000;
constexpr uint64_t kSanitizerFiles = 50'000;
constexpr uint64_t kCreators = 4;
constexpr uint64_t kSegmentBytes = uint64_t{512} << 20;
// What the daemon may use beyond its segment: for each name, and for itself.
constexpr uint64_t kBytesPerName = 200;
constexpr uint64_t kDaemonBytes = uint64_t{96} << 20;

std::string StayName(uint64_t number) { return "stay-" + std::to_string(number) + ".bin"; }

std::string CreateShare(const std::string& dir, uint64_t process, uint64_t files) {
  for (uint64_t i = process; i < files; i += kCreators) {
    const int64_t outcome = Open(dir + "/" + StayName(i), O_WRONLY | O_CREAT | O_EXCL).Close();
    if (outcome != 0) return "create: " + Value(outcome);
  }
  return "ok";
}

// Creates and deletes other names until the question pipe says so; always the last few hundred are there.
std::string Churn(const std::string& dir, const std::string& stop_file) {
  uint64_t number = 0;
  while (access(stop_file.c_str(), F_OK) != 0) {
    const std::string path = dir + "/churn-" + std::to_string(getpid()) + "-";
    if (const int64_t made = WriteFile(path + std::to_string(number), "x"); made != 0) return "create: " + Value(made);
    if (number >= 300) {
      const int64_t gone = Sys(unlink((path + std::to_string(number - 300)).c_str()));
      if (gone != 0) return "unlink: " + Value(gone);
    }
    ++number;
  }
  return "ok " + std::to_string(number);
}

struct Scan {
  uint64_t entries = 0;
  uint64_t wrong_types = 0;
  double first_entry_seconds = 0;
  std::vector<uint8_t> seen;  // for each name that stays, how often
};

void Count(const dirent& entry, Scan* scan) {
  ++scan->entries;
  if (entry.d_name[0] == '.') return;
  scan->wrong_types += entry.d_type != DT_REG ? 1 : 0;
  if (std::strncmp(entry.d_name, "stay-", 5) != 0) return;
  const uint64_t number = std::strtoull(entry.d_name + 5, nullptr, 10);
  if (number < scan->seen.size() && scan->seen[number] < 255) ++scan->seen[number];
}

// The whole directory; with `jumps`, goes back to where it is by seekdir again and again.
Scan ScanAll(const std::string& dir, uint64_t files, bool jumps) {
  Scan scan;
  scan.seen.resize(files);
  const Stopwatch watch;
  DIR* stream = opendir(dir.c_str());
  if (stream == nullptr) return scan;
  while (const dirent* entry = readdir(stream)) {
    if (scan.entries == 0) scan.first_entry_seconds = watch.seconds();
    Count(*entry, &scan);
    if (jumps && scan.entries % 5003 == 0) seekdir(stream, telldir(stream));
  }
  closedir(stream);
  return scan;
}

class Listing : public NodeTest {
 protected:
  void Create(const std::string& dir, uint64_t files) {
    const Stopwatch watch;
    std::vector<Peer> creators;
    for (uint64_t i = 0; i < kCreators; ++i) {
      creators.emplace_back([=](const std::string&) { return CreateShare(dir, i, files); });
    }
    for (Peer& peer : creators) peer.Send("go");
    for (Peer& peer : creators) EXPECT_EQ(peer.Receive(), "ok");
    printf("%" PRIu64 " files created in %.1f s\n", files, watch.seconds());
  }

  void ExpectEachOnce(const Scan& scan, const char* what) {
    uint64_t once = 0;
    uint64_t more = 0;
    for (const uint8_t count : scan.seen) {
      once += count == 1 ? 1 : 0;
      more += count > 1 ? 1 : 0;
    }
    EXPECT_EQ(once, scan.seen.size()) << what << ": names missing";
    EXPECT_EQ(more, 0u) << what << ": names listed more than once";
    EXPECT_EQ(scan.wrong_types, 0u) << what;
  }

  void CheckMemory(uint64_t names, const char* when) {
    if (test_options_.plain) return;
    const uint64_t limit = kSegmentBytes + names * kBytesPerName + kDaemonBytes;
    const uint64_t used = node_->ResidentBytes();
    printf("daemon's resident memory %s: %" PRIu64 " MiB, limit %" PRIu64 " MiB\n", when, used >> 20, limit >> 20);
    if (!IsSanitizerBuild()) {
      EXPECT_LE(used, limit) << when;
    }
  }
};

TEST_F(Listing, AMillionNamesWhileOthersComeAndGo) {
  StartNode({.memory = "512MiB", .source = "", .arguments = {}, .mount_point = "", .max_open_files = 0});
  KVP_RETURN_IF_NOT_RUNNING();
  const uint64_t usual = test_options_.plain ? kPlainFiles : IsSanitizerBuild() ? kSanitizerFiles : kFiles;
  const uint64_t files = EnvNumber("KVPAGEFS_LIST_FILES", usual);
  if (files < kFiles)
    printf("%" PRIu64 " files only: plain directory, sanitizer build or KVPAGEFS_LIST_FILES\n", files);
  const ScratchDir scratch(test_options_.scratch_dir);
  const std::string dir = node_->dir();
  Create(dir, files);
  KVP_RETURN_IF_NOT_RUNNING();
  CheckMemory(files, "after creating");
  const std::string stop_file = scratch.path() + "/stop";
  std::vector<Peer> churners;
  for (int i = 0; i < 2; ++i) {
    churners.emplace_back([=](const std::string&) { return Churn(dir, stop_file); });
  }
  for (Peer& peer : churners) peer.Send("go");
  for (const bool jumps : {false, true}) {
    const Stopwatch watch;
    const Scan scan = ScanAll(dir, files, jumps);
    printf("%" PRIu64 " entries in %.2f s, the first after %.1f ms%s\n", scan.entries, watch.seconds(),
           scan.first_entry_seconds * 1000, jumps ? ", with seekdir" : "");
    ExpectEachOnce(scan, jumps ? "with seekdir" : "straight");
  }
  CheckMemory(files, "while listing");
  EXPECT_EQ(WriteFile(stop_file, ""), 0);
  for (Peer& peer : churners) {
    const std::string answer = peer.Receive();
    EXPECT_TRUE(answer.starts_with("ok ")) << answer;
  }
  for (uint64_t i = 0; i < files; i += 1 + files / 1000) EXPECT_EQ(SizeOf(dir + "/" + StayName(i)), 0) << i;
}

// What a listing returns is a position by name: deleting all that was listed and going on finds the rest.
TEST_F(Listing, SeekToPositionsOfDeletedNames) {
  StartNode({.memory = "64MiB", .source = "", .arguments = {}, .mount_point = "", .max_open_files = 0});
  KVP_RETURN_IF_NOT_RUNNING();
  constexpr uint64_t kSome = 10'000;
  const std::string dir = node_->dir();
  for (uint64_t i = 0; i < kSome; ++i) ASSERT_EQ(WriteFile(dir + "/" + StayName(i), ""), 0);
  DIR* stream = opendir(dir.c_str());
  Scan first;
  first.seen.resize(kSome);
  for (uint64_t i = 0; i < kSome / 2; ++i) Count(*readdir(stream), &first);
  const long position = telldir(stream);
  for (uint64_t i = 0; i < kSome; ++i) {
    if (first.seen[i] != 1) continue;
    ASSERT_EQ(unlink((dir + "/" + StayName(i)).c_str()), 0);
  }
  seekdir(stream, position);
  while (const dirent* entry = readdir(stream)) Count(*entry, &first);
  closedir(stream);
  ExpectEachOnce(first, "before and behind the position");
}

}  // namespace
}  // namespace kvpagefs::mount_test
