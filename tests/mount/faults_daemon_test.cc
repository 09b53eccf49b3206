// Daemons that are killed, stopped, started twice, or out of file descriptors.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>

#include "tests/mount/faults_fixture.h"
#include "tests/mount/harness/page_content.h"

namespace kvpagefs::mount_test {
namespace {

using DaemonFaults = FaultsTest;

TEST_F(DaemonFaults, KilledAndStartedAgain) {
  StartRealNode();
  KVP_RETURN_IF_NOT_RUNNING();
  ASSERT_EQ(WriteFile(Path("page"), MakePage(1, 1, 100000)), 0);
  Fd reader = Open(Path("page"), O_RDONLY);
  Fd writer = Open(Path("draft"), O_WRONLY | O_CREAT);
  ASSERT_EQ(WriteAll(writer.get(), "half"), 0);
  node_->Kill();
  EXPECT_EQ(Value(SizeOf(Path("other"))), "ENOTCONN");
  EXPECT_EQ(Value(Open(Path("page"), O_RDONLY).result()), "ENOTCONN");
  EXPECT_EQ(Value(WriteAll(writer.get(), "more", 0)), "ENOTCONN");
  EXPECT_EQ(Join(List(node_->dir())), "error:ENOTCONN");
  NodeProcess::Options options;
  options.mount_point = node_->dir();
  NodeProcess again(test_options_, std::move(options));
  ASSERT_EQ(again.Start(), "");
  EXPECT_EQ(Value(SizeOf(again.Path("page"))), "ENOENT") << "pages were in memory only";
  EXPECT_EQ(WriteFile(again.Path("page"), MakePage(1, 2, 200000)), 0);
  EXPECT_EQ(CheckPage(1, Contents(again.Path("page"))), "");
  EXPECT_NE(writer.Close(), -EIO);
  EXPECT_EQ(again.Stop(), "");
  EXPECT_FALSE(IsMountPoint(node_->dir())) << "the dead mount is still there below";
}

TEST_F(DaemonFaults, KilledUnderLoadLeavesNobodyWaiting) {
  StartRealNode();
  KVP_RETURN_IF_NOT_RUNNING();
  std::vector<Peer> peers;
  for (uint64_t i = 0; i < 4; ++i) {
    peers.emplace_back([i, dir = node_->dir()](const std::string&) {
      for (uint64_t round = 0;; ++round) {
        const std::string path = dir + "/p" + std::to_string(i);
        const int64_t written = WriteFile(path, MakePage(i, round, 500000));
        int64_t error = 0;
        if (written == 0) ReadFile(path, &error);
        if (written != 0 || error != 0) return Value(written != 0 ? written : error);
      }
    });
  }
  for (Peer& peer : peers) peer.Send("go");
  const auto is_working = [&] { return List(node_->dir()).size() >= 4; };
  ASSERT_TRUE(WaitUntil(is_working, Seconds(30)));
  node_->Kill();
  for (Peer& peer : peers) {
    const std::string error = peer.Receive();
    EXPECT_TRUE(error == "ENOTCONN" || error == "ECONNABORTED") << error;
  }
}

TEST_F(DaemonFaults, StoppedBySignals) {
  for (const int signal : {SIGTERM, SIGINT}) {
    StartRealNode();
    KVP_RETURN_IF_NOT_RUNNING();
    ASSERT_EQ(WriteFile(Path("page"), MakePage(1, 1, 100000)), 0);
    EXPECT_EQ(node_->Stop(signal), "") << "signal " << signal;
    EXPECT_EQ(Join(List(node_->dir())), "");
    node_.reset();
  }
}

// SIGTERM while files are open, mapped and half written: it ends, and nobody hangs.
TEST_F(DaemonFaults, StoppedWhileInUse) {
  StartRealNode();
  KVP_RETURN_IF_NOT_RUNNING();
  ASSERT_EQ(WriteFile(Path("page"), MakePage(1, 1, 100000)), 0);
  Peer user([held = std::make_shared<std::vector<Fd>>()](const std::string& question) {
    if (question == "ended?") {
      char byte = 0;
      const int64_t got = Sys(pread((*held)[0].get(), &byte, 1, 0));
      return std::string(got >= 0 || got == -ENOTCONN || got == -ECONNABORTED ? "ok" : Value(got));
    }
    held->push_back(Open(question + "/page", O_RDONLY | O_DIRECT));
    held->push_back(Open(question + "/draft", O_WRONLY | O_CREAT));
    const bool good = (*held)[0] && WriteAll((*held)[1].get(), "half a page") == 0;
    const bool is_inside = chdir(question.c_str()) == 0;
    return std::string(good && is_inside ? "ok" : "failed");
  });
  ASSERT_EQ(user.Ask(node_->dir()), "ok");
  EXPECT_EQ(node_->Stop(), "");
  EXPECT_EQ(user.Ask("ended?"), "ok");
}

TEST_F(DaemonFaults, SecondOnABusyMountPointIsRefused) {
  StartRealNode();
  KVP_RETURN_IF_NOT_RUNNING();
  ASSERT_EQ(WriteFile(Path("page"), MakePage(1, 1, 100000)), 0);
  const ProgramResult result = RunProgram({test_options_.binary, "-f", node_->dir(), "--memory", "16MiB"}, {});
  EXPECT_GT(result.exit_status, 0);
  EXPECT_NE(result.err.find(node_->dir()), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("busy"), std::string::npos) << result.err;
  EXPECT_EQ(CheckPage(1, Contents(Path("page"))), "");
}

// 64 descriptors in all: many names and many open files need none of their own.
TEST_F(DaemonFaults, FewFileDescriptors) {
  StartRealNode(
      {.memory = "128MiB", .source = "", .arguments = {"--threads", "4"}, .mount_point = "", .max_open_files = 64});
  KVP_RETURN_IF_NOT_RUNNING();
  constexpr int kNames = 10'000;
  for (int i = 0; i < kNames; ++i) ASSERT_EQ(WriteFile(Path("f" + std::to_string(i)), "content"), 0) << i;
  int listed = 0;
  for (const std::string& name : List(node_->dir())) listed += SizeOf(Path(name)) == 7 ? 1 : 0;
  EXPECT_EQ(listed, kNames);
  std::vector<Fd> held;
  int refused = 0;
  for (int i = 0; i < 1000; ++i) {
    Fd fd = Open(Path("f" + std::to_string(i)), O_RDONLY);
    if (!fd) {
      EXPECT_TRUE(fd.result() == -EMFILE || fd.result() == -ENFILE) << Value(fd.result());
      ++refused;
      continue;
    }
    EXPECT_EQ(ReadDescriptor(fd.get()), "content");
    held.push_back(std::move(fd));
  }
  printf("%zu files open at once, %d refused\n", held.size(), refused);
  held.clear();
  EXPECT_TRUE(WaitUntil([&] { return Contents(Path("f999")) == "content"; }, Seconds(20)));
  EXPECT_EQ(WriteFile(Path("new"), "content"), 0);
}

// Several nodes at once do not disturb each other.
TEST_F(DaemonFaults, SeveralNodes) {
  StartRealNode();
  KVP_RETURN_IF_NOT_RUNNING();
  NodeProcess other(test_options_,
                    {.memory = "32MiB", .source = "", .arguments = {}, .mount_point = "", .max_open_files = 0});
  ASSERT_EQ(other.Start(), "");
  ASSERT_EQ(WriteFile(Path("page"), "one"), 0);
  ASSERT_EQ(WriteFile(other.Path("page"), "two"), 0);
  EXPECT_EQ(other.Stop(), "");
  EXPECT_EQ(Contents(Path("page")), "one");
}

// Whatever happened, the partition of the segment adds up.
TEST_F(DaemonFaults, AccountingAddsUpThroughout) {
  StartRealNode({.memory = "64MiB", .source = "", .arguments = {}, .mount_point = "", .max_open_files = 0});
  KVP_RETURN_IF_NOT_RUNNING();
  ExpectAccounting();
  Fd draft = Open(Path("draft"), O_WRONLY | O_CREAT);
  ASSERT_EQ(WriteAll(draft.get(), Pattern(1, 3000000)), 0);
  ExpectAccounting();
  EXPECT_GE(Number("memory_draft_bytes"), 3000000u);
  ASSERT_EQ(draft.Close(), 0);
  const Fd reader = Open(Path("draft"), O_RDONLY);
  EXPECT_GE(Number("memory_held_bytes"), 3000000u);
  ExpectAccounting();
  for (uint64_t i = 0; i < 100; ++i) {
    ASSERT_EQ(WriteFile(Path("p" + std::to_string(i % 20)), Pattern(i, 1 + (i * 7919 * 131) % 1500000)), 0);
  }
  ExpectAccounting();
  ASSERT_EQ(unlink(Path("draft").c_str()), 0);
  EXPECT_GE(Number("memory_held_bytes"), 3000000u) << "still open";
  ExpectAccounting();
}

}  // namespace
}  // namespace kvpagefs::mount_test
