// open(2): flags, modes, and what is there afterwards.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/mount/contract_side.h"

namespace kvpagefs::mount_test {
namespace {

using OpenContract = ContractTest;

TEST_F(OpenContract, ReadFlags) {
  Compare([](Side& side) {
    side.Ok("write", WriteFile(side.Path("a"), side.Bytes(300001)));
    for (const auto& [name, flags] : {std::pair<const char*, int>{"plain", 0},
                                      {"O_NOATIME", O_NOATIME},
                                      {"O_NONBLOCK", O_NONBLOCK},
                                      {"O_NOFOLLOW", O_NOFOLLOW},
                                      {"O_CLOEXEC", O_CLOEXEC},
                                      {"O_SYNC", O_SYNC},
                                      {"O_NOATIME|O_NONBLOCK", O_NOATIME | O_NONBLOCK}}) {
      int64_t error = 0;
      const std::string bytes = ReadFile(side.Path("a"), &error, flags);
      side.Note(std::string("read with ") + name, Value(error) + " " + Digest(bytes));
    }
    side.Ok("O_DIRECTORY on a file", Open(side.Path("a"), O_RDONLY | O_DIRECTORY).result());
    side.Ok("O_RDONLY missing", Open(side.Path("none"), O_RDONLY).result());
    side.Ok("O_RDWR missing", Open(side.Path("none"), O_RDWR).result());
    side.Ok("through a file", Open(side.Path("a/b"), O_RDONLY).result());
    side.Ok("trailing slash", Open(side.Path("a/"), O_RDONLY).result());
  });
}

TEST_F(OpenContract, DirectReadsWholeFile) {
  Compare([](Side& side) {
    for (const size_t bytes : {size_t{1}, size_t{4095}, size_t{4096}, size_t{65536}, size_t{1048577}}) {
      const std::string name = "d" + std::to_string(bytes);
      side.Ok("write " + name, WriteFile(side.Path(name), side.Bytes(bytes)));
      const Fd fd = Open(side.Path(name), O_RDONLY | O_DIRECT);
      side.Ok("open " + name, fd.result());
      AlignedBuffer buffer(bytes + 8192);
      const int64_t got = Sys(pread(fd.get(), buffer.data(), (bytes + 4095) / 4096 * 4096, 0));
      side.Number("pread " + name, got);
      side.Note("bytes " + name, Digest(buffer.view(got < 0 ? 0 : static_cast<size_t>(got))));
      side.Number("behind the end " + name, Sys(pread(fd.get(), buffer.data(), 4096, 4 << 20)));
    }
  });
}

TEST_F(OpenContract, CreateFlags) {
  Compare([](Side& side) {
    side.Ok("O_CREAT", Open(side.Path("a"), O_WRONLY | O_CREAT).Close());
    side.Number("empty", SizeOf(side.Path("a")));
    side.Ok("O_CREAT again", Open(side.Path("a"), O_WRONLY | O_CREAT).Close());
    side.Ok("O_EXCL on existing", Open(side.Path("a"), O_WRONLY | O_CREAT | O_EXCL).result());
    side.Ok("O_EXCL", Open(side.Path("b"), O_RDWR | O_CREAT | O_EXCL).Close());
    side.Ok("content", WriteFile(side.Path("b"), side.Bytes(5000)));
    side.Ok("O_TRUNC", Open(side.Path("b"), O_WRONLY | O_TRUNC).Close());
    side.Number("size after O_TRUNC", SizeOf(side.Path("b")));
    side.Ok("O_TRUNC missing", Open(side.Path("none"), O_WRONLY | O_TRUNC).result());
    side.Ok("O_CREAT in a missing directory", Open(side.Path("none/x"), O_WRONLY | O_CREAT).result());
    side.Ok("O_CREAT under a file", Open(side.Path("b/x"), O_WRONLY | O_CREAT).result());
    side.Ok("mkdir", Sys(mkdir(side.Path("d").c_str(), 0755)));
    side.Ok("O_WRONLY on a directory", Open(side.Path("d"), O_WRONLY).result());
    side.Ok("O_CREAT on a directory", Open(side.Path("d"), O_WRONLY | O_CREAT).result());
    side.Ok("O_RDONLY on a directory", Open(side.Path("d"), O_RDONLY | O_DIRECTORY).result());
    side.Note("listing", Join(List(side.dir())));
  });
}

TEST_F(OpenContract, CreateWithEveryFlagAtOnce) {
  Compare([](Side& side) {
    AlignedBuffer buffer(65536);
    side.Bytes(65536).copy(buffer.data(), 65536);
    Fd fd = Open(side.Path("a"), O_WRONLY | O_CREAT | O_EXCL | O_DIRECT | O_NOATIME | O_NONBLOCK);
    side.Ok("create", fd.result());
    side.Number("write", Sys(write(fd.get(), buffer.data(), 65536)));
    side.Ok("close", fd.Close());
    side.File("content", "a");
  });
}

TEST_F(OpenContract, OtherKinds) {
  Compare([](Side& side) {
    side.Ok("write", WriteFile(side.Path("a"), "abc"));
    side.Ok("O_TMPFILE", Open(side.dir(), O_RDWR | O_TMPFILE).result());
    const Fd path = Open(side.Path("a"), O_PATH);
    side.Ok("O_PATH", path.result());
    char byte = 0;
    side.Number("read from O_PATH", Sys(read(path.get(), &byte, 1)));
    side.Number("size by O_PATH", SizeOf(path.get()));
    side.Ok("O_PATH missing", Open(side.Path("none"), O_PATH).result());
    const Fd read_only = Open(side.Path("a"), O_RDONLY);
    side.Number("write to O_RDONLY", Sys(write(read_only.get(), "x", 1)));
    const Fd write_only = Open(side.Path("a"), O_WRONLY);
    side.Number("read from O_WRONLY", Sys(read(write_only.get(), &byte, 1)));
  });
}

TEST_F(OpenContract, Modes) {
  Compare([](Side& side) {
    for (const mode_t mask : {mode_t{0}, mode_t{022}, mode_t{077}}) {
      const mode_t old_mask = umask(mask);
      for (const mode_t mode : {mode_t{0600}, mode_t{0644}, mode_t{0666}, mode_t{0400}, mode_t{0}}) {
        const std::string name = std::to_string(mask) + "-" + std::to_string(mode);
        side.Ok("create " + name, Open(side.Path(name), O_WRONLY | O_CREAT, mode).Close());
        side.Number("mode " + name, StatOf(side.Path(name)).st_mode);
        side.Ok("mkdir " + name, Sys(mkdir(side.Path("d" + name).c_str(), mode | 0100)));
        side.Number("mode of d" + name, StatOf(side.Path("d" + name)).st_mode);
      }
      umask(old_mask);
    }
    side.Number("uid", StatOf(side.Path("0-384")).st_uid);
    side.Number("gid", StatOf(side.Path("0-384")).st_gid);
  });
}

TEST_F(OpenContract, ReadOnlyModeStillWritesThroughItsDescriptor) {
  Compare([](Side& side) {
    Fd fd = Open(side.Path("a"), O_WRONLY | O_CREAT | O_EXCL, 0400);
    side.Ok("create", fd.result());
    side.Ok("write", WriteAll(fd.get(), side.Bytes(10000)));
    side.Ok("close", fd.Close());
    side.File("content", "a");
    side.Number("mode", StatOf(side.Path("a")).st_mode);
  });
}

TEST_F(OpenContract, WriterReadsItsOwnFile) {
  Compare([](Side& side) {
    Fd fd = Open(side.Path("a"), O_RDWR | O_CREAT | O_EXCL);
    side.Ok("write", WriteAll(fd.get(), side.Bytes(70000)));
    side.Note("through its own descriptor", Digest(ReadDescriptor(fd.get())));
    side.Number("fstat", SizeOf(fd.get()));
    side.Number("stat", SizeOf(side.Path("a")));
    side.Ok("access", Sys(access(side.Path("a").c_str(), R_OK)));
    side.File("by a second open", "a");
    side.Ok("write at 10", WriteAll(fd.get(), "0123456789", 10));
    side.Note("changed", Digest(ReadDescriptor(fd.get())));
    side.Number("at the end", Sys(lseek(fd.get(), 0, SEEK_END)));
    side.Ok("close", fd.Close());
    side.File("sealed", "a");
  });
}

}  // namespace
}  // namespace kvpagefs::mount_test
