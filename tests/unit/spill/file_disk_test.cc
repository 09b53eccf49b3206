// What every disk on a real directory does: file_disk.cc, with uring_disk.cc and plain_disk.cc.
#include "spill/file_disk.h"

#include <atomic>
#include <csignal>
#include <random>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "unit/spill/disk_fixture.h"

namespace kvpagefs {
namespace {

using disk_test::Answers;
using disk_test::DiskKind;
using disk_test::DiskSettings;
using disk_test::Fail;
using disk_test::kBlock;
using disk_test::kMiB;
using disk_test::MakeDisk;
using disk_test::MakeIo;
using disk_test::Memory;
using disk_test::Mount;
using disk_test::Read;
using disk_test::RegionName;
using disk_test::RunInChild;
using disk_test::SubmitAll;
using disk_test::Sync;
using disk_test::TempDir;
using disk_test::WaitUntil;
using disk_test::Write;
using ::testing::HasSubstr;
using Kind = SsdDisk::IoKind;

class FileDiskTest : public ::testing::TestWithParam<DiskKind> {
 protected:
  void SetUp() override {
    if (MakeDisk(GetParam(), dir_.path()) == nullptr) GTEST_SKIP() << "io_uring is refused on this machine";
  }
  std::unique_ptr<SsdDisk> Make(const DiskSettings& settings = {}) {
    return MakeDisk(GetParam(), dir_.path(), settings);
  }
  TempDir dir_;
};

TEST_P(FileDiskTest, RoundTripOverARestart) {
  Memory written(4 * kMiB);
  written.Fill(1);
  Memory read(4 * kMiB);
  {
    const std::unique_ptr<SsdDisk> disk = Make();
    const Result<SsdDisk::FileId> file = disk->Open(RegionName(7), 4 * kMiB);
    ASSERT_TRUE(file.ok()) << file.error().Describe();
    ASSERT_TRUE(Write(*disk, {*file, 0}, {written.Whole()}).ok());
    ASSERT_TRUE(Sync(*disk, *file).ok());
    ASSERT_TRUE(Read(*disk, {*file, 0}, {read.Whole()}).ok());
    EXPECT_TRUE(read == written);
    EXPECT_EQ(disk->GetInfo().uses_io_uring, GetParam() == DiskKind::kUring);
    disk->Close(*file);
  }
  read.Fill(2);
  const std::unique_ptr<SsdDisk> disk = Make();
  ASSERT_EQ(disk->List().value().size(), 1U);
  const Result<SsdDisk::FileId> file = disk->Open(RegionName(7), 1);
  ASSERT_TRUE(file.ok());
  // In two transfers, in pieces that are apart.
  ASSERT_TRUE(Read(*disk, {*file, kMiB}, {read.Piece(kMiB, kMiB), read.Piece(3 * kMiB, kMiB)}).ok());
  ASSERT_TRUE(Read(*disk, {*file, 0}, {read.Piece(0, kMiB)}).ok());
  EXPECT_TRUE(std::ranges::equal(read.bytes().first(2 * kMiB), written.bytes().first(2 * kMiB)));
  EXPECT_TRUE(std::ranges::equal(read.bytes().subspan(3 * kMiB), written.bytes().subspan(2 * kMiB, kMiB)));
}

TEST_P(FileDiskTest, MorePiecesThanOneCallTakes) {
  const std::unique_ptr<SsdDisk> disk = Make();
  const uint64_t blocks = 3000;
  const Result<SsdDisk::FileId> file = disk->Open(RegionName(1), blocks * kBlockBytes);
  ASSERT_TRUE(file.ok());
  Memory written(blocks * kBlockBytes);
  Memory read(blocks * kBlockBytes);
  written.Fill(3);
  std::vector<iovec> forward;
  std::vector<iovec> backward;
  for (uint64_t block = 0; block < blocks; ++block) {
    forward.push_back(written.Piece(block * kBlockBytes, kBlockBytes));
    backward.push_back(read.Piece((blocks - 1 - block) * kBlockBytes, kBlockBytes));
  }
  ASSERT_TRUE(Write(*disk, {*file, 0}, forward).ok());
  ASSERT_TRUE(Read(*disk, {*file, 0}, backward).ok());
  for (uint64_t block = 0; block < blocks; ++block) {
    ASSERT_TRUE(std::ranges::equal(read.bytes().subspan((blocks - 1 - block) * kBlockBytes, kBlockBytes),
                                   written.bytes().subspan(block * kBlockBytes, kBlockBytes)));
  }
}

TEST_P(FileDiskTest, ThousandsOfTransfersAtDepthEight) {
  const std::unique_ptr<SsdDisk> disk = Make({.depth = 8});
  constexpr uint64_t kBlocks = 4000;
  const Result<SsdDisk::FileId> file = disk->Open(RegionName(1), kBlocks * kBlockBytes);
  ASSERT_TRUE(file.ok());
  Memory written(kBlocks * kBlockBytes);
  Memory read(kBlocks * kBlockBytes);
  written.Fill(4);
  for (const Kind kind : {Kind::kWrite, Kind::kRead}) {
    Answers answers;
    std::vector<std::thread> threads;
    threads.reserve(4);
    for (uint32_t thread = 0; thread < 4; ++thread) {
      threads.emplace_back([&, thread] {
        std::mt19937 random(thread);
        std::vector<SsdDisk::Io> batch;
        for (uint64_t block = thread; block < kBlocks; block += 4) {
          Memory& memory = kind == Kind::kWrite ? written : read;
          batch.push_back(MakeIo(kind, {*file, block * kBlockBytes}, {memory.Piece(block * kBlockBytes, kBlockBytes)}));
          if (random() % 16 == 0) SubmitAll(*disk, std::exchange(batch, {}), answers);
        }
        SubmitAll(*disk, std::move(batch), answers);
      });
    }
    for (std::thread& thread : threads) thread.join();
    ASSERT_TRUE(answers.Wait());
    EXPECT_EQ(answers.Successes(), kBlocks);
  }
  EXPECT_TRUE(read == written);
}

// The kernel cancels what a thread has under way in its own name when the thread ends.
TEST_P(FileDiskTest, TransfersOutliveTheThreadThatSubmitsThem) {
  const std::unique_ptr<SsdDisk> disk = Make({.depth = 4});
  const Result<SsdDisk::FileId> file = disk->Open(RegionName(1), 8 * kMiB);
  ASSERT_TRUE(file.ok());
  Memory memory(8 * kMiB);
  Answers answers;
  for (uint64_t i = 0; i < 64; ++i) {
    std::thread([&] {
      std::vector<SsdDisk::Io> batch;
      batch.push_back(MakeIo(Kind::kWrite, {*file, i * kMiB / 8}, {memory.Piece(i * kMiB / 8, kMiB / 8)}));
      batch.push_back(MakeIo(Kind::kSync, {.file = *file}, {}));
      SubmitAll(*disk, std::move(batch), answers);
    }).join();
  }
  ASSERT_TRUE(answers.Wait());
  EXPECT_EQ(answers.Successes(), 128U);
}

TEST_P(FileDiskTest, DoneMaySubmitMore) {
  const std::unique_ptr<SsdDisk> disk = Make({.depth = 2});
  const Result<SsdDisk::FileId> file = disk->Open(RegionName(1), kMiB);
  ASSERT_TRUE(file.ok());
  Memory memory(kBlockBytes);
  Answers answers;
  const std::function<void(const Status&)> last = answers.Expect();
  int left = 500;
  std::function<void(const Status&)> again = [&](const Status& status) {
    if (!status.ok() || --left == 0) return last(status);
    std::vector<SsdDisk::Io> batch;
    batch.push_back(
        MakeIo(Kind::kRead, {*file, static_cast<uint64_t>(left % 256) * uint64_t{kBlockBytes}}, {memory.Whole()}));
    batch.back().done = again;
    disk->Submit(std::move(batch));
  };
  again({});
  ASSERT_TRUE(answers.Wait());
  EXPECT_EQ(answers.Successes(), 1U);
}

TEST_P(FileDiskTest, DestructionWaitsForEverything) {
  Memory memory(kMiB);
  Answers answers;
  std::unique_ptr<SsdDisk> disk = Make({.depth = 4});
  const Result<SsdDisk::FileId> file = disk->Open(RegionName(1), kMiB);
  ASSERT_TRUE(file.ok());
  std::vector<SsdDisk::Io> batch;
  batch.reserve(200);
  for (int i = 0; i < 200; ++i) batch.push_back(MakeIo(Kind::kWrite, {*file, 0}, {memory.Whole()}));
  SubmitAll(*disk, std::move(batch), answers);
  disk.reset();
  EXPECT_EQ(answers.Successes(), 200U);
}

TEST_P(FileDiskTest, AFullQueueRefuses) {
  const std::unique_ptr<SsdDisk> disk = Make({.depth = 1, .max_queued = 4});
  const Result<SsdDisk::FileId> file = disk->Open(RegionName(1), kMiB);
  ASSERT_TRUE(file.ok());
  Memory memory(kBlockBytes);
  Answers answers;
  std::atomic<bool> entered = false;
  std::atomic<bool> leave = false;
  // The disk's only thread is kept busy.
  std::vector<SsdDisk::Io> first;
  first.push_back(MakeIo(Kind::kRead, {*file, 0}, {memory.Whole()}));
  first.back().done = [&, done = answers.Expect()](const Status& status) {
    entered = true;
    WaitUntil([&] { return leave.load(); });
    done(status);
  };
  disk->Submit(std::move(first));
  ASSERT_TRUE(WaitUntil([&] { return entered.load(); }));
  std::vector<SsdDisk::Io> batch;
  batch.reserve(10);
  for (int i = 0; i < 10; ++i) batch.push_back(MakeIo(Kind::kRead, {*file, 0}, {memory.Whole()}));
  SubmitAll(*disk, std::move(batch), answers);
  leave = true;
  ASSERT_TRUE(answers.Wait());
  EXPECT_EQ(answers.Successes(), 5U);
  EXPECT_EQ(answers.Failures(ErrorCode::kWouldBlock), 6U);
}

TEST_P(FileDiskTest, ATruncatedFileIsLost) {
  const std::unique_ptr<SsdDisk> disk = Make();
  const Result<SsdDisk::FileId> file = disk->Open(RegionName(1), kMiB);
  ASSERT_TRUE(file.ok());
  Memory memory(kMiB);
  for (const off_t bytes : {off_t{8192}, off_t{6000}, off_t{100}, off_t{0}}) {
    ASSERT_EQ(truncate((dir_ / RegionName(1)).c_str(), bytes), 0);
    const Status status = Read(*disk, {*file, 0}, {memory.Piece(0, 4 * kBlock)});
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.code(), ErrorCode::kLost) << status.error().Describe();
    EXPECT_THAT(status.error().text(), HasSubstr(dir_ / RegionName(1)));
  }
  EXPECT_EQ(Read(*disk, {*file, 8 * kMiB}, {memory.Whole()}).code(), ErrorCode::kLost);
}

TEST_P(FileDiskTest, AClosedFileIsAnError) {
  const std::unique_ptr<SsdDisk> disk = Make();
  const Result<SsdDisk::FileId> first = disk->Open(RegionName(1), kMiB);
  ASSERT_TRUE(first.ok());
  disk->Close(*first);
  const Result<SsdDisk::FileId> second = disk->Open(RegionName(2), kMiB);
  ASSERT_TRUE(second.ok());
  EXPECT_NE(*second, *first);
  Memory memory(kBlockBytes);
  EXPECT_EQ(Read(*disk, {*first, 0}, {memory.Whole()}).code(), ErrorCode::kInvalid);
  EXPECT_EQ(Sync(*disk, 77).code(), ErrorCode::kInvalid);
  EXPECT_TRUE(Read(*disk, {*second, 0}, {memory.Whole()}).ok());
  EXPECT_TRUE(disk->Remove(RegionName(1)).ok());
}

// A limit on the file size gives short writes and then EFBIG, as a file system does that becomes full.
TEST_P(FileDiskTest, ShortWritesGoOnAndEndWithNoSpace) {
  ASSERT_TRUE(Make()->Open(RegionName(1), kMiB).ok());
  const int status = RunInChild([&] {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {.rlim_cur = 64 << 10, .rlim_max = 64 << 10};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return Fail("setrlimit");
    const std::unique_ptr<SsdDisk> disk = Make();
    const Result<SsdDisk::FileId> file = disk->Open(RegionName(1), 1);
    if (!file.ok()) return Fail(file.error().Describe());
    Memory memory(128 << 10);
    memory.Fill(5);
    const Status written = Write(*disk, {*file, 0}, {memory.Piece(0, 48 << 10), memory.Piece(48 << 10, 80 << 10)});
    if (written.ok() || written.code() != ErrorCode::kNoSpace) return Fail("not refused");
    if (written.error().text().find("write at 65536") == std::string::npos) return Fail(written.error().text());
    Memory read(128 << 10);
    if (!Read(*disk, {*file, 0}, {read.Whole()}).ok()) return Fail("read");
    if (!std::ranges::equal(read.bytes().first(64 << 10), memory.bytes().first(64 << 10))) return Fail("bytes");
    return 0;
  });
  EXPECT_EQ(status, 0);
}

TEST_P(FileDiskTest, AFullFileSystem) {
  const std::unique_ptr<Mount> small = Mount::Tmpfs("size=1m");
  if (small == nullptr) GTEST_SKIP() << "this user may not mount";
  const std::unique_ptr<SsdDisk> disk = MakeDisk(GetParam(), small->path());
  EXPECT_FALSE(disk->GetInfo().direct);
  EXPECT_EQ(disk->Open(RegionName(1), 8 * kMiB).code(), ErrorCode::kNoSpace);
  // A file with holes, as a crash or another file system may leave it.
  disk_test::WriteFile(*small / RegionName(2), "");
  ASSERT_EQ(truncate((*small / RegionName(2)).c_str(), 8 * kMiB), 0);
  const Result<SsdDisk::FileId> file = disk->Open(RegionName(2), 1);
  ASSERT_TRUE(file.ok());
  Memory memory(2 * kMiB);
  const Status written = Write(*disk, {*file, 0}, {memory.Whole()});
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.code(), ErrorCode::kNoSpace) << written.error().Describe();
  EXPECT_TRUE(Read(*disk, {*file, 0}, {memory.Whole()}).ok()) << "reads go on";
  disk->Close(*file);
  ASSERT_TRUE(disk->Remove(RegionName(2)).ok());
  EXPECT_TRUE(disk->Open(RegionName(3), kMiB / 2).ok()) << "the space of a removed file is free at once";
}

