// write(2) and its kin: order, sizes, holes, descriptors that are closed twice.
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <random>

#include "tests/mount/contract_side.h"

namespace kvpagefs::mount_test {
namespace {

using WriteContract = ContractTest;

TEST_F(WriteContract, SequentialInPieces) {
  Compare([](Side& side) {
    for (const size_t piece : {size_t{1}, size_t{777}, size_t{4096}, size_t{131072}, size_t{1048576}}) {
      const size_t total = piece == 1 ? 3000 : piece * 5 + 13;
      const std::string bytes = side.Bytes(total, piece);
      const std::string name = "p" + std::to_string(piece);
      Fd fd = Open(side.Path(name), O_WRONLY | O_CREAT | O_TRUNC);
      int64_t outcome = 0;
      for (size_t at = 0; at < total && outcome == 0; at += piece) {
        outcome = WriteAll(fd.get(), std::string_view(bytes).substr(at, piece));
      }
      side.Ok("writes " + name, outcome);
      side.Ok("close " + name, fd.Close());
      side.File("content " + name, name);
    }
  });
}

TEST_F(WriteContract, BigFiles) {
  Compare([](Side& side) {
    for (const size_t kib : {64, 128, 76, 256, 1024, 4096, 8192, 20480, 32768}) {
      const std::string name = "k" + std::to_string(kib);
      side.Ok("write " + name, WriteFile(side.Path(name), side.Bytes(kib * 1024, kib)));
      side.File("content " + name, name);
      side.Number("size " + name, SizeOf(side.Path(name)));
      side.Ok("unlink " + name, Sys(unlink(side.Path(name).c_str())));
    }
  });
}

TEST_F(WriteContract, RandomOrderOddPieces) {
  Compare([](Side& side) {
    const size_t total = 1 << 20;
    const std::string bytes = side.Bytes(total);
    std::vector<size_t> starts;
    constexpr size_t kPiece = 4001;
    for (size_t at = 0; at < total; at += kPiece) starts.push_back(at);
    std::mt19937_64 random(7);
    std::shuffle(starts.begin(), starts.end(), random);
    Fd fd = Open(side.Path("a"), O_WRONLY | O_CREAT | O_EXCL);
    int64_t outcome = 0;
    for (const size_t at : starts) {
      outcome =
          std::min(outcome, WriteAll(fd.get(), std::string_view(bytes).substr(at, kPiece), static_cast<int64_t>(at)));
    }
    side.Ok("writes", outcome);
    side.Ok("close", fd.Close());
    side.File("content", "a");
  });
}

TEST_F(WriteContract, HolesReadAsZeros) {
  Compare([](Side& side) {
    Fd fd = Open(side.Path("a"), O_RDWR | O_CREAT | O_EXCL);
    side.Ok("at 1 MiB", WriteAll(fd.get(), "end", 1 << 20));
    side.Ok("at 12345", WriteAll(fd.get(), "middle", 12345));
    side.Number("size", SizeOf(fd.get()));
    side.Note("before close", Digest(ReadDescriptor(fd.get())));
    side.Ok("close", fd.Close());
    side.File("after close", "a");
    fd = Open(side.Path("a"), O_RDONLY);
    side.Number("SEEK_DATA from 0", Sys(lseek(fd.get(), 0, SEEK_DATA)));
    side.Number("SEEK_HOLE from 0", Sys(lseek(fd.get(), 0, SEEK_HOLE)));
    side.Number("SEEK_DATA behind the end", Sys(lseek(fd.get(), 2 << 20, SEEK_DATA)));
  });
}

TEST_F(WriteContract, OverwritingWhatWasWritten) {
  Compare([](Side& side) {
    Fd fd = Open(side.Path("a"), O_RDWR | O_CREAT | O_EXCL);
    for (int64_t round = 0; round < 20; ++round) {
      WriteAll(fd.get(), side.Bytes(10000, static_cast<uint64_t>(round)), round * 5000);
    }
    side.Ok("close", fd.Close());
    side.File("content", "a");
  });
}

TEST_F(WriteContract, VectorWrites) {
  Compare([](Side& side) {
    std::string parts[4] = {side.Bytes(1, 1), side.Bytes(4096, 2), side.Bytes(99999, 3), side.Bytes(7, 4)};
    iovec pieces[4];
    for (size_t i = 0; i < 4; ++i) pieces[i] = {parts[i].data(), parts[i].size()};
    Fd fd = Open(side.Path("a"), O_RDWR | O_CREAT | O_EXCL);
    side.Number("writev", Sys(writev(fd.get(), pieces, 4)));
    side.Number("pwritev at 500000", Sys(pwritev(fd.get(), pieces, 4, 500000)));
    side.Number("pwritev2", Sys(pwritev2(fd.get(), pieces, 2, 10, 0)));
    side.Number("write of nothing", Sys(write(fd.get(), "", 0)));
    side.Ok("close", fd.Close());
    side.File("content", "a");
    fd = Open(side.Path("a"), O_RDONLY);
    side.Number("readv", Sys(readv(fd.get(), pieces, 4)));
    side.Number("preadv", Sys(preadv(fd.get(), pieces, 4, 500000)));
    side.Note("last piece", Digest(parts[3]));
    side.Number("preadv behind the end", Sys(preadv(fd.get(), pieces, 4, 5000000)));
  });
}

TEST_F(WriteContract, Append) {
  Compare([](Side& side) {
    Fd fd = Open(side.Path("a"), O_WRONLY | O_CREAT | O_APPEND);
    side.Ok("first", WriteAll(fd.get(), side.Bytes(100, 1)));
    side.Ok("second", WriteAll(fd.get(), side.Bytes(200, 2)));
    side.Ok("pwrite appends too", WriteAll(fd.get(), "tail", 0));
    side.Ok("close", fd.Close());
    side.File("content", "a");
    fd = Open(side.Path("a"), O_WRONLY | O_APPEND);
    side.Ok("append to the sealed file", WriteAll(fd.get(), side.Bytes(5000, 3)));
    side.Number("size while open", SizeOf(fd.get()));
    side.Ok("close again", fd.Close());
    side.File("content after append", "a");
  });
}

TEST_F(WriteContract, DirectWritesWithOddTail) {
  Compare([](Side& side) {
    AlignedBuffer buffer(1 << 20);
    side.Bytes(1 << 20).copy(buffer.data(), 1 << 20);
    Fd fd = Open(side.Path("a"), O_WRONLY | O_CREAT | O_DIRECT);
    side.Ok("open", fd.result());
    side.Number("write", Sys(write(fd.get(), buffer.data(), 1 << 20)));
    side.Number("write again", Sys(write(fd.get(), buffer.data(), 8192)));
    side.Ok("cut", Sys(ftruncate(fd.get(), (1 << 20) + 777)));
    side.Ok("close", fd.Close());
    side.File("content", "a");
  });
}

// numpy's tofile: a dup of the descriptor is written and closed first, the original afterwards.
TEST_F(WriteContract, DupClosedFirst) {
  Compare([](Side& side) {
    for (const size_t bytes : {size_t{0}, size_t{100}, size_t{3} << 20}) {
      const std::string name = "n" + std::to_string(bytes);
      Fd fd = Open(side.Path(name), O_WRONLY | O_CREAT | O_TRUNC);
      Fd copy(dup(fd.get()));
      side.Ok("write by the dup " + name, WriteAll(copy.get(), side.Bytes(bytes)));
      side.Ok("close the dup " + name, copy.Close());
      side.Ok("close " + name, fd.Close());
      side.File("content " + name, name);
    }
  });
}

TEST_F(WriteContract, WritesBetweenClosesOfDups) {
  Compare([](Side& side) {
    Fd fd = Open(side.Path("a"), O_WRONLY | O_CREAT | O_TRUNC);
    side.Ok("header", WriteAll(fd.get(), side.Bytes(128, 1)));
    Fd first(dup(fd.get()));
    Fd second(fcntl(fd.get(), F_DUPFD_CLOEXEC, 50));
    side.Ok("by the first dup", WriteAll(first.get(), side.Bytes(100000, 2)));
    side.Ok("close the first dup", first.Close());
    side.Ok("by the second dup", WriteAll(second.get(), side.Bytes(100000, 3)));
    side.Ok("close the second dup", second.Close());
    side.Ok("by the original", WriteAll(fd.get(), side.Bytes(50, 4)));
    side.Number("size by the original", SizeOf(fd.get()));
    side.Ok("close the original", fd.Close());
    side.File("content", "a");
  });
}

TEST_F(WriteContract, TwoDescriptorsOfOneProcess) {
  Compare([](Side& side) {
    Fd one = Open(side.Path("a"), O_WRONLY | O_CREAT | O_EXCL);
    Fd two = Open(side.Path("a"), O_RDWR);
    side.Ok("second open", two.result());
    side.Ok("by one", WriteAll(one.get(), side.Bytes(50000, 1), 0));
    side.Ok("by two", WriteAll(two.get(), side.Bytes(50000, 2), 50000));
    side.Note("two sees both", Digest(ReadDescriptor(two.get())));
    side.Ok("close one", one.Close());
    side.Ok("by two again", WriteAll(two.get(), side.Bytes(100, 3), 49950));
    side.Ok("close two", two.Close());
    side.File("content", "a");
  });
}

TEST_F(WriteContract, FsyncAndFdatasync) {
  Compare([](Side& side) {
    Fd fd = Open(side.Path("a"), O_WRONLY | O_CREAT);
    side.Ok("write", WriteAll(fd.get(), side.Bytes(100000)));
    side.Ok("fdatasync", Sys(fdatasync(fd.get())));
    side.Ok("write more", WriteAll(fd.get(), side.Bytes(100, 2)));
    side.Ok("fsync", Sys(fsync(fd.get())));
    side.Ok("sync_file_range", Sys(sync_file_range(fd.get(), 0, 0, SYNC_FILE_RANGE_WRITE)));
    side.Ok("close", fd.Close());
    side.File("content", "a");
    const Fd dir = Open(side.dir(), O_RDONLY | O_DIRECTORY);
    side.Ok("fsync of the directory", Sys(fsync(dir.get())));
    const Fd reader = Open(side.Path("a"), O_RDONLY);
    side.Ok("fsync of a reader", Sys(fsync(reader.get())));
    side.Ok("syncfs", Sys(syncfs(reader.get())));
    side.Ok("fadvise", Sys(posix_fadvise(reader.get(), 0, 0, POSIX_FADV_DONTNEED)));
  });
}

TEST_F(WriteContract, CopyFileRangeAndSendfile) {
  Compare([](Side& side) {
    side.Ok("source", WriteFile(side.Path("a"), side.Bytes(300000)));
    const Fd from = Open(side.Path("a"), O_RDONLY);
    Fd to = Open(side.Path("b"), O_WRONLY | O_CREAT | O_EXCL);
    int64_t total = 0;
    while (total < 300000) {
      const int64_t done = Sys(copy_file_range(from.get(), nullptr, to.get(), nullptr, 300000, 0));
      if (done <= 0) break;
      total += done;
    }
    side.Number("copy_file_range", total);
    side.Ok("close", to.Close());
    side.File("content", "b");
  });
}

}  // namespace
}  // namespace kvpagefs::mount_test
