// Writers that are killed, exit or exec: what becomes of their files.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>

#include "tests/mount/faults_fixture.h"
#include "tests/mount/harness/page_content.h"

namespace kvpagefs::mount_test {
namespace {

constexpr size_t kMiB = 1 << 20;

using WriterFaults = FaultsTest;

// Between create and close: the name is free at once, the space comes back, nobody ever saw it.
TEST_F(WriterFaults, KilledBetweenCreateAndClose) {
  StartRealNode({.memory = "64MiB", .source = "", .arguments = {}, .mount_point = "", .max_open_files = 0});
  KVP_RETURN_IF_NOT_RUNNING();
  Peer reader(AnswerCommon);
  for (int round = 0; round < 20; ++round) {
    const std::string path = Path("page");
    const bool is_mapped = round % 4 == 3;
    Peer writer([held = std::make_shared<Fd>(), is_mapped](const std::string& name) {
      *held = Open(name, O_RDWR | O_CREAT | O_EXCL);
      if (!*held) return Outcome(held->result());
      if (!is_mapped) return Outcome(WriteAll(held->get(), MakePage(1, 1, 3 * kMiB)));
      if (ftruncate(held->get(), kMiB) != 0) return Outcome(-errno);
      void* map = mmap(nullptr, kMiB, PROT_READ | PROT_WRITE, MAP_SHARED, held->get(), 0);
      if (map == MAP_FAILED) return Outcome(-errno);
      MakePage(1, 1, kMiB).copy(static_cast<char*>(map), kMiB);
      return std::string("ok");
    });
    ASSERT_EQ(writer.Ask(path), "ok") << "round " << round;
    EXPECT_EQ(reader.Ask("stat " + path), "ENOENT");
    EXPECT_EQ(writer.Kill(SIGKILL), SIGKILL);
    EXPECT_EQ(reader.Ask("stat " + path), "ENOENT");
    EXPECT_EQ(reader.Ask("read " + path), "ENOENT");
    EXPECT_EQ(reader.Ask("list " + node_->dir()), "");
    Fd fd = Open(path, O_WRONLY | O_CREAT | O_EXCL);
    EXPECT_TRUE(fd) << "the name is not free: " << Value(fd.result());
    fd.Close();
    EXPECT_EQ(unlink(path.c_str()), 0);
  }
  ExpectEmptySegment();
}

// Killed in the middle of many writes: files that it closed are whole, the others do not exist.
TEST_F(WriterFaults, KilledInTheMiddleOfWrites) {
  StartRealNode({.memory = "256MiB", .source = "", .arguments = {}, .mount_point = "", .max_open_files = 0});
  KVP_RETURN_IF_NOT_RUNNING();
  auto* closed = static_cast<std::atomic<uint64_t>*>(
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  for (uint64_t round = 0; round < 10; ++round) {
    *closed = 0;
    const std::string prefix = Path("r" + std::to_string(round) + "-");
    Peer writer([=](const std::string&) -> std::string {
      for (uint64_t i = 0;; ++i) {
        if (WriteFile(prefix + std::to_string(i % 8), MakePage(i % 8, i, 2 * kMiB)) != 0) return "failed";
        *closed = i + 1;
      }
    });
    writer.Send("go");
    ASSERT_TRUE(WaitUntil([&] { return *closed >= 3 + round; }, Seconds(60)));
    writer.Kill(SIGKILL);
    for (uint64_t i = 0; i < 8; ++i) {
      int64_t error = 0;
      const std::string bytes = ReadFile(prefix + std::to_string(i), &error);
      if (error == -ENOENT && i >= *closed) continue;
      EXPECT_EQ(Value(error), "0") << "round " << round << ", file " << i << " of " << *closed;
      EXPECT_EQ(CheckPage(i, bytes), "") << "round " << round << ", file " << i;
      EXPECT_EQ(unlink((prefix + std::to_string(i)).c_str()), 0);
    }
  }
  munmap(closed, 4096);
  ExpectEmptySegment();
}

TEST_F(WriterFaults, ManyKilledAtOnce) {
  StartRealNode({.memory = "128MiB", .source = "", .arguments = {}, .mount_point = "", .max_open_files = 0});
  KVP_RETURN_IF_NOT_RUNNING();
  std::vector<Peer> writers;
  for (int i = 0; i < 16; ++i) {
    writers.emplace_back(
        [path = Path("w" + std::to_string(i)), held = std::make_shared<std::vector<Fd>>()](const std::string&) {
          for (int j = 0; j < 8; ++j) {
            held->push_back(Open(path + "-" + std::to_string(j), O_WRONLY | O_CREAT | O_EXCL));
            if (WriteAll(held->back().get(), Pattern(1, 300000)) != 0) return "failed";
          }
          return "ok";
        });
  }
  for (Peer& writer : writers) writer.Send("go");
  for (Peer& writer : writers) EXPECT_EQ(writer.Receive(), "ok");
  for (Peer& writer : writers) kill(writer.pid(), SIGKILL);
  writers.clear();
  EXPECT_EQ(Join(List(node_->dir())), "");
  ExpectEmptySegment();
}

// An exit without close is a close.
TEST_F(WriterFaults, ExitWithoutCloseSeals) {
  StartNode();
  KVP_RETURN_IF_NOT_RUNNING();
  Peer writer([held = std::make_shared<Fd>()](const std::string& name) {
    *held = Open(name, O_WRONLY | O_CREAT | O_EXCL);
    return Outcome(WriteAll(held->get(), MakePage(1, 1, 500000)));
  });
  ASSERT_EQ(writer.Ask(Path("page")), "ok");
  const int status = writer.Finish();
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ(CheckPage(1, Contents(Path("page"))), "");
}

// A program that inherits the descriptor writes the second half; the parent closes.
TEST_F(WriterFaults, ExecInheritsTheDescriptor) {
  StartNode();
  KVP_RETURN_IF_NOT_RUNNING();
  const int fd = open(Path("page").c_str(), O_WRONLY | O_CREAT | O_EXCL, 0644);
  ASSERT_GE(fd, 0);
  ASSERT_EQ(WriteAll(fd, "first half, "), 0);
  const std::string script = "printf 'second half' >&" + std::to_string(fd);
  EXPECT_EQ(RunProgram({"/bin/sh", "-c", script}, {}).exit_status, 0);
  ASSERT_EQ(WriteAll(fd, ", end"), 0);
  EXPECT_EQ(close(fd), 0);
  EXPECT_EQ(Contents(Path("page")), "first half, second half, end");
}

// A program that is started while a file is being written does not publish half of it by ending.
TEST_F(WriterFaults, UnrelatedChildDoesNotPublish) {
  StartRealNode();
  KVP_RETURN_IF_NOT_RUNNING();
  Peer reader(AnswerCommon);
  Fd fd = Open(Path("page"), O_WRONLY | O_CREAT | O_EXCL);
  ASSERT_EQ(WriteAll(fd.get(), Pattern(1, 100000)), 0);
  EXPECT_EQ(RunProgram({"/bin/true"}, {}).exit_status, 0);
  EXPECT_EQ(reader.Ask("read " + Path("page")), "ENOENT");
  ASSERT_EQ(WriteAll(fd.get(), Pattern(2, 100000)), 0);
  ASSERT_EQ(fd.Close(), 0);
  EXPECT_EQ(reader.Ask("read " + Path("page")), Digest(Pattern(1, 100000) + Pattern(2, 100000)));
}

// A process that waits on the mount dies at once: here a writer that waits for space that readers hold.
TEST_F(WriterFaults, WaitingWriterCanBeKilled) {
  StartRealNode({.memory = "16MiB",
                 .source = "",
                 .arguments = {"--space-wait", "999ms"},
                 .mount_point = "",
                 .max_open_files = 0});
  KVP_RETURN_IF_NOT_RUNNING();
  std::vector<Fd> held = HoldEverything();
  // A busy machine delays any one of them; all of them only waiting for the deadline would.
  double quickest = 1e9;
  for (int round = 0; round < 5; ++round) {
    Peer writer([path = Path("late")](const std::string&) {
      Fd fd = Open(path, O_WRONLY | O_CREAT);
      while (WriteAll(fd.get(), Pattern(1, 8 * kMiB), 0) != 0) {
      }
      return "ok";
    });
    const uint64_t refused = node_->StatusNumber("no_space_errors").value_or(0);
    writer.Send("go");
    ASSERT_TRUE(WaitUntil([&] { return node_->StatusNumber("no_space_errors").value_or(1) > refused; }, Seconds(30)));
    const Stopwatch watch;
    writer.Kill(SIGKILL);
    quickest = std::min(quickest, watch.seconds());
  }
  EXPECT_LT(quickest, 0.9) << "as long as the wait for space";
  held.clear();
  EXPECT_EQ(Value(SizeOf(Path("late"))), "ENOENT");
  EXPECT_EQ(WriteFile(Path("late"), Pattern(1, 8 * kMiB)), 0);
}

// All space held by open files: ENOSPC within a second, and it is there again when they are closed.
TEST_F(WriterFaults, SegmentHeldByReaders) {
  StartRealNode({.memory = "16MiB", .source = "", .arguments = {}, .mount_point = "", .max_open_files = 0});
  KVP_RETURN_IF_NOT_RUNNING();
  std::vector<Fd> held = HoldEverything();
  ExpectAccounting();
  double quickest = 1e9;
  for (int round = 0; round < 5 && quickest >= 1.0; ++round) {
    const Stopwatch watch;
    EXPECT_EQ(Value(WriteFile(Path("late"), Pattern(9, 4 * kMiB))), "ENOSPC");
    quickest = std::min(quickest, watch.seconds());
  }
  EXPECT_LT(quickest, 1.0);
  EXPECT_EQ(Value(SizeOf(Path("late"))), "ENOENT");
  for (size_t i = 0; i < held.size(); ++i) EXPECT_EQ(CheckPage(i, ReadDescriptor(held[i].get())), "") << i;
  held.clear();
  EXPECT_EQ(Value(WriteFile(Path("late"), Pattern(9, 4 * kMiB))), "0");
  ExpectAccounting();
}

}  // namespace
}  // namespace kvpagefs::mount_test
