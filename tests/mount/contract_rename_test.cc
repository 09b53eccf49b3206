// rename(2) and renameat2(2).
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

#include "tests/mount/contract_side.h"

namespace kvpagefs::mount_test {
namespace {

using RenameContract = ContractTest;

int64_t Rename(const Side& side, const std::string& from, const std::string& to, unsigned flags = 0) {
  return Sys(renameat2(AT_FDCWD, side.Path(from).c_str(), AT_FDCWD, side.Path(to).c_str(), flags));
}

TEST_F(RenameContract, Files) {
  Compare([](Side& side) {
    side.Ok("write", WriteFile(side.Path("a"), side.Bytes(10000, 1)));
    const ino_t inode = StatOf(side.Path("a")).st_ino;
    side.Ok("to a new name", Rename(side, "a", "b"));
    side.Number("old name", SizeOf(side.Path("a")));
    side.File("new name", "b");
    side.Yes("same inode", StatOf(side.Path("b")).st_ino == inode);
    side.Ok("write c", WriteFile(side.Path("c"), side.Bytes(500, 2)));
    side.Ok("over an existing one", Rename(side, "b", "c"));
    side.File("replaced", "c");
    side.Ok("onto itself", Rename(side, "c", "c"));
    side.File("still there", "c");
    side.Ok("missing", Rename(side, "none", "x"));
    side.Ok("into a missing directory", Rename(side, "c", "none/x"));
    side.Note("listing", Join(List(side.dir())));
  });
}

TEST_F(RenameContract, Flags) {
  Compare([](Side& side) {
    side.Ok("write a", WriteFile(side.Path("a"), "aaa"));
    side.Ok("write b", WriteFile(side.Path("b"), "bb"));
    side.Ok("NOREPLACE over existing", Rename(side, "a", "b", RENAME_NOREPLACE));
    side.Ok("NOREPLACE", Rename(side, "a", "c", RENAME_NOREPLACE));
    side.File("moved", "c");
    side.Ok("EXCHANGE", Rename(side, "b", "c", RENAME_EXCHANGE));
    side.Ok("both flags", Rename(side, "b", "c", RENAME_EXCHANGE | RENAME_NOREPLACE));
    side.Ok("unknown flag", Rename(side, "b", "c", 0x80));
    side.Note("listing", Join(List(side.dir())));
  });
}

TEST_F(RenameContract, Directories) {
  Compare([](Side& side) {
    mkdir(side.Path("d").c_str(), 0755);
    mkdir(side.Path("d/sub").c_str(), 0755);
    mkdir(side.Path("e").c_str(), 0755);
    mkdir(side.Path("full").c_str(), 0755);
    side.Ok("file in d/sub", WriteFile(side.Path("d/sub/f"), side.Bytes(1000)));
    side.Ok("file in full", WriteFile(side.Path("full/x"), "x"));
    side.Ok("file", WriteFile(side.Path("file"), "f"));
    side.Ok("into itself", Rename(side, "d", "d/sub/d"));
    side.Ok("into itself directly", Rename(side, "d", "d/x"));
    side.Ok("over a directory with entries", Rename(side, "d", "full"));
    side.Ok("over a file", Rename(side, "d", "file"));
    side.Ok("a file over a directory", Rename(side, "file", "e"));
    side.Ok("over an empty directory", Rename(side, "d", "e"));
    side.File("file went along", "e/sub/f");
    side.Ok("to another parent", Rename(side, "e/sub", "full/sub"));
    side.File("file went along again", "full/sub/f");
    side.Ok("parent over its child", Rename(side, "full/sub", "full"));
    side.Ok("back up", Rename(side, "full/sub/f", "f"));
    side.Note("listing", Join(List(side.dir())));
    side.Note("listing of full", Join(List(side.Path("full"))));
    side.Number("links of full", static_cast<int64_t>(StatOf(side.Path("full")).st_nlink));
  });
}

TEST_F(RenameContract, AcrossDirectories) {
  Compare([](Side& side) {
    mkdir(side.Path("x").c_str(), 0755);
    mkdir(side.Path("y").c_str(), 0755);
    side.Ok("write", WriteFile(side.Path("x/a"), side.Bytes(100000)));
    side.Ok("x/a to y/b", Rename(side, "x/a", "y/b"));
    side.File("there", "y/b");
    side.Note("x", Join(List(side.Path("x"))));
    side.Note("y", Join(List(side.Path("y"))));
    side.Ok("other file", WriteFile(side.Path("x/a"), "other"));
    side.Ok("over y/b", Rename(side, "x/a", "y/b"));
    side.File("replaced", "y/b");
    side.Ok("rmdir x", Sys(rmdir(side.Path("x").c_str())));
    side.Ok("rmdir y", Sys(rmdir(side.Path("y").c_str())));
  });
}

// rename publishes what was written so far; the descriptor goes on with the new name.
TEST_F(RenameContract, FileOpenForWriting) {
  Compare([](Side& side) {
    Peer other(AnswerCommon);
    Fd fd = Open(side.Path("a.tmp"), O_WRONLY | O_CREAT | O_EXCL);
    side.Ok("write", WriteAll(fd.get(), side.Bytes(100000, 1)));
    side.Ok("rename", Rename(side, "a.tmp", "a"));
    side.Note("other reads it", other.Ask("read " + side.Path("a")));
    side.Note("old name", other.Ask("stat " + side.Path("a.tmp")));
    side.Ok("write on", WriteAll(fd.get(), side.Bytes(1000, 2)));
    side.Ok("close", fd.Close());
    side.Note("other reads all of it", other.Ask("read " + side.Path("a")));
    side.Note("listing", Join(List(side.dir())));
  });
}

TEST_F(RenameContract, OverAFileOpenForWriting) {
  Compare([](Side& side) {
    Fd fd = Open(side.Path("a"), O_WRONLY | O_CREAT | O_EXCL);
    side.Ok("write", WriteAll(fd.get(), side.Bytes(1000, 1)));
    side.Ok("other file", WriteFile(side.Path("b"), side.Bytes(2000, 2)));
    side.Ok("rename over it", Rename(side, "b", "a"));
    side.File("now", "a");
    side.Ok("write on", WriteAll(fd.get(), side.Bytes(1000, 3)));
    side.Ok("close", fd.Close());
    side.File("the renamed one stays", "a");
    side.Note("listing", Join(List(side.dir())));
  });
}

TEST_F(RenameContract, OpenFilesFollow) {
  Compare([](Side& side) {
    side.Ok("write", WriteFile(side.Path("a"), side.Bytes(100000)));
    Fd reader = Open(side.Path("a"), O_RDONLY);
    side.Ok("rename", Rename(side, "a", "b"));
    side.Note("reader", Digest(ReadDescriptor(reader.get())));
    side.Number("fstat", SizeOf(reader.get()));
    Fd writer = Open(side.Path("b"), O_WRONLY);
    side.Ok("rewrite", WriteAll(writer.get(), "new", 0));
    side.Ok("rename while rewriting", Rename(side, "b", "c"));
    side.Ok("close", writer.Close());
    side.File("content", "c");
    side.Note("listing", Join(List(side.dir())));
  });
}

}  // namespace
}  // namespace kvpagefs::mount_test
