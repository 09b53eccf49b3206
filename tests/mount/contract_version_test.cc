// New versions of sealed files: re-open for writing, truncate, replace; readers keep the version they opened.
#include <fcntl.h>
#include <unistd.h>

#include "tests/mount/contract_side.h"

namespace kvpagefs::mount_test {
namespace {

using VersionContract = ContractTest;

TEST_F(VersionContract, RewriteInPlace) {
  Compare([](Side& side) {
    side.Ok("write", WriteFile(side.Path("a"), side.Bytes(100000)));
    Fd fd = Open(side.Path("a"), O_RDWR);
    side.Ok("open", fd.result());
    side.Note("old bytes through it", Digest(ReadDescriptor(fd.get())));
    side.Ok("middle", WriteAll(fd.get(), "changed", 50000));
    side.Note("new bytes through it", Digest(ReadDescriptor(fd.get())));
    side.Ok("beyond", WriteAll(fd.get(), "more", 150000));
    side.Ok("close", fd.Close());
    side.File("content", "a");
    side.Number("size", SizeOf(side.Path("a")));
  });
}

TEST_F(VersionContract, OpenForWritingWithoutWriting) {
  Compare([](Side& side) {
    side.Ok("write", WriteFile(side.Path("a"), side.Bytes(1000)));
    const ino_t before = StatOf(side.Path("a")).st_ino;
    side.Ok("open and close", Open(side.Path("a"), O_RDWR).Close());
    side.File("content", "a");
    side.Yes("same inode", before == StatOf(side.Path("a")).st_ino);
  });
}

// The readers' side of a rewrite: they keep bytes and size of what they opened.
TEST_F(VersionContract, ReadersKeepTheirVersion) {
  Compare([](Side& side) {
    const std::string old_bytes = side.Bytes(200000, 1);
    side.Ok("write", WriteFile(side.Path("a"), old_bytes));
    const Fd reader = Open(side.Path("a"), O_RDONLY);
    Fd writer = Open(side.Path("a"), O_WRONLY);
    side.Ok("overwrite", WriteAll(writer.get(), side.Bytes(100000, 2), 0));
    side.Yes("reader sees old bytes while it is rewritten", ReadDescriptor(reader.get()) == old_bytes);
    side.Ok("close", writer.Close());
    side.Yes("reader sees old bytes after close", ReadDescriptor(reader.get()) == old_bytes);
    side.File("a fresh open sees the new ones", "a");
    side.Ok("truncate by name", Sys(truncate(side.Path("a").c_str(), 10)));
    side.Yes("reader sees old bytes after truncate", ReadDescriptor(reader.get()) == old_bytes);
    side.Number("size by name", SizeOf(side.Path("a")));
    side.Ok("rewrite with O_TRUNC", WriteFile(side.Path("a"), "short"));
    side.Yes("reader sees old bytes after O_TRUNC", ReadDescriptor(reader.get()) == old_bytes);
    side.File("after O_TRUNC", "a");
  });
}

TEST_F(VersionContract, OtherProcessReadsTheOldOneUntilClose) {
  Compare([](Side& side) {
    Peer other(AnswerCommon);
    const std::string old_digest = Digest(side.Bytes(100000, 1));
    side.Ok("write", WriteFile(side.Path("a"), side.Bytes(100000, 1)));
    Fd writer = Open(side.Path("a"), O_WRONLY | O_TRUNC);
    side.Ok("write new", WriteAll(writer.get(), side.Bytes(100, 2)));
    side.Yes("other reads the old version", other.Ask("read " + side.Path("a")) == old_digest);
    side.Note("other's stat", other.Ask("stat " + side.Path("a")));
    side.Ok("close", writer.Close());
    side.Note("other reads the new version", other.Ask("read " + side.Path("a")));
    side.Note("other's stat afterwards", other.Ask("stat " + side.Path("a")));
  });
}

TEST_F(VersionContract, TruncateByName) {
  Compare([](Side& side) {
    side.Ok("write", WriteFile(side.Path("a"), side.Bytes(100000)));
    for (const off_t bytes : {50000, 4096, 1, 0, 1, 70000, 1 << 20}) {
      const std::string step = std::to_string(side.notes().size()) + " to " + std::to_string(bytes);
      side.Ok(step, Sys(truncate(side.Path("a").c_str(), bytes)));
      side.Number(step + ", size", SizeOf(side.Path("a")));
      side.File(step + ", content", "a");
    }
    side.Ok("missing", Sys(truncate(side.Path("none").c_str(), 1)));
    side.Ok("directory", Sys(truncate(side.dir().c_str(), 1)));
    side.Ok("negative", Sys(truncate(side.Path("a").c_str(), -1)));
  });
}

TEST_F(VersionContract, TruncateByDescriptor) {
  Compare([](Side& side) {
    Fd fd = Open(side.Path("a"), O_RDWR | O_CREAT);
    side.Ok("grow an empty one", Sys(ftruncate(fd.get(), 100000)));
    side.Ok("write", WriteAll(fd.get(), side.Bytes(1000), 99500));
    side.Ok("cut", Sys(ftruncate(fd.get(), 99600)));
    side.Ok("grow again", Sys(ftruncate(fd.get(), 200000)));
    side.Number("size", SizeOf(fd.get()));
    side.Note("zeros behind the cut", Digest(ReadDescriptor(fd.get())));
    side.Ok("close", fd.Close());
    side.File("content", "a");
    const Fd reader = Open(side.Path("a"), O_RDONLY);
    side.Ok("read-only descriptor", Sys(ftruncate(reader.get(), 10)));
  });
}

TEST_F(VersionContract, TruncateOfASealedFileByDescriptor) {
  Compare([](Side& side) {
    side.Ok("write", WriteFile(side.Path("a"), side.Bytes(100000)));
    Fd fd = Open(side.Path("a"), O_WRONLY);
    side.Ok("cut", Sys(ftruncate(fd.get(), 33333)));
    side.Number("size by descriptor", SizeOf(fd.get()));
    side.Ok("close", fd.Close());
    side.File("content", "a");
  });
}

TEST_F(VersionContract, UnlinkKeepsOpenFiles) {
  Compare([](Side& side) {
    side.Ok("write", WriteFile(side.Path("a"), side.Bytes(3 << 20)));
    const Fd reader = Open(side.Path("a"), O_RDONLY);
    side.Ok("unlink", Sys(unlink(side.Path("a").c_str())));
    side.Ok("gone", Open(side.Path("a"), O_RDONLY).result());
    side.Note("still readable", Digest(ReadDescriptor(reader.get())));
    side.Number("size", SizeOf(reader.get()));
    side.Ok("new one of that name", WriteFile(side.Path("a"), "other"));
    side.Note("the old one is as it was", Digest(ReadDescriptor(reader.get())));
    side.File("the new one", "a");
  });
}

TEST_F(VersionContract, UnlinkOfAFileBeingWritten) {
  Compare([](Side& side) {
    Fd fd = Open(side.Path("a"), O_RDWR | O_CREAT | O_EXCL);
    side.Ok("write", WriteAll(fd.get(), side.Bytes(100000)));
    side.Ok("unlink", Sys(unlink(side.Path("a").c_str())));
    side.Number("stat", SizeOf(side.Path("a")));
    side.Ok("write after unlink", WriteAll(fd.get(), side.Bytes(100, 2)));
    side.Note("readable", Digest(ReadDescriptor(fd.get())));
    side.Ok("close", fd.Close());
    side.Number("not back after close", SizeOf(side.Path("a")));
    side.Note("listing", Join(List(side.dir())));
  });
}

TEST_F(VersionContract, ReplaceByRenameKeepsOpenFiles) {
  Compare([](Side& side) {
    side.Ok("write", WriteFile(side.Path("a"), side.Bytes(2 << 20, 1)));
    const Fd reader = Open(side.Path("a"), O_RDONLY);
    side.Ok("write the next", WriteFile(side.Path("a.tmp"), side.Bytes(1 << 20, 2)));
    side.Ok("rename", Sys(rename(side.Path("a.tmp").c_str(), side.Path("a").c_str())));
    side.Note("old reader", Digest(ReadDescriptor(reader.get())));
    side.Number("old reader's size", SizeOf(reader.get()));
    side.File("new reader", "a");
  });
}

TEST_F(VersionContract, ReplacedOverAndOver) {
  Compare([](Side& side) {
    for (uint64_t round = 0; round < 200; ++round) {
      const size_t bytes = 1 + (round * 7919) % 200000;
      WriteFile(side.Path("a"), side.Bytes(bytes, round));
      side.Yes("round " + std::to_string(round), Contents(side.Path("a")) == side.Bytes(bytes, round) &&
                                                     SizeOf(side.Path("a")) == static_cast<int64_t>(bytes));
    }
  });
}

}  // namespace
}  // namespace kvpagefs::mount_test
