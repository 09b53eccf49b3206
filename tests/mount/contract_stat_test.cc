// stat(2), access(2), utimensat(2), chmod(2), chown(2), statfs(2).
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <set>

#include "tests/mount/contract_side.h"

namespace kvpagefs::mount_test {
namespace {

using StatContract = ContractTest;

TEST_F(StatContract, Fields) {
  Compare([](Side& side) {
    for (const size_t bytes : {size_t{0}, size_t{1}, size_t{4096}, size_t{4097}, size_t{1} << 20}) {
      const std::string name = "s" + std::to_string(bytes);
      side.Ok("write " + name, WriteFile(side.Path(name), side.Bytes(bytes)));
      const struct stat info = StatOf(side.Path(name));
      side.Number("size " + name, info.st_size);
      side.Yes("has blocks " + name, info.st_blocks > 0);
      side.Yes("blocks hold the bytes " + name, static_cast<size_t>(info.st_blocks) * 512 >= bytes);
      side.Number("links " + name, static_cast<int64_t>(info.st_nlink));
      side.Number("mode " + name, info.st_mode);
      side.Number("uid " + name, info.st_uid);
      side.Number("gid " + name, info.st_gid);
      side.Number("rdev " + name, static_cast<int64_t>(info.st_rdev));
      side.Yes("has an inode number " + name, info.st_ino != 0);
    }
    side.Number("missing", SizeOf(side.Path("none")));
    side.Number("under a file", SizeOf(side.Path("s1/x")));
  });
}

TEST_F(StatContract, ModificationTimeIsNow) {
  Compare([](Side& side) {
    const time_t before = time(nullptr);
    side.Ok("write", WriteFile(side.Path("a"), "a"));
    const struct stat info = StatOf(side.Path("a"));
    const time_t after = time(nullptr);
    side.Yes("mtime", info.st_mtime >= before - 1 && info.st_mtime <= after + 1);
    side.Yes("ctime", info.st_ctime >= before - 1 && info.st_ctime <= after + 1);
    side.Yes("atime", info.st_atime >= before - 1 && info.st_atime <= after + 1);
  });
}

TEST_F(StatContract, InodeNumbers) {
  Compare([](Side& side) {
    std::set<ino_t> numbers;
    for (int i = 0; i < 500; ++i) {
      const std::string path = side.Path("f" + std::to_string(i));
      WriteFile(path, "x");
      numbers.insert(StatOf(path).st_ino);
    }
    side.Number("distinct", static_cast<int64_t>(numbers.size()));
    const ino_t before = StatOf(side.Path("f7")).st_ino;
    side.Ok("rename", Sys(rename(side.Path("f7").c_str(), side.Path("g7").c_str())));
    side.Yes("same after rename", StatOf(side.Path("g7")).st_ino == before);
    const Fd reader = Open(side.Path("g7"), O_RDONLY);
    struct stat info{};
    side.Ok("fstat", Sys(fstat(reader.get(), &info)));
    side.Yes("fstat has the same", info.st_ino == before);
    mkdir(side.Path("d").c_str(), 0755);
    const ino_t dir = StatOf(side.Path("d")).st_ino;
    side.Ok("rename of a directory", Sys(rename(side.Path("d").c_str(), side.Path("e").c_str())));
    side.Yes("directory's same after rename", StatOf(side.Path("e")).st_ino == dir);
  });
}

// What a program writes and what stat says while the file is not sealed and right afterwards.
TEST_F(StatContract, SizeFollowsWrites) {
  Compare([](Side& side) {
    Fd fd = Open(side.Path("a"), O_WRONLY | O_CREAT);
    for (int i = 1; i <= 5; ++i) {
      side.Ok("write " + std::to_string(i), WriteAll(fd.get(), side.Bytes(10000)));
      side.Number("fstat " + std::to_string(i), SizeOf(fd.get()));
      side.Number("stat " + std::to_string(i), SizeOf(side.Path("a")));
    }
    side.Ok("close", fd.Close());
    side.Number("stat", SizeOf(side.Path("a")));
  });
}

TEST_F(StatContract, Times) {
  Compare([](Side& side) {
    WriteFile(side.Path("a"), "abc");
    mkdir(side.Path("d").c_str(), 0755);
    const timespec both[2] = {{1000000000, 123456789}, {1100000000, 987654321}};
    for (const char* name : {"a", "d"}) {
      const std::string path = side.Path(name);
      side.Ok(std::string("both of ") + name, Sys(utimensat(AT_FDCWD, path.c_str(), both, 0)));
      side.Number(std::string("mtime of ") + name, StatOf(path).st_mtim.tv_sec);
      side.Number(std::string("mtime ns of ") + name, StatOf(path).st_mtim.tv_nsec);
    }
    side.Number("atime", StatOf(side.Path("a")).st_atim.tv_sec);
    const timespec omit_atime[2] = {{0, UTIME_OMIT}, {1200000000, 5}};
    side.Ok("mtime only", Sys(utimensat(AT_FDCWD, side.Path("a").c_str(), omit_atime, 0)));
    side.Number("mtime changed", StatOf(side.Path("a")).st_mtim.tv_sec);
    side.Number("atime kept", StatOf(side.Path("a")).st_atim.tv_sec);
    const timespec omit_mtime[2] = {{1300000000, 0}, {0, UTIME_OMIT}};
    side.Ok("atime only", Sys(utimensat(AT_FDCWD, side.Path("a").c_str(), omit_mtime, 0)));
    side.Number("atime changed", StatOf(side.Path("a")).st_atim.tv_sec);
    side.Number("mtime kept", StatOf(side.Path("a")).st_mtim.tv_sec);
    const timespec now[2] = {{0, UTIME_NOW}, {0, UTIME_NOW}};
    side.Ok("now", Sys(utimensat(AT_FDCWD, side.Path("a").c_str(), now, 0)));
    side.Yes("mtime is now", StatOf(side.Path("a")).st_mtime >= time(nullptr) - 5);
    side.Ok("missing", Sys(utimensat(AT_FDCWD, side.Path("none").c_str(), both, 0)));
    side.File("content untouched", "a");
    Fd fd = Open(side.Path("w"), O_WRONLY | O_CREAT);
    side.Ok("write", WriteAll(fd.get(), "x"));
    side.Ok("futimens while written", Sys(futimens(fd.get(), both)));
    side.Ok("close", fd.Close());
  });
}

TEST_F(StatContract, ModeAndOwner) {
  Compare([](Side& side) {
    WriteFile(side.Path("a"), "abc");
    mkdir(side.Path("d").c_str(), 0755);
    for (const mode_t mode : {0600, 0644, 0666, 0777, 0000, 0440}) {
      side.Ok("chmod " + std::to_string(mode), Sys(chmod(side.Path("a").c_str(), mode)));
      side.Number("mode " + std::to_string(mode), StatOf(side.Path("a")).st_mode);
    }
    side.Ok("chmod of a directory", Sys(chmod(side.Path("d").c_str(), 0700)));
    side.Number("its mode", StatOf(side.Path("d")).st_mode);
    side.Ok("chown", Sys(chown(side.Path("a").c_str(), 1234, 5678)));
    side.Number("uid", StatOf(side.Path("a")).st_uid);
    side.Number("gid", StatOf(side.Path("a")).st_gid);
    side.Ok("chown of the group only", Sys(chown(side.Path("a").c_str(), static_cast<uid_t>(-1), 99)));
    side.Number("uid kept", StatOf(side.Path("a")).st_uid);
    side.Number("gid changed", StatOf(side.Path("a")).st_gid);
    side.Ok("chmod missing", Sys(chmod(side.Path("none").c_str(), 0600)));
    Fd fd = Open(side.Path("w"), O_WRONLY | O_CREAT, 0600);
    side.Ok("fchmod while written", Sys(fchmod(fd.get(), 0640)));
    side.Ok("fchown while written", Sys(fchown(fd.get(), 1, 2)));
    side.Ok("close", fd.Close());
    side.Number("mode after close", StatOf(side.Path("w")).st_mode);
    side.Number("uid after close", StatOf(side.Path("w")).st_uid);
    side.Ok("rename", Sys(rename(side.Path("w").c_str(), side.Path("v").c_str())));
    side.Number("mode after rename", StatOf(side.Path("v")).st_mode);
  });
}

TEST_F(StatContract, Access) {
  Compare([](Side& side) {
    WriteFile(side.Path("a"), "abc");
    for (const int mode : {F_OK, R_OK, W_OK, R_OK | W_OK}) {
      side.Ok("file " + std::to_string(mode), Sys(access(side.Path("a").c_str(), mode)));
      side.Ok("top " + std::to_string(mode), Sys(access(side.dir().c_str(), mode)));
    }
    side.Ok("top X_OK", Sys(access(side.dir().c_str(), X_OK)));
    side.Ok("missing", Sys(access(side.Path("none").c_str(), F_OK)));
    side.Ok("missing, then made", WriteFile(side.Path("none"), ""));
    side.Ok("a miss is not cached", Sys(access(side.Path("none").c_str(), F_OK)));
    side.Ok("unlink", Sys(unlink(side.Path("none").c_str())));
    side.Ok("a hit is not kept", Sys(access(side.Path("none").c_str(), F_OK)));
  });
}

TEST_F(StatContract, Statfs) {
  Compare([](Side& side) {
    struct statvfs info{};
    side.Ok("statvfs", Sys(statvfs(side.dir().c_str(), &info)));
    side.Number("f_bsize", static_cast<int64_t>(info.f_bsize));
    side.Number("f_frsize", static_cast<int64_t>(info.f_frsize));
    side.Number("f_namemax", static_cast<int64_t>(info.f_namemax));
    side.Yes("blocks", info.f_blocks > 0);
    side.Yes("free blocks", info.f_bfree > 0 && info.f_bfree <= info.f_blocks);
    side.Yes("available blocks", info.f_bavail > 0 && info.f_bavail <= info.f_blocks);
    side.Yes("files", info.f_files > 0 && info.f_ffree > 0);
    WriteFile(side.Path("a"), "x");
    struct statfs by_file{};
    side.Ok("statfs of a file", Sys(statfs(side.Path("a").c_str(), &by_file)));
    side.Number("its f_bsize", by_file.f_bsize);
  });
}

}  // namespace
}  // namespace kvpagefs::mount_test
