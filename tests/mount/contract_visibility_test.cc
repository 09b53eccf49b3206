// Who sees a file that is not sealed yet, and when the others do.
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "tests/mount/contract_side.h"

namespace kvpagefs::mount_test {
namespace {

using VisibilityContract = ContractTest;

TEST_F(VisibilityContract, OtherProcessesSeeItAtClose) {
  Compare([](Side& side) {
    Peer other(AnswerCommon);
    Fd fd = Open(side.Path("a"), O_WRONLY | O_CREAT | O_EXCL);
    side.Ok("write", WriteAll(fd.get(), side.Bytes(200000)));
    side.Note("other's stat", other.Ask("stat " + side.Path("a")));
    side.Note("other's open", other.Ask("open " + side.Path("a")));
    side.Note("other's access", other.Ask("access " + side.Path("a")));
    side.Note("other's listing", other.Ask("list " + side.dir()));
    side.Note("own listing", Join(List(side.dir())));
    side.Number("own stat", SizeOf(side.Path("a")));
    side.Note("other's stat after the own one", other.Ask("stat " + side.Path("a")));
    side.Note("other's open after the own one", other.Ask("open " + side.Path("a")));
    side.Note("other's unlink", other.Ask("unlink " + side.Path("nothing")));
    side.Ok("close", fd.Close());
    side.Note("stat after close", other.Ask("stat " + side.Path("a")));
    side.Note("content after close", other.Ask("read " + side.Path("a")));
    side.Note("listing after close", other.Ask("list " + side.dir()));
  });
}

TEST_F(VisibilityContract, CachedNothingBefore) {
  Compare([](Side& side) {
    Peer other(AnswerCommon);
    for (int i = 0; i < 50; ++i) {
      const std::string name = "f" + std::to_string(i);
      const std::string step = std::to_string(i);
      side.Note("miss " + step, other.Ask("stat " + side.Path(name)));
      side.Ok("write " + step, WriteFile(side.Path(name), side.Bytes(1000 + static_cast<size_t>(i))));
      side.Note("hit " + step, other.Ask("stat " + side.Path(name)));
      side.Ok("replace " + step, WriteFile(side.Path(name), side.Bytes(10)));
      side.Note("other's content " + step, other.Ask("read " + side.Path(name)));
      side.Ok("unlink " + step, Sys(unlink(side.Path(name).c_str())));
      side.Note("gone " + step, other.Ask("open " + side.Path(name)));
    }
  });
}

TEST_F(VisibilityContract, OtherThreadsOfTheWriterSeeIt) {
  Compare([](Side& side) {
    Fd fd = Open(side.Path("a"), O_WRONLY | O_CREAT | O_EXCL);
    side.Ok("write", WriteAll(fd.get(), side.Bytes(100000)));
    std::string content;
    int64_t size = 0;
    bool listed = false;
    std::thread thread([&] {
      size = SizeOf(side.Path("a"));
      content = Contents(side.Path("a"));
      listed = IsListed(side.dir(), "a");
    });
    thread.join();
    side.Number("stat by another thread", size);
    side.Note("content by another thread", Digest(content));
    side.Yes("listed to another thread", listed);
    std::thread closer([&] { side.Ok("close by another thread", fd.Close()); });
    closer.join();
    side.File("content", "a");
  });
}

TEST_F(VisibilityContract, WrittenByOtherThreads) {
  Compare([](Side& side) {
    Fd fd = Open(side.Path("a"), O_WRONLY | O_CREAT | O_EXCL);
    const std::string bytes = side.Bytes(800000);
    std::atomic<int> failed{0};
    std::vector<std::thread> threads;
    for (size_t i = 0; i < 8; ++i) {
      threads.emplace_back([&, i] {
        const auto at = static_cast<int64_t>(i * 100000);
        if (WriteAll(fd.get(), std::string_view(bytes).substr(i * 100000, 100000), at) != 0) ++failed;
      });
    }
    for (std::thread& thread : threads) thread.join();
    side.Number("failed", failed.load());
    side.Ok("close", fd.Close());
    side.File("content", "a");
  });
}

TEST_F(VisibilityContract, FsyncPublishes) {
  Compare([](Side& side) {
    Peer other(AnswerCommon);
    Fd fd = Open(side.Path("a"), O_WRONLY | O_CREAT | O_EXCL);
    side.Ok("write", WriteAll(fd.get(), side.Bytes(100000)));
    side.Ok("fsync", Sys(fsync(fd.get())));
    side.Note("other's content", other.Ask("read " + side.Path("a")));
    side.Ok("close", fd.Close());
    side.Note("other's content after close", other.Ask("read " + side.Path("a")));
  });
}

// The shell's `>`: the descriptor is inherited over fork and exec, and duplicated before anything is written.
TEST_F(VisibilityContract, ShellRedirection) {
  Compare([](Side& side) {
    const std::string script = "echo one > '" + side.Path("a") + "'; { echo two; echo three; } > '" + side.Path("b") +
                               "'; echo four >> '" + side.Path("a") + "'; cat '" + side.Path("a") + "' '" +
                               side.Path("b") + "' | sort > '" + side.Path("c") + "'";
    side.Number("shell", RunProgram({"/bin/sh", "-c", script}, {}).exit_status);
    for (const char* name : {"a", "b", "c"}) side.Note(name, Contents(side.Path(name)));
  });
}

TEST_F(VisibilityContract, OrdinaryTools) {
  Compare([](Side& side) {
    side.Ok("write", WriteFile(side.Path("a"), side.Bytes(3000000)));
    const std::string script = "set -e; cd '" + side.dir() +
                               "'; cp a b; cp -a a p; mv b c; cmp a c; mkdir -p x/y/z; cp -r x w; "
                               "dd if=a of=d bs=65536 2>/dev/null; cmp a d; tar cf t.tar a c x; mkdir u; "
                               "tar xf t.tar -C u; cmp a u/a; dd if=a of=e bs=4096 count=64 oflag=direct 2>/dev/null; "
                               "truncate -s 12345 e; touch new; find . -type f | LC_ALL=C sort | xargs wc -c; "
                               "rm -r u w; ls";
    const ProgramResult result = RunProgram({"/bin/sh", "-c", script}, {});
    side.Number("status", result.exit_status);
    side.Note("output", result.out);
    side.Note("errors", result.err);
  });
}

class TwoWriters : public NodeTest {
 protected:
  void SetUp() override { StartRealNode(); }
};

// Two processes write one name at the same time: each sees its own, others see nothing until the first close.
TEST_F(TwoWriters, OneWholePageOrTheOther) {
  const std::string path = Path("a");
  Peer other([slot = std::make_shared<Fd>()](const std::string& verb) -> std::string {
    Fd& held = *slot;
    const std::string name = verb.substr(verb.find(' ') + 1);
    if (verb.starts_with("create")) {
      held = Open(name, O_WRONLY | O_CREAT | O_TRUNC);
      return Outcome(held ? WriteAll(held.get(), Pattern(2, 150000)) : held.result());
    }
    if (verb.starts_with("close")) return Outcome(held.Close());
    return AnswerCommon(verb);
  });
  Peer reader(AnswerCommon);
  Fd fd = Open(path, O_WRONLY | O_CREAT | O_TRUNC);
  ASSERT_EQ(WriteAll(fd.get(), Pattern(1, 100000)), 0);
  EXPECT_EQ(other.Ask("create " + path), "ok");
  EXPECT_EQ(reader.Ask("read " + path), "ENOENT");
  EXPECT_EQ(other.Ask("close " + path), "ok");
  EXPECT_EQ(reader.Ask("read " + path), Digest(Pattern(2, 150000)));
  EXPECT_EQ(fd.Close(), 0);
  EXPECT_EQ(reader.Ask("read " + path), Digest(Pattern(1, 100000)));
  EXPECT_EQ(reader.Ask("stat " + path), "100000");
}

TEST_F(TwoWriters, ExclusiveCreateOfAnUnsealedName) {
  const std::string path = Path("a");
  Peer other([](const std::string& name) {
    Fd fd = Open(name, O_WRONLY | O_CREAT | O_EXCL);
    if (!fd) return Outcome(fd.result());
    const int64_t written = WriteAll(fd.get(), Pattern(2, 150000));
    return Outcome(written != 0 ? written : fd.Close());
  });
  Peer reader(AnswerCommon);
  Fd fd = Open(path, O_WRONLY | O_CREAT | O_EXCL);
  ASSERT_EQ(WriteAll(fd.get(), Pattern(1, 100000)), 0);
  const std::string second = other.Ask(path);
  const std::string first = Outcome(fd.Close());
  EXPECT_EQ(first, "ok") << "the other one's file was invisible, so both create; the last close wins";
  EXPECT_EQ(second, "ok");
  EXPECT_EQ(reader.Ask("read " + path), Digest(Pattern(1, 100000)));
  EXPECT_EQ(other.Ask(path), "EEXIST");
}

}  // namespace
}  // namespace kvpagefs::mount_test
