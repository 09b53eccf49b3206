// Eight writers and eight readers on the same 16 names: a reader gets a whole right page or ENOENT, never anything
// else. KVPAGEFS_STRESS_SECONDS (60), KVPAGEFS_SEED.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <random>

#include "tests/mount/harness/mount_test.h"
#include "tests/mount/harness/page_content.h"

namespace kvpagefs::mount_test {
namespace {

constexpr int kWriters = 8;
constexpr int kReaders = 8;
constexpr size_t kMaxPageBytes = 3 << 20;

struct Work {
  std::string dir;
  uint64_t seed = 0;
  double seconds = 0;
  uint64_t names = 16;
  bool may_evict = false;         // temporary files can go before they are renamed
  bool whole_files_only = false;  // a plain directory shows half-written files: only renames there
};

std::string NameOf(const Work& work, uint64_t number) {
  return work.dir + "/" + "page-" + std::to_string(number) + ".bin";
}

// Sizes from a few bytes to 3 MiB, small ones more often.
size_t RandomBytes(std::mt19937_64* random) {
  const size_t limit = size_t{256} << ((*random)() % 15);
  return kMinPageBytes + (*random)() % std::min(limit, kMaxPageBytes);
}

// Creates or rewrites at `path`, in one to three writes. Empty, or which step failed how.
std::string WritePage(const std::string& path, int flags, const std::string& page, uint64_t pieces) {
  Fd fd = Open(path, O_WRONLY | O_CREAT | flags);
  if (fd.result() == -EEXIST && (flags & O_EXCL) != 0) return "";
  if (!fd) return "open for writing: " + Value(fd.result());
  const size_t piece = page.size() / pieces + 1;
  for (size_t at = 0; at < page.size(); at += piece) {
    const int64_t written = WriteAll(fd.get(), std::string_view(page).substr(at, piece));
    if (written != 0) return "write: " + Value(written);
  }
  const int64_t closed = fd.Close();
  if (closed == -EEXIST && (flags & O_EXCL) != 0) return "";
  return closed != 0 ? "close: " + Value(closed) : "";
}

std::string WriteOnce(const Work& work, std::mt19937_64* random, uint64_t* serial) {
  const uint64_t number = (*random)() % work.names;
  const std::string path = NameOf(work, number);
  const uint64_t kind = (*random)() % 10;
  if (kind == 0) {
    const int64_t outcome = Sys(unlink(path.c_str()));
    return outcome == 0 || outcome == -ENOENT ? "" : "unlink: " + Value(outcome);
  }
  const std::string page = MakePage(number, ++*serial, RandomBytes(random));
  const uint64_t pieces = 1 + (*random)() % 3;
  if (kind <= 4 && !work.whole_files_only) return WritePage(path, O_TRUNC, page, pieces);
  if (kind == 5 && !work.whole_files_only) return WritePage(path, O_EXCL, page, pieces);
  const std::string temporary = path + ".tmp." + std::to_string(getpid()) + "." + std::to_string(*serial);
  if (std::string problem = WritePage(temporary, O_EXCL, page, pieces); !problem.empty()) return problem;
  const int64_t renamed = Sys(rename(temporary.c_str(), path.c_str()));
  if (renamed == -ENOENT && work.may_evict) return "";
  return renamed != 0 ? "rename: " + Value(renamed) : "";
}

struct Target {
  uint64_t number = 0;
  int flags = 0;  // beside O_RDONLY
};

// open, fstat, one read of the whole file. Empty for a whole right page or ENOENT; *hit tells which.
std::string ReadOnce(const Work& work, const Target& target, AlignedBuffer* buffer, bool* hit) {
  const Fd fd = Open(NameOf(work, target.number), O_RDONLY | target.flags);
  *hit = static_cast<bool>(fd);
  if (fd.result() == -ENOENT) return "";
  if (!fd) return "open: " + Value(fd.result());
  const int64_t bytes = SizeOf(fd.get());
  if (bytes < 0) return "fstat: " + Value(bytes);
  const size_t asked = (static_cast<size_t>(bytes) + 4095) / 4096 * 4096;
  if (asked > buffer->bytes()) return "fstat: " + std::to_string(bytes) + " bytes";
  const int64_t got = Sys(read(fd.get(), buffer->data(), asked));
  if (got != bytes) return "read of " + std::to_string(bytes) + " bytes: " + Value(got);
  std::string problem = CheckPage(target.number, buffer->view(static_cast<size_t>(bytes)));
  if (!problem.empty()) return problem;
  const int64_t again = Sys(pread(fd.get(), buffer->data(), 4096, 0));
  if (again != std::min<int64_t>(bytes, 4096)) return "second read: " + Value(again);
  return "";
}

std::string MapOnce(const Work& work, uint64_t number, bool* hit) {
  const Fd fd = Open(NameOf(work, number), O_RDONLY);
  *hit = static_cast<bool>(fd);
  if (fd.result() == -ENOENT) return "";
  if (!fd) return "open: " + Value(fd.result());
  const int64_t bytes = SizeOf(fd.get());
  if (bytes <= 0) return "fstat: " + Value(bytes);
  void* map = mmap(nullptr, static_cast<size_t>(bytes), PROT_READ, MAP_SHARED, fd.get(), 0);
  if (map == MAP_FAILED) return "mmap: " + Value(-errno);
  std::string problem = CheckPage(number, {static_cast<const char*>(map), static_cast<size_t>(bytes)});
  munmap(map, static_cast<size_t>(bytes));
  return problem.empty() ? "" : "mapped: " + problem;
}

std::string RunWriter(const Work& work) {
  std::mt19937_64 random(work.seed);
  uint64_t serial = work.seed << 32;
  const Stopwatch watch;
  while (watch.seconds() < work.seconds) {
    if (std::string problem = WriteOnce(work, &random, &serial); !problem.empty()) return problem;
  }
  return "ok " + std::to_string(serial - (work.seed << 32));
}

std::string RunReader(const Work& work) {
  std::mt19937_64 random(work.seed);
  AlignedBuffer buffer(kMaxPageBytes + 8192);
  uint64_t hits = 0;
  const Stopwatch watch;
  while (watch.seconds() < work.seconds) {
    const uint64_t number = random() % work.names;
    const uint64_t kind = random() % 8;
    bool hit = false;
    std::string problem;
    if (kind == 0) {
      const int64_t bytes = SizeOf(NameOf(work, number));
      if (bytes != -ENOENT && bytes < static_cast<int64_t>(kMinPageBytes)) problem = "stat: " + Value(bytes);
    } else if (kind == 1) {
      problem = MapOnce(work, number, &hit);
    } else {
      const int flags = kind <= 3 ? O_DIRECT : kind == 4 ? O_NOATIME : 0;
      problem = ReadOnce(work, {number, flags}, &buffer, &hit);
    }
    if (!problem.empty()) return "name " + std::to_string(number) + ": " + problem;
    hits += hit ? 1 : 0;
  }
  return "ok " + std::to_string(hits);
}

class WritersAndReaders : public NodeTest {
 protected:
  // Everybody has let go: the pages are all that is used.
  void ExpectAccountingAddsUp(const std::string& dir) {
    uint64_t blocks_bytes = 0;
    uint64_t bytes = 0;
    uint64_t pages = 0;
    for (const std::string& name : List(dir)) {
      const auto size = static_cast<uint64_t>(SizeOf(dir + "/" + name));
      bytes += size;
      blocks_bytes += (size + 4095) / 4096 * 4096;
      ++pages;
    }
    if (test_options_.plain) return;
    const auto add_up = [&] {
      return node_->StatusNumber("memory_drafts") == 0 && node_->StatusNumber("memory_held_bytes") == 0 &&
             node_->StatusNumber("memory_evictable_bytes") == blocks_bytes &&
             node_->StatusNumber("memory_pages") == pages;
    };
    EXPECT_TRUE(WaitUntil(add_up, Seconds(20)))
        << pages << " pages of " << bytes << " bytes, " << blocks_bytes << " bytes of blocks; status:\n"
        << Contents(node_->Path(".kvpagefs/status"));
  }
};

TEST_F(WritersAndReaders, SeeWholePagesOrNothing) {
  StartNode({.memory = "512MiB", .source = "", .arguments = {}, .mount_point = "", .max_open_files = 0});
  KVP_RETURN_IF_NOT_RUNNING();
  Work work;
  work.dir = node_->dir();
  work.seconds = static_cast<double>(EnvNumber("KVPAGEFS_STRESS_SECONDS", 60));
  work.whole_files_only = test_options_.plain;
  printf("KVPAGEFS_SEED=%llu, %.0f s\n", static_cast<unsigned long long>(test_options_.seed), work.seconds);
  std::vector<Peer> peers;
  for (int i = 0; i < kWriters + kReaders; ++i) {
    Work own = work;
    own.seed = test_options_.seed * 100 + static_cast<uint64_t>(i);
    peers.emplace_back([own, i](const std::string&) { return i < kWriters ? RunWriter(own) : RunReader(own); });
  }
  for (Peer& peer : peers) peer.Send("go");
  uint64_t written = 0;
  uint64_t read = 0;
  for (int i = 0; i < kWriters + kReaders; ++i) {
    const std::string answer = peers[static_cast<size_t>(i)].Receive();
    EXPECT_TRUE(answer.starts_with("ok ")) << (i < kWriters ? "writer: " : "reader: ") << answer;
    if (answer.starts_with("ok ")) (i < kWriters ? written : read) += std::stoull(answer.substr(3));
  }
  printf("%llu pages written, %llu read\n", static_cast<unsigned long long>(written),
         static_cast<unsigned long long>(read));
  EXPECT_GT(written, 100u);
  EXPECT_GT(read, 100u);
  peers.clear();
  for (const std::string& name : List(work.dir)) {
    EXPECT_EQ(CheckPage(std::stoull(name.substr(5)), Contents(work.dir + "/" + name)), "") << name;
  }
  ExpectAccountingAddsUp(work.dir);
}

// The same in a segment that is much too small for all pages: eviction goes on all the time.
TEST_F(WritersAndReaders, UnderEviction) {
  StartRealNode({.memory = "48MiB", .source = "", .arguments = {}, .mount_point = "", .max_open_files = 0});
  KVP_RETURN_IF_NOT_RUNNING();
  Work work;
  work.dir = node_->dir();
  work.seconds = static_cast<double>(EnvNumber("KVPAGEFS_STRESS_SECONDS", 60)) / 6;
  work.names = 600;
  work.may_evict = true;
  std::vector<Peer> peers;
  for (int i = 0; i < 6; ++i) {
    Work own = work;
    own.seed = test_options_.seed * 200 + static_cast<uint64_t>(i);
    peers.emplace_back([own, i](const std::string&) { return i < 3 ? RunWriter(own) : RunReader(own); });
  }
  for (Peer& peer : peers) peer.Send("go");
  for (size_t i = 0; i < peers.size(); ++i) {
    const std::string answer = peers[i].Receive();
    EXPECT_TRUE(answer.starts_with("ok ")) << (i < 3 ? "writer: " : "reader: ") << answer;
  }
  peers.clear();
  ExpectAccountingAddsUp(work.dir);
}

}  // namespace
}  // namespace kvpagefs::mount_test
