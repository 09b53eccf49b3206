// uring_disk.cc, uring_thread.cc, uring_loop.cc and uring_ring.cc; what both disks do: file_disk_test.cc
#include "spill/uring_disk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "unit/spill/disk_fixture.h"

namespace kvpagefs {
namespace {

using disk_test::DiskKind;
using disk_test::Fail;
using disk_test::FilesOf;
using disk_test::kMiB;
using disk_test::MakeDisk;
using disk_test::Memory;
using disk_test::Read;
using disk_test::RegionName;
using disk_test::RunInChild;
using disk_test::TempDir;
using disk_test::Write;

class UringDiskTest : public ::testing::Test {
 protected:
  void SetUp() override {
    disk_ = MakeDisk(DiskKind::kUring, dir_.path());
    if (disk_ == nullptr) GTEST_SKIP() << "io_uring is refused on this machine";
  }
  // What an ordinary user may lock is little, and shared by all its processes.
  static bool IsAboveLimit(const Status& registered) {
    return geteuid() != 0 && !registered.ok() && registered.error().text().find("locked memory") != std::string::npos;
  }
  TempDir dir_;
  std::unique_ptr<SsdDisk> disk_;
};

TEST_F(UringDiskTest, RegisteredMemoryAndOtherMemory) {
  Memory memory(4 * kMiB);
  memory.Fill(1);
  Memory other(4 * kMiB);
  const iovec registered[] = {memory.Piece(kMiB, kMiB), memory.Piece(3 * kMiB, kMiB)};
  const Status status = disk_->RegisterMemory(registered);
  if (IsAboveLimit(status)) GTEST_SKIP() << status.error().text();
  ASSERT_TRUE(status.ok()) << status.error().Describe();
  EXPECT_EQ(disk_->GetInfo().registered_bytes, 2 * kMiB);
  EXPECT_EQ(disk_->GetInfo().note, "");
  const Result<SsdDisk::FileId> file = disk_->Open(RegionName(1), 4 * kMiB);
  ASSERT_TRUE(file.ok());
  // Outside, inside, across both ends of a slice.
  const std::pair<uint64_t, uint64_t> ranges[] = {{0, kMiB / 2},
                                                  {kMiB / 2, kMiB},
                                                  {kMiB + kMiB / 2, kMiB / 4},
                                                  {kMiB * 7 / 4, kMiB / 2},
                                                  {kMiB * 9 / 4, kMiB * 7 / 4}};
  for (const auto& [offset, bytes] : ranges) {
    ASSERT_TRUE(Write(*disk_, {*file, offset}, {memory.Piece(offset, bytes)}).ok());
  }
  ASSERT_TRUE(Read(*disk_, {*file, 0}, {other.Whole()}).ok());
  EXPECT_TRUE(other == memory);
  memory.Fill(2);
  for (const auto& [offset, bytes] : ranges) {
    ASSERT_TRUE(Read(*disk_, {*file, offset}, {memory.Piece(offset, bytes)}).ok());
  }
  EXPECT_TRUE(other == memory);
}

TEST_F(UringDiskTest, RegisteringAgainReplaces) {
  Memory memory(2 * kMiB);
  const iovec whole[] = {memory.Whole()};
  const iovec half[] = {memory.Piece(0, kMiB)};
  const Status status = disk_->RegisterMemory(whole);
  if (IsAboveLimit(status)) GTEST_SKIP() << status.error().text();
  ASSERT_TRUE(status.ok()) << status.error().Describe();
  ASSERT_TRUE(disk_->RegisterMemory(half).ok());
  EXPECT_EQ(disk_->GetInfo().registered_bytes, kMiB);
  const Result<SsdDisk::FileId> file = disk_->Open(RegionName(1), 2 * kMiB);
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE(Write(*disk_, {*file, 0}, {memory.Whole()}).ok());
  ASSERT_TRUE(disk_->RegisterMemory({}).ok());
  EXPECT_EQ(disk_->GetInfo().registered_bytes, 0U);
  EXPECT_TRUE(Write(*disk_, {*file, 0}, {memory.Whole()}).ok());
}

TEST_F(UringDiskTest, MemoryAboveOneSlice) {
  constexpr uint64_t kSlice = uint64_t{1} << 30;
  Memory memory(kSlice + 2 * kMiB);
  madvise(memory.bytes().data(), memory.bytes().size(), MADV_HUGEPAGE);
  const iovec whole[] = {memory.Whole()};
  const Status status = disk_->RegisterMemory(whole);
  if (IsAboveLimit(status)) GTEST_SKIP() << status.error().text();
  ASSERT_TRUE(status.ok()) << status.error().Describe();
  EXPECT_EQ(disk_->GetInfo().registered_bytes, kSlice + 2 * kMiB);
  const Result<SsdDisk::FileId> file = disk_->Open(RegionName(1), 4 * kMiB);
  ASSERT_TRUE(file.ok());
  Memory pattern(2 * kMiB);
  pattern.Fill(6);
  ASSERT_TRUE(Write(*disk_, {*file, 0}, {pattern.Whole()}).ok());
  // The end of the first slice, across it, the start of the second.
  for (const uint64_t start : {kSlice - 2 * kMiB, kSlice - kMiB, kSlice}) {
    ASSERT_TRUE(Read(*disk_, {*file, 0}, {memory.Piece(start, 2 * kMiB)}).ok());
    EXPECT_TRUE(std::ranges::equal(memory.bytes().subspan(start, 2 * kMiB), pattern.bytes()));
  }
}

TEST_F(UringDiskTest, MemoryThatCannotBeRegisteredIsUsedAllTheSame) {
  disk_ = nullptr;
  if (geteuid() != 0) GTEST_SKIP() << "only root becomes another user";
  ASSERT_EQ(chown(dir_.path().c_str(), 65534, 65534), 0);
  const int status = RunInChild([&] {
    const rlimit limit = {.rlim_cur = 64 << 10, .rlim_max = 64 << 10};
    if (setrlimit(RLIMIT_MEMLOCK, &limit) != 0 || setresuid(65534, 65534, 65534) != 0) return Fail("cannot prepare");
    const std::unique_ptr<SsdDisk> disk = MakeDisk(DiskKind::kUring, dir_.path());
    if (disk == nullptr) return Fail("no ring");
    Memory memory(8 * kMiB);
    const iovec whole[] = {memory.Whole()};
    const Status registered = disk->RegisterMemory(whole);
    if (registered.ok()) return Fail("registered above the limit");
    if (registered.error().text().find("locked memory") == std::string::npos) return Fail(registered.error().text());
    if (disk->GetInfo().registered_bytes != 0 || disk->GetInfo().note.empty()) return Fail("info");
    const Result<SsdDisk::FileId> file = disk->Open(RegionName(1), 8 * kMiB);
    if (!file.ok()) return Fail(file.error().Describe());
    return Write(*disk, {*file, 0}, {memory.Whole()}).ok() ? 0 : Fail("write");
  });
  EXPECT_EQ(status, 0);
}

TEST_F(UringDiskTest, MoreFilesThanTheTableHas) {
  disk_ = nullptr;
  const int status = RunInChild([&] {
    const rlimit limit = {.rlim_cur = 40, .rlim_max = 40};
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) return Fail("setrlimit");
    const std::unique_ptr<SsdDisk> disk = MakeDisk(DiskKind::kUring, dir_.path());
    if (disk == nullptr) return Fail("no ring");
    Memory memory(kBlockBytes);
    std::vector<SsdDisk::FileId> files;
    for (uint64_t number = 0; number < 100; ++number) {
      const Result<SsdDisk::FileId> file = disk->Open(RegionName(number), kBlockBytes);
      if (!file.ok() && file.code() == ErrorCode::kTooManyFiles && number > 10) break;
      if (!file.ok()) return Fail(file.error().Describe());
      if (!Write(*disk, {*file, 0}, {memory.Whole()}).ok()) return Fail("write");
      files.push_back(*file);
    }
    for (const SsdDisk::FileId file : files) disk->Close(file);
    // Places in the table are used again.
    for (uint64_t round = 0; round < 200; ++round) {
      Result<SsdDisk::FileId> file = ErrorCode::kNotFound;
      // The descriptor of a file that was closed goes a little later.
      disk_test::WaitUntil([&] {
        file = disk->Open(RegionName(round % 10), kBlockBytes);
        return file.ok() || file.code() != ErrorCode::kTooManyFiles;
      });
      if (!file.ok()) return Fail(file.error().Describe());
      if (!Read(*disk, {*file, 0}, {memory.Whole()}).ok()) return Fail("read");
      disk->Close(*file);
    }
    return 0;
  });
  EXPECT_EQ(status, 0);
}

TEST_F(UringDiskTest, RefusedRings) {
  disk_ = nullptr;
  for (const int errno_value : {EPERM, ENOSYS, ENOMEM}) {
    const int status = RunInChild([&] {
      if (!disk_test::ForbidIoUring(static_cast<uint32_t>(errno_value))) return Fail("no seccomp");
      const auto files = FilesOf(dir_.path());
      const Result<std::unique_ptr<UringDisk>> disk = UringDisk::Create(files, {});
      if (disk.ok()) return Fail("a ring");
      if (disk.error().text().find("io_uring cannot be set up") == std::string::npos) return Fail(disk.error().text());
      return files->List().ok() ? 0 : Fail("files");
    });
    EXPECT_EQ(status, 0) << errno_value;
  }
}

}  // namespace
}  // namespace kvpagefs
