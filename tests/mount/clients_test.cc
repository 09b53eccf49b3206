// What the engines do to the directory (hot paths), with the same system calls. Each test names its row.
#include <dirent.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cstring>
#include <thread>

#include "tests/mount/harness/async_io.h"
#include "tests/mount/harness/mount_test.h"
#include "tests/mount/harness/page_content.h"

namespace kvpagefs::mount_test {
namespace {

constexpr size_t kMiB = 1 << 20;

// "<64 hex>_Llama-3.1-8B_0_1.bin", as SGLang names its pages.
std::string SglangName(uint64_t number) {
  std::string hex;
  for (const char c : Pattern(number, 32)) {
    char two[3];
    snprintf(two, sizeof(two), "%02x", static_cast<unsigned char>(c));
    hex += two;
  }
  return hex + "_meta-llama-Llama-3.1-8B-Instruct_0_1.bin";
}

class Clients : public NodeTest {
 protected:
  void SetUp() override {
    StartNode({.memory = "512MiB", .source = "", .arguments = {}, .mount_point = "", .max_open_files = 0});
  }

  // Temporary name, O_EXCL or O_TRUNC, one write or 1 MiB pieces, rename.
  void Publish(const std::string& final_path, const std::string& page, int flags, size_t piece_bytes) {
    const std::string temporary = final_path + ".tmp.4242.4243.0123456789abcdef0123456789abcdef";
    Fd fd = Open(temporary, O_WRONLY | O_CREAT | flags, 0600);
    ASSERT_TRUE(fd) << Value(fd.result());
    for (size_t at = 0; at < page.size(); at += piece_bytes) {
      const size_t bytes = std::min(piece_bytes, page.size() - at);
      ASSERT_EQ(Sys(write(fd.get(), page.data() + at, bytes)), static_cast<int64_t>(bytes));
    }
    ASSERT_EQ(fd.Close(), 0);
    ASSERT_EQ(rename(temporary.c_str(), final_path.c_str()), 0);
  }
};

// stat or access(F_OK) of up to 128 names in a row, stop at the first miss (SGLang file, vLLM fs, LMCache).
TEST_F(Clients, LookupOf128NamesStopsAtTheFirstMiss) {
  for (uint64_t i = 0; i < 100; ++i) ASSERT_EQ(WriteFile(Path(SglangName(i)), MakePage(i, 1, 4096)), 0);
  for (int round = 0; round < 3; ++round) {
    uint64_t by_stat = 0;
    while (by_stat < 128 && SizeOf(Path(SglangName(by_stat))) == 4096) ++by_stat;
    EXPECT_EQ(by_stat, 100u);
    uint64_t by_access = 0;
    while (by_access < 128 && access(Path(SglangName(by_access)).c_str(), F_OK) == 0) ++by_access;
    EXPECT_EQ(by_access, 100u);
  }
  Peer other([this](const std::string&) {
    uint64_t count = 0;
    while (count < 128 && access(Path(SglangName(count)).c_str(), F_OK) == 0) ++count;
    return std::to_string(count);
  });
  EXPECT_EQ(other.Ask(""), "100");
}

// open [O_DIRECT][O_NOATIME], fstat, ONE read or readv of the whole file, close (SGLang, vLLM, LMCache, llm-d).
TEST_F(Clients, WholeFileInOneRead) {
  for (const size_t bytes : {64 * size_t{1024}, 76 * size_t{1024}, kMiB, 2 * kMiB, 8 * kMiB, 20 * kMiB, 32 * kMiB}) {
    const std::string path = Path(SglangName(bytes));
    Publish(path, MakePage(bytes, 1, bytes), O_EXCL, bytes);
    AlignedBuffer buffer(bytes);
    for (const int flags : {0, O_DIRECT, O_NOATIME, O_DIRECT | O_NOATIME}) {
      const Fd fd = Open(path, O_RDONLY | flags);
      ASSERT_TRUE(fd) << Value(fd.result());
      ASSERT_EQ(SizeOf(fd.get()), static_cast<int64_t>(bytes));
      std::memset(buffer.data(), 0, bytes);
      ASSERT_EQ(Sys(read(fd.get(), buffer.data(), bytes)), static_cast<int64_t>(bytes)) << "flags " << flags;
      EXPECT_EQ(CheckPage(bytes, buffer.view(bytes)), "");
      std::memset(buffer.data(), 0, bytes);
      iovec halves[2] = {{buffer.data(), bytes / 2}, {buffer.data() + bytes / 2, bytes - bytes / 2}};
      ASSERT_EQ(Sys(preadv(fd.get(), halves, 2, 0)), static_cast<int64_t>(bytes)) << "flags " << flags;
      EXPECT_EQ(CheckPage(bytes, buffer.view(bytes)), "");
    }
    ASSERT_EQ(unlink(path.c_str()), 0);
  }
}

// <final>.tmp…, O_EXCL or O_TRUNC, one write or 1 MiB pieces, rename (SGLang, vLLM, llm-d, LMCache fs).
TEST_F(Clients, TemporaryFileAndRename) {
  for (const int flags : {O_EXCL, O_TRUNC}) {
    for (const size_t piece : {kMiB, 64 * kMiB}) {
      const std::string path = Path(SglangName(7));
      for (uint64_t serial = 0; serial < 5; ++serial) {
        Publish(path, MakePage(7, serial, 5 * kMiB + 123), flags, piece);
        EXPECT_EQ(CheckPage(7, Contents(path)), "");
      }
    }
  }
  EXPECT_EQ(List(node_->dir()).size(), 1u);
}

// Create at the final name, write, close (LMCache local_disk, SGLang NIXL, vLLM example connector).
TEST_F(Clients, CreateAtTheFinalName) {
  for (uint64_t i = 0; i < 50; ++i) {
    const std::string path = Path("model@4@0@" + std::to_string(i) + "@bfloat16.pt");
    ASSERT_EQ(WriteFile(path, MakePage(i, 1, 100000), 0644), 0);
    EXPECT_EQ(CheckPage(i, RunInChild([&] { return Contents(path); })), "");
  }
}

// A full scan of one flat directory with d_type, at every lookup of hybrid models (SGLang v2, LMCache, evictors).
TEST_F(Clients, FullScansWithTypes) {
  for (uint64_t i = 0; i < 2000; ++i) ASSERT_EQ(WriteFile(Path(SglangName(i)), "x"), 0);
  for (int round = 0; round < 20; ++round) {
    DIR* stream = opendir(node_->dir().c_str());
    ASSERT_NE(stream, nullptr);
    int files = 0;
    while (const dirent* entry = readdir(stream)) files += entry->d_type == DT_REG ? 1 : 0;
    closedir(stream);
    EXPECT_EQ(files, 2000);
  }
}

// numpy tofile: fallocate(KEEP_SIZE) from 16 MiB, write by a dup, FLUSH twice (SGLang).
TEST_F(Clients, NumpyTofile) {
  for (const size_t bytes : {kMiB, 16 * kMiB, 20 * kMiB + 5}) {
    const std::string path = Path(SglangName(bytes));
    const std::string page = MakePage(bytes, 1, bytes);
    Fd fd = Open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    Fd copy(dup(fd.get()));
    ASSERT_TRUE(copy);
    if (bytes >= 16 * kMiB) {
      ASSERT_EQ(Value(Sys(fallocate(copy.get(), FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(bytes)))), "0");
    }
    ASSERT_EQ(WriteAll(copy.get(), page), 0);
    ASSERT_EQ(copy.Close(), 0);
    ASSERT_EQ(Sys(lseek(fd.get(), static_cast<off_t>(bytes), SEEK_SET)), static_cast<int64_t>(bytes));
    ASSERT_EQ(fd.Close(), 0);
    EXPECT_EQ(CheckPage(bytes, Contents(path)), "");
  }
}

// statvfs before eviction or direct I/O: f_bsize 4096 (LMCache, the NIXL cleaner, llm-d's evictor).
TEST_F(Clients, StatvfsBeforeDirectIo) {
  struct statvfs info{};
  ASSERT_EQ(statvfs(node_->dir().c_str(), &info), 0);
  EXPECT_EQ(info.f_bsize, 4096u);
  EXPECT_GT(info.f_blocks, 0u);
  const double used = 1.0 - static_cast<double>(info.f_bavail) / static_cast<double>(info.f_blocks);
  EXPECT_TRUE(test_options_.plain || used < 0.8) << "cleaners would start deleting in an empty cache: " << used;
}

// unlink of everything in the directory (clear() everywhere).
TEST_F(Clients, ClearUnlinksEverything) {
  for (uint64_t i = 0; i < 1000; ++i) ASSERT_EQ(WriteFile(Path(SglangName(i)), MakePage(i, 1, 8192)), 0);
  for (const std::string& name : List(node_->dir())) ASSERT_EQ(unlink(Path(name).c_str()), 0) << name;
  EXPECT_EQ(List(node_->dir()).size(), 0u);
  for (uint64_t i = 0; i < 1000; ++i) EXPECT_EQ(SizeOf(Path(SglangName(i))), -ENOENT);
}

// ftruncate + mmap(MAP_SHARED) writing (LMCache GDS fallback).
TEST_F(Clients, MappedWriting) {
  const std::string page = MakePage(1, 1, 8 * kMiB + 100);
  Fd fd = Open(Path("mapped.tmp"), O_RDWR | O_CREAT | O_TRUNC);
  ASSERT_EQ(ftruncate(fd.get(), static_cast<off_t>(page.size())), 0);
  void* map = mmap(nullptr, page.size(), PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  ASSERT_NE(map, MAP_FAILED) << Value(-errno);
  std::memcpy(map, page.data(), page.size());
  EXPECT_EQ(munmap(map, page.size()), 0);
  ASSERT_EQ(fd.Close(), 0);
  ASSERT_EQ(rename(Path("mapped.tmp").c_str(), Path("mapped").c_str()), 0);
  EXPECT_EQ(CheckPage(1, Contents(Path("mapped"))), "");
}

// mmap(MAP_PRIVATE, MAP_POPULATE) reading (safetensors).
TEST_F(Clients, MappedReading) {
  ASSERT_EQ(WriteFile(Path("model.safetensors"), MakePage(1, 1, 16 * kMiB)), 0);
  const Fd fd = Open(Path("model.safetensors"), O_RDONLY);
  void* map = mmap(nullptr, 16 * kMiB, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd.get(), 0);
  ASSERT_NE(map, MAP_FAILED) << Value(-errno);
  EXPECT_EQ(CheckPage(1, {static_cast<const char*>(map), 16 * kMiB}), "");
  munmap(map, 16 * kMiB);
}

using AsyncEngine = int64_t (*)(std::span<AsyncRequest>);

// One request for the whole of each file.
std::vector<AsyncRequest> WholeFiles(const std::vector<Fd>& files, AlignedBuffer* buffer, bool write) {
  const size_t bytes = buffer->bytes() / files.size();
  std::vector<AsyncRequest> requests;
  for (size_t i = 0; i < files.size(); ++i) {
    requests.push_back({files[i].get(), write, buffer->data() + i * bytes, static_cast<uint32_t>(bytes), 0, 0});
  }
  return requests;
}

// libaio and io_uring, O_DIRECT, 256 files open at once (NIXL).
void WriteAndReadWholeFiles(const std::string& prefix, AsyncEngine engine) {
  constexpr size_t kFiles = 256;
  constexpr size_t kBytes = 76 * 1024;
  AlignedBuffer buffer(kFiles * kBytes);
  std::vector<Fd> files;
  for (size_t i = 0; i < kFiles; ++i) {
    MakePage(i, 9, kBytes).copy(buffer.data() + i * kBytes, kBytes);
    files.push_back(Open(prefix + std::to_string(i), O_WRONLY | O_CREAT | O_TRUNC | O_DIRECT));
    ASSERT_TRUE(files.back()) << Value(files.back().result());
  }
  std::vector<AsyncRequest> writes = WholeFiles(files, &buffer, true);
  const int64_t outcome = engine(writes);
  if (outcome == -ENOSYS || outcome == -EPERM) GTEST_SKIP() << "not available: " << Value(outcome);
  ASSERT_EQ(outcome, 0);
  for (Fd& fd : files) EXPECT_EQ(fd.Close(), 0);
  for (const AsyncRequest& request : writes) ASSERT_EQ(request.result, static_cast<int64_t>(kBytes));
  std::memset(buffer.data(), 0, buffer.bytes());
  for (size_t i = 0; i < kFiles; ++i) files[i] = Open(prefix + std::to_string(i), O_RDONLY | O_DIRECT);
  std::vector<AsyncRequest> reads = WholeFiles(files, &buffer, false);
  ASSERT_EQ(engine(reads), 0);
  for (size_t i = 0; i < kFiles; ++i) {
    ASSERT_EQ(reads[i].result, static_cast<int64_t>(kBytes)) << i;
    EXPECT_EQ(CheckPage(i, {buffer.data() + i * kBytes, kBytes}), "") << i;
  }
}

TEST_F(Clients, LibaioOn256OpenFiles) { WriteAndReadWholeFiles(Path("aio-"), RunLibaio); }
TEST_F(Clients, UringOn256OpenFiles) { WriteAndReadWholeFiles(Path("uring-"), RunUring); }

// Small user.* attributes on the temporary file (vLLM).
TEST_F(Clients, AttributesOnTheTemporaryFile) {
  Fd fd = Open(Path("a.tmp"), O_WRONLY | O_CREAT | O_EXCL);
  ASSERT_EQ(WriteAll(fd.get(), MakePage(1, 1, 100000)), 0);
  ASSERT_EQ(fd.Close(), 0);
  ASSERT_EQ(setxattr(Path("a.tmp").c_str(), "user.vllm.block", "17", 2, 0), 0);
  ASSERT_EQ(rename(Path("a.tmp").c_str(), Path("a").c_str()), 0);
  char value[8] = {};
  EXPECT_EQ(getxattr(Path("a").c_str(), "user.vllm.block", value, sizeof(value)), 2);
  EXPECT_STREQ(value, "17");
  EXPECT_EQ(CheckPage(1, Contents(Path("a"))), "");
}

// .npy at the final name: writes, fsync, close; stat, open + fadvise(DONTNEED) + close, read; glob + unlink (MLPerf).
TEST_F(Clients, NpyWithFsyncAndFadvise) {
  for (uint64_t i = 0; i < 20; ++i) {
    const std::string path = Path("kv-" + std::to_string(i) + ".npy");
    const std::string page = MakePage(i, 1, 3 * kMiB + 128);
    Fd fd = Open(path, O_WRONLY | O_CREAT | O_TRUNC);
    ASSERT_EQ(WriteAll(fd.get(), std::string_view(page).substr(0, 128)), 0);
    for (size_t at = 128; at < page.size(); at += kMiB) {
      ASSERT_EQ(WriteAll(fd.get(), std::string_view(page).substr(at, kMiB)), 0);
    }
    ASSERT_EQ(fsync(fd.get()), 0);
    ASSERT_EQ(fd.Close(), 0);
    ASSERT_EQ(SizeOf(path), static_cast<int64_t>(page.size()));
    fd = Open(path, O_RDONLY);
    EXPECT_EQ(posix_fadvise(fd.get(), 0, 0, POSIX_FADV_DONTNEED), 0);
    ASSERT_EQ(fd.Close(), 0);
    EXPECT_EQ(CheckPage(i, Contents(path)), "");
  }
  for (const std::string& name : List(node_->dir())) {
    if (!name.ends_with(".npy")) continue;
    EXPECT_EQ(unlink(Path(name).c_str()), 0);
  }
  EXPECT_EQ(List(node_->dir()).size(), 0u);
}

// Names up to 280 bytes (LMCache), and the longest that there are; not on a plain directory.
TEST_F(Clients, LongNames) {
  if (test_options_.plain) GTEST_SKIP() << "a plain directory has names of 255 bytes at most";
  for (const size_t bytes : {255, 256, 270, 280, 1023}) {
    const std::string name = std::string(bytes - 3, 'm') + ".pt";
    ASSERT_EQ(WriteFile(Path(name), MakePage(bytes, 1, 100000)), 0) << bytes;
    EXPECT_EQ(CheckPage(bytes, Contents(Path(name))), "");
    EXPECT_EQ(SizeOf(Path(name)), 100000);
    EXPECT_TRUE(IsListed(node_->dir(), name)) << bytes;
  }
  EXPECT_EQ(List(node_->dir()).size(), 5u);
  for (const std::string& name : List(node_->dir())) EXPECT_EQ(unlink(Path(name).c_str()), 0);
}

// vLLM: 16 readers and 16 writers of one process at once.
TEST_F(Clients, SixteenReadersAndWriters) {
  constexpr uint64_t kThreads = 16;
  std::vector<std::thread> threads;
  std::vector<std::string> problems(2 * kThreads);
  for (uint64_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (uint64_t i = 0; i < 30; ++i) {
        const std::string path = Path(SglangName(t * 100 + i));
        if (WriteFile(path + ".tmp", MakePage(t * 100 + i, i, 200000)) != 0) problems[t] = "write";
        if (rename((path + ".tmp").c_str(), path.c_str()) != 0) problems[t] = "rename";
      }
    });
    threads.emplace_back([&, t] {
      for (uint64_t i = 0; i < 30; ++i) {
        int64_t error = 0;
        const std::string bytes = ReadFile(Path(SglangName(t * 100 + i)), &error, O_DIRECT);
        if (error == 0 && !CheckPage(t * 100 + i, bytes).empty()) problems[kThreads + t] = "content";
        if (error != 0 && error != -ENOENT) problems[kThreads + t] = Value(error);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& problem : problems) EXPECT_EQ(problem, "");
}

}  // namespace
}  // namespace kvpagefs::mount_test