TEST_P(FileDiskTest, ReadOnlyAndBack) {
  const std::unique_ptr<Mount> mount = Mount::Tmpfs("size=8m");
  if (mount == nullptr) GTEST_SKIP() << "this user may not mount";
  const std::unique_ptr<SsdDisk> disk = MakeDisk(GetParam(), mount->path());
  Result<SsdDisk::FileId> file = disk->Open(RegionName(1), kMiB);
  ASSERT_TRUE(file.ok());
  Memory memory(kBlockBytes);
  ASSERT_TRUE(Write(*disk, {*file, 0}, {memory.Whole()}).ok());
  disk->Close(*file);
  ASSERT_TRUE(WaitUntil([&] { return mount->Remount(true) == 0; })) << "the disk lets go of closed files";
  file = disk->Open(RegionName(1), kMiB);
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE(Read(*disk, {*file, 0}, {memory.Whole()}).ok());
  EXPECT_EQ(Write(*disk, {*file, 0}, {memory.Whole()}).code(), ErrorCode::kUnavailable);
  EXPECT_EQ(disk->Open(RegionName(2), kMiB).code(), ErrorCode::kUnavailable);
  ASSERT_EQ(mount->Remount(false), 0);
  disk->Close(*file);
  file = disk->Open(RegionName(1), kMiB);
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE(Write(*disk, {*file, 0}, {memory.Whole()}).ok());
}

