// Space: fallocate, the page size limit, a full segment.
#include <fcntl.h>
#include <linux/falloc.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "tests/mount/contract_side.h"

namespace kvpagefs::mount_test {
namespace {

using SpaceContract = ContractTest;
constexpr int64_t kMiB = 1 << 20;

TEST_F(SpaceContract, Fallocate) {
  Compare([](Side& side) {
    Fd fd = Open(side.Path("a"), O_RDWR | O_CREAT);
    side.Ok("grow", Sys(fallocate(fd.get(), 0, 0, 100000)));
    side.Number("size", SizeOf(fd.get()));
    side.Ok("write", WriteAll(fd.get(), side.Bytes(1000), 50));
    side.Ok("inside", Sys(fallocate(fd.get(), 0, 10, 100)));
    side.Ok("from an offset", Sys(fallocate(fd.get(), 0, 90000, 60000)));
    side.Number("size after the offset", SizeOf(fd.get()));
    side.Ok("KEEP_SIZE", Sys(fallocate(fd.get(), FALLOC_FL_KEEP_SIZE, 0, 4 * kMiB)));
    side.Number("size kept", SizeOf(fd.get()));
    side.Ok("length 0", Sys(fallocate(fd.get(), 0, 0, 0)));
    side.Ok("negative", Sys(fallocate(fd.get(), 0, -1, 10)));
    side.Ok("posix_fallocate", -posix_fallocate(fd.get(), 0, 200000));
    side.Number("size after posix_fallocate", SizeOf(fd.get()));
    side.Ok("close", fd.Close());
    side.File("content", "a");
    const Fd reader = Open(side.Path("a"), O_RDONLY);
    side.Ok("read-only descriptor", Sys(fallocate(reader.get(), 0, 0, 10)));
  });
}

TEST_F(SpaceContract, FallocateOfHoles) {
  Compare([](Side& side) {
    WriteFile(side.Path("a"), side.Bytes(100000));
    Fd fd = Open(side.Path("a"), O_RDWR);
    side.Ok("PUNCH_HOLE", Sys(fallocate(fd.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 8192)));
    side.Ok("ZERO_RANGE", Sys(fallocate(fd.get(), FALLOC_FL_ZERO_RANGE, 8192, 8192)));
    side.Ok("COLLAPSE_RANGE", Sys(fallocate(fd.get(), FALLOC_FL_COLLAPSE_RANGE, 0, 4096)));
    side.Ok("INSERT_RANGE", Sys(fallocate(fd.get(), FALLOC_FL_INSERT_RANGE, 0, 4096)));
    side.Ok("close", fd.Close());
    side.Number("size", SizeOf(side.Path("a")));
  });
}

TEST_F(SpaceContract, KeepSizeBeforeABigWrite) {
  Compare([](Side& side) {
    Fd fd = Open(side.Path("a"), O_WRONLY | O_CREAT | O_TRUNC);
    side.Ok("reserve", Sys(fallocate(fd.get(), FALLOC_FL_KEEP_SIZE, 0, 20 * kMiB)));
    side.Number("size", SizeOf(fd.get()));
    side.Ok("write", WriteAll(fd.get(), side.Bytes(20 * kMiB)));
    side.Ok("close", fd.Close());
    side.File("content", "a");
    fd = Open(side.Path("b"), O_WRONLY | O_CREAT | O_TRUNC);
    side.Ok("reserve too much", Sys(fallocate(fd.get(), FALLOC_FL_KEEP_SIZE, 0, 20 * kMiB)));
    side.Ok("write little", WriteAll(fd.get(), "little"));
    side.Ok("close little", fd.Close());
    side.File("little", "b");
  });
}

class SizeLimit : public NodeTest {
 protected:
  void SetUp() override {
    NodeProcess::Options options;
    options.arguments = {"--max-page", "1MiB"};
    StartRealNode(std::move(options));
  }
};

TEST_F(SizeLimit, WritesAboveItAreRefused) {
  EXPECT_EQ(WriteFile(Path("exact"), Pattern(1, kMiB)), 0);
  EXPECT_EQ(Digest(Contents(Path("exact"))), Digest(Pattern(1, kMiB)));
  Fd fd = Open(Path("a"), O_RDWR | O_CREAT);
  EXPECT_EQ(Value(Sys(ftruncate(fd.get(), kMiB + 1))), "EFBIG");
  EXPECT_EQ(Value(Sys(fallocate(fd.get(), 0, 0, kMiB + 1))), "EFBIG");
  EXPECT_EQ(Value(WriteAll(fd.get(), "fits", kMiB - 4)), "0");
  EXPECT_EQ(fd.Close(), 0);
  EXPECT_EQ(SizeOf(Path("a")), kMiB);
  EXPECT_EQ(Value(Sys(truncate(Path("a").c_str(), 2 * kMiB))), "EFBIG");
  EXPECT_EQ(SizeOf(Path("a")), kMiB);
}

// What lost a write is no page: nobody must take the part for the whole.
TEST_F(SizeLimit, PageThatLostAWriteDoesNotAppear) {
  Fd fd = Open(Path("cut"), O_RDWR | O_CREAT);
  EXPECT_EQ(Value(WriteAll(fd.get(), "first part")), "0");
  EXPECT_EQ(Value(WriteAll(fd.get(), "x", kMiB)), "EFBIG");
  EXPECT_EQ(Value(fd.Close()), "EFBIG");
  EXPECT_EQ(Value(SizeOf(Path("cut"))), "ENOENT");
}

class FullSegment : public NodeTest {
 protected:
  void SetUp() override {
    NodeProcess::Options options;
    options.memory = "32MiB";
    StartRealNode(std::move(options));
  }

