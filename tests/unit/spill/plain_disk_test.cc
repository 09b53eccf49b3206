// What both disks do: file_disk_test.cc
#include "spill/plain_disk.h"

#include <atomic>

#include <gtest/gtest.h>

#include "unit/spill/disk_fixture.h"

namespace kvpagefs {
namespace {

using disk_test::Answers;
using disk_test::FilesOf;
using disk_test::kMiB;
using disk_test::MakeIo;
using disk_test::Memory;
using disk_test::RegionName;
using disk_test::TempDir;
using disk_test::WaitUntil;

TEST(PlainDisk, InfoSaysWhatItIs) {
  const TempDir dir;
  const Result<std::unique_ptr<PlainDisk>> disk = PlainDisk::Create(FilesOf(dir.path()), {.note = "why"});
  ASSERT_TRUE(disk.ok());
  Memory memory(kMiB);
  const iovec whole[] = {memory.Whole()};
  EXPECT_TRUE((*disk)->RegisterMemory(whole).ok());
  const SsdDisk::Info info = (*disk)->GetInfo();
  EXPECT_FALSE(info.uses_io_uring);
  EXPECT_EQ(info.registered_bytes, 0U);
  EXPECT_EQ(info.note, "why");
}

TEST(PlainDisk, ThreadsWorkSideBySide) {
  const TempDir dir;
  const Result<std::unique_ptr<PlainDisk>> disk = PlainDisk::Create(FilesOf(dir.path()), {.threads = 3, .note = {}});
  ASSERT_TRUE(disk.ok());
  const Result<SsdDisk::FileId> file = (*disk)->Open(RegionName(1), kMiB);
  ASSERT_TRUE(file.ok());
  Memory memory(3 * kBlockBytes);
  Answers answers;
  std::atomic<int> inside = 0;
  std::vector<SsdDisk::Io> batch;
  for (int i = 0; i < 3; ++i) {
    batch.push_back(MakeIo(SsdDisk::IoKind::kRead, {*file, 0}, {memory.Piece(i * kBlockBytes, kBlockBytes)}));
    batch.back().done = [&, done = answers.Expect()](const Status& status) {
      ++inside;
      if (WaitUntil([&] { return inside.load() == 3; })) done(status);
    };
  }
  (*disk)->Submit(std::move(batch));
  EXPECT_TRUE(answers.Wait());
  EXPECT_EQ(answers.Successes(), 3U);
}

}  // namespace
}  // namespace kvpagefs