TEST_P(FileDiskTest, ASilentDiskIsGivenUp) {
  const std::unique_ptr<Mount> mount = Mount::Ext4(16 * kMiB);
  if (mount == nullptr) GTEST_SKIP() << "this user may not mount";
  std::unique_ptr<SsdDisk> disk = MakeDisk(GetParam(), mount->path(), {.depth = 2, .drain_ns = 50'000'000});
  const Result<SsdDisk::FileId> file = disk->Open(RegionName(1), 4 * kMiB);
  ASSERT_TRUE(file.ok());
  Memory memory(kMiB);
  Answers answers;
  std::vector<SsdDisk::Io> batch;
  batch.reserve(10);
  for (int i = 0; i < 10; ++i) batch.push_back(MakeIo(Kind::kWrite, {*file, 0}, {memory.Whole()}));
  ASSERT_TRUE(mount->Freeze());
  SubmitAll(*disk, std::move(batch), answers);
  disk.reset();
  EXPECT_EQ(answers.Failures(ErrorCode::kUnavailable), 10U);
  ASSERT_TRUE(mount->Thaw());
  // The kernel's late answers end the threads, and with them the last use of the directory.
  EXPECT_TRUE(WaitUntil([&] { return mount->Unmount(); }));
  EXPECT_EQ(answers.Failures(ErrorCode::kUnavailable), 10U) << "no second answer";
}

INSTANTIATE_TEST_SUITE_P(Disks, FileDiskTest, ::testing::Values(DiskKind::kUring, DiskKind::kPlain),
                         [](const ::testing::TestParamInfo<DiskKind>& kind) {
                           return kind.param == DiskKind::kUring ? "Uring" : "Plain";
                         });

}  // namespace
}  // namespace kvpagefs