  // Hard-pinned pages of 1 MiB until one more does not fit.
  void FillWithPinned() {
    for (int i = 0; i < 64; ++i) {
      const std::string path = Path("pinned-" + std::to_string(i));
      if (WriteFile(path, Pattern(1, kMiB)) != 0) break;
      ASSERT_EQ(setxattr(path.c_str(), "user.kvpagefs.pin", "hard", 4, 0), 0);
      ++pinned_;
    }
    ASSERT_GT(pinned_, 16);
    ASSERT_LT(pinned_, 33);
  }
  int pinned_ = 0;
};

TEST_F(FullSegment, PinnedMeansNoSpaceWithinASecond) {
  FillWithPinned();
  KVP_RETURN_IF_NOT_RUNNING();
  const Stopwatch watch;
  Fd fd = Open(Path("late"), O_WRONLY | O_CREAT | O_EXCL);
  ASSERT_TRUE(fd);
  EXPECT_EQ(Value(WriteAll(fd.get(), Pattern(2, 2 * kMiB))), "ENOSPC");
  EXPECT_LT(watch.seconds(), 1.0);
  printf("close after ENOSPC: %s\n", Value(fd.Close()).c_str());
  EXPECT_EQ(Value(SizeOf(Path("late"))), "ENOENT");
  EXPECT_FALSE(IsListed(node_->dir(), "late"));
  Fd reserve = Open(Path("reserve"), O_WRONLY | O_CREAT);
  EXPECT_EQ(Value(Sys(fallocate(reserve.get(), FALLOC_FL_KEEP_SIZE, 0, 16 * kMiB))), "ENOSPC");
  for (int i = 0; i < pinned_; ++i) {
    EXPECT_EQ(Digest(Contents(Path("pinned-" + std::to_string(i)))), Digest(Pattern(1, kMiB))) << i;
  }
  ASSERT_EQ(unlink(Path("pinned-0").c_str()), 0);
  ASSERT_EQ(unlink(Path("pinned-1").c_str()), 0);
  EXPECT_EQ(WriteFile(Path("fits"), Pattern(3, kMiB)), 0);
}

TEST_F(FullSegment, UnpinnedPagesMakeRoom) {
  for (int i = 0; i < 200; ++i) {
    const std::string path = Path("page-" + std::to_string(i));
    ASSERT_EQ(Value(WriteFile(path, Pattern(static_cast<uint64_t>(i), kMiB))), "0") << i;
    ASSERT_EQ(Digest(Contents(path)), Digest(Pattern(static_cast<uint64_t>(i), kMiB))) << i;
  }
  EXPECT_EQ(Value(SizeOf(Path("page-0"))), "ENOENT");
  EXPECT_FALSE(IsListed(node_->dir(), "page-0"));
  EXPECT_LE(List(node_->dir()).size(), 32u);
  for (const std::string& name : List(node_->dir())) {
    EXPECT_EQ(Digest(Contents(Path(name))), Digest(Pattern(std::stoull(name.substr(5)), kMiB))) << name;
  }
}

TEST_F(FullSegment, OpenAndMappedPagesAreNotEvicted) {
  ASSERT_EQ(WriteFile(Path("held"), Pattern(77, 4 * kMiB)), 0);
  const Fd held = Open(Path("held"), O_RDONLY);
  ASSERT_TRUE(held);
  for (int i = 0; i < 100; ++i) ASSERT_EQ(Value(WriteFile(Path("p" + std::to_string(i)), Pattern(1, kMiB))), "0") << i;
  EXPECT_EQ(Digest(ReadDescriptor(held.get())), Digest(Pattern(77, 4 * kMiB)));
}

TEST_F(FullSegment, FilesBiggerThanTheSegment) {
  Fd fd = Open(Path("big"), O_WRONLY | O_CREAT);
  int64_t outcome = 0;
  for (int i = 0; i < 40 && outcome == 0; ++i) outcome = WriteAll(fd.get(), Pattern(1, kMiB));
  EXPECT_EQ(Value(outcome), "ENOSPC");
  fd.Close();
  EXPECT_EQ(Value(SizeOf(Path("big"))), "ENOENT");
  EXPECT_EQ(Value(WriteFile(Path("small"), Pattern(1, 8 * kMiB))), "0");
}

TEST_F(FullSegment, AvailableCountsWhatMayBeEvicted) {
  struct statvfs before{};
  ASSERT_EQ(statvfs(node_->dir().c_str(), &before), 0);
  EXPECT_LE(before.f_blocks * 4096, 32u * kMiB);
  EXPECT_GE(before.f_blocks * 4096, 24u * kMiB);
  for (int i = 0; i < 16; ++i) ASSERT_EQ(WriteFile(Path("p" + std::to_string(i)), Pattern(1, kMiB)), 0);
  struct statvfs after{};
  ASSERT_EQ(statvfs(node_->dir().c_str(), &after), 0);
  EXPECT_EQ(before.f_blocks, after.f_blocks);
  EXPECT_GE(after.f_bavail * 4096, before.f_bavail * 4096 - kMiB) << "evictable pages are available space";
}

}  // namespace
}  // namespace kvpagefs::mount_test
