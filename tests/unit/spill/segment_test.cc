// segment.cc, segment_memfd.cc, segment_file.cc and segment_device.cc
#include "spill/segment.h"

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace kvpagefs {
namespace {

using testing::HasSubstr;

constexpr uint64_t kMiB = 1 << 20;

class SegmentTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/kvpagefs-segment-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  void WriteFile(const std::string& name, const std::string& text) { std::ofstream(Path(name)) << text; }
  std::string ReadFile(const std::string& name) {
    std::ifstream file(Path(name));
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // The map fails with this code, and the text names all of these.
  void ExpectError(const Segment::Options& options, ErrorCode code, const std::vector<std::string>& words) {
    const Result<Segment> segment = Segment::Map(options);
    ASSERT_FALSE(segment.ok());
    EXPECT_EQ(segment.code(), code) << segment.error().text();
    for (const std::string& word : words) EXPECT_THAT(segment.error().text(), HasSubstr(word));
  }
  std::string folder_;
};

TEST_F(SegmentTest, MemfdIsWritableAndZero) {
  Result<Segment> segment = Segment::Map({.bytes = 5 * kMiB});
  ASSERT_TRUE(segment.ok()) << segment.error().Describe();
  EXPECT_EQ(segment->bytes(), 4 * kMiB);
  EXPECT_THAT(segment->description(), HasSubstr("memfd"));
  EXPECT_GE(segment->fd(), 0);
  EXPECT_EQ(segment->base()[4 * kMiB - 1], std::byte{0});
  segment->base()[4 * kMiB - 1] = std::byte{9};
  std::byte seen{};
  EXPECT_EQ(pread(segment->fd(), &seen, 1, 4 * kMiB - 1), 1);
  EXPECT_EQ(seen, std::byte{9});
  const Segment moved = std::move(*segment);
  EXPECT_EQ(segment->base(), nullptr);
  EXPECT_EQ(moved.base()[4 * kMiB - 1], std::byte{9});
}

TEST_F(SegmentTest, SizesAreChecked) {
  ExpectError({.bytes = 4 * kMiB - 1}, ErrorCode::kInvalid, {"--memory", "4.0 MiB"});
  ExpectError({.bytes = uint64_t{1} << 50}, ErrorCode::kInvalid, {"--memory"});
  ExpectError({.bytes = uint64_t{8} << 40}, ErrorCode::kInvalid, {"--memory 8.0 TiB", "choose a smaller size"});
}

TEST_F(SegmentTest, HugePagesOnNeedsHugePages) {
  const Result<Segment> segment = Segment::Map({.bytes = 4 * kMiB, .huge_pages = HugePages::kOn});
  if (segment.ok()) {
    EXPECT_EQ(segment->description(), "memfd, 2 MiB pages");
    EXPECT_TRUE(segment->Prefault(0, segment->bytes()).ok());
    segment->base()[0] = std::byte{1};
  } else {
    ExpectError({.bytes = 4 * kMiB, .huge_pages = HugePages::kOn}, ErrorCode::kUnavailable,
                {"--huge-pages on", "2 huge pages", "sysctl vm.nr_hugepages="});
  }
  ExpectError({.bytes = 4 * kMiB, .path = Path("a"), .huge_pages = HugePages::kOn}, ErrorCode::kInvalid,
              {"--huge-pages on", "--memory-path"});
}

TEST_F(SegmentTest, PrefaultMakesResidentAndKeepsContents) {
  const Result<Segment> segment = Segment::Map({.bytes = 4 * kMiB, .huge_pages = HugePages::kOff});
  ASSERT_TRUE(segment.ok());
  segment->base()[kMiB + 1] = std::byte{5};
  ASSERT_TRUE(segment->Prefault(kMiB + 7, 2 * kMiB).ok());
  EXPECT_EQ(segment->base()[kMiB + 1], std::byte{5});
  std::vector<unsigned char> resident(1024);
  ASSERT_EQ(mincore(segment->base(), 4 * kMiB, resident.data()), 0);
  for (size_t page = 256; page <= 768; ++page) EXPECT_TRUE(resident[page] & 1) << page;
  EXPECT_FALSE(resident[900] & 1);
  EXPECT_TRUE(segment->Prefault(kMiB, UINT64_MAX).ok());
  EXPECT_TRUE(segment->Prefault(UINT64_MAX, 1).ok());
}

TEST_F(SegmentTest, PrefaultMakesHugePages) {
  const Result<Segment> segment = Segment::Map({.bytes = 8 * kMiB});
  ASSERT_TRUE(segment.ok());
  ASSERT_EQ(reinterpret_cast<uintptr_t>(segment->base()) % (2 * kMiB), 0u);
  std::memset(segment->base(), 3, 100);
  ASSERT_TRUE(segment->Prefault(0, segment->bytes()).ok());
  EXPECT_EQ(segment->base()[99], std::byte{3});
  EXPECT_EQ(segment->base()[100], std::byte{0});
  if (madvise(segment->base(), 2 * kMiB, 25 /* MADV_COLLAPSE */) != 0) {
    GTEST_SKIP() << "this kernel makes no huge pages of shared memory: " << std::strerror(errno);
  }
  std::ifstream smaps("/proc/self/smaps");
  const std::string text((std::istreambuf_iterator<char>(smaps)), std::istreambuf_iterator<char>());
  const size_t mapping = text.find("kvpagefs-segment");
  ASSERT_NE(mapping, std::string::npos);
  EXPECT_NE(text.find("ShmemPmdMapped:     8192 kB", mapping), std::string::npos);
}

TEST_F(SegmentTest, PrefaultBesideAWriter) {
  const Result<Segment> segment = Segment::Map({.bytes = 4 * kMiB});
  ASSERT_TRUE(segment.ok());
  std::thread writer([&] { std::memset(segment->base(), 7, segment->bytes()); });
  EXPECT_TRUE(segment->Prefault(0, segment->bytes()).ok());
  writer.join();
  for (uint64_t at = 0; at < segment->bytes(); ++at) ASSERT_EQ(segment->base()[at], std::byte{7});
}

TEST_F(SegmentTest, NewFileIsCreatedReservedAndMarked) {
  {
    const Result<Segment> segment = Segment::Map({.bytes = 4 * kMiB, .path = Path("seg")});
    ASSERT_TRUE(segment.ok()) << segment.error().Describe();
    EXPECT_EQ(segment->description(), "file " + Path("seg"));
    segment->base()[0] = std::byte{'x'};
    struct stat info = {};
    ASSERT_EQ(stat(Path("seg").c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0600u);
    EXPECT_EQ(info.st_size, static_cast<off_t>(4 * kMiB + 4096));
    EXPECT_GE(info.st_blocks * 512, info.st_size);
  }
  const std::string file = ReadFile("seg");
  EXPECT_EQ(file[0], 'x');
  EXPECT_EQ(file.substr(4 * kMiB, 8), "KVPSEG1\n");
}

TEST_F(SegmentTest, OwnFileIsUsedAgainAndResized) {
  for (const uint64_t bytes : {4 * kMiB, 8 * kMiB, 8 * kMiB, 4 * kMiB}) {
    const Result<Segment> segment = Segment::Map({.bytes = bytes, .path = Path("seg")});
    ASSERT_TRUE(segment.ok()) << segment.error().Describe();
    std::memset(segment->base(), 1, segment->bytes());
    EXPECT_EQ(std::filesystem::file_size(Path("seg")), bytes + 4096);
  }
  WriteFile("empty", "");
  EXPECT_TRUE(Segment::Map({.bytes = 4 * kMiB, .path = Path("empty")}).ok());
}

TEST_F(SegmentTest, ForeignFilesAreNotTouched) {
  const std::string blocks(8192, 'f');
  for (const std::string& text : {std::string("precious"), blocks, blocks + "KVPSEG1\n"}) {
    WriteFile("foreign", text);
    ExpectError({.bytes = 4 * kMiB, .path = Path("foreign")}, ErrorCode::kInvalid,
                {"--memory-path " + Path("foreign"), "remove it"});
    EXPECT_EQ(ReadFile("foreign"), text);
  }
}

TEST_F(SegmentTest, OneOwnerAtATime) {
  const Result<Segment> segment = Segment::Map({.bytes = 4 * kMiB, .path = Path("seg")});
  ASSERT_TRUE(segment.ok());
  ExpectError({.bytes = 8 * kMiB, .path = Path("seg")}, ErrorCode::kUnavailable, {"--memory-path", "another process"});
  EXPECT_EQ(std::filesystem::file_size(Path("seg")), 4 * kMiB + 4096);
}

TEST_F(SegmentTest, WrongPathsAreNamed) {
  ExpectError({.bytes = 4 * kMiB, .path = folder_}, ErrorCode::kInvalid, {"--memory-path " + folder_, "directory"});
  ExpectError({.bytes = 4 * kMiB, .path = Path("no/seg")}, ErrorCode::kInvalid, {Path("no/seg"), "does not exist"});
  ExpectError({.bytes = 4 * kMiB, .path = "/dev/null"}, ErrorCode::kInvalid, {"/dev/null", "DAX"});
  ASSERT_EQ(mkfifo(Path("fifo").c_str(), 0600), 0);
  ExpectError({.bytes = 4 * kMiB, .path = Path("fifo")}, ErrorCode::kInvalid, {"fifo", "regular file"});
  EXPECT_FALSE(Segment::Map({.bytes = 4 * kMiB, .path = "/proc/version"}).ok());
}

TEST_F(SegmentTest, NoRoomLeavesNothingBehind) {
  rlimit old = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old), 0);
  signal(SIGXFSZ, SIG_IGN);
  const rlimit small = {.rlim_cur = 2 * kMiB, .rlim_max = old.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const Result<Segment> segment = Segment::Map({.bytes = 4 * kMiB, .path = Path("seg")});
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &old), 0);
  EXPECT_FALSE(segment.ok());
  EXPECT_FALSE(std::filesystem::exists(Path("seg")));
}

}  // namespace
}  // namespace kvpagefs
