// The command line of kvpagefs: every refusal is one line that names the input and the remedy.
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>

#include "tests/mount/harness/mount_test.h"

namespace kvpagefs::mount_test {
namespace {

class CommandLine : public NodeTest {
 protected:
  void SetUp() override {
    if (test_options_.plain) GTEST_SKIP() << "KVPAGEFS_TEST_PLAIN is set";
    scratch_ = std::make_unique<ScratchDir>(test_options_.scratch_dir);
    dir_ = scratch_->path() + "/mount";
    ASSERT_EQ(mkdir(dir_.c_str(), 0755), 0);
  }
  void TearDown() override {
    if (scratch_ != nullptr && IsMountPoint(dir_)) umount2(dir_.c_str(), MNT_DETACH);
    NodeTest::TearDown();
  }

  ProgramResult Run(std::vector<std::string> arguments, const ProgramOptions& options = {}) {
    arguments.insert(arguments.begin(), test_options_.binary);
    return RunProgram(arguments, options);
  }

  // Exit status not 0, nothing on standard output, one line on standard error with all of `words` in it.
  void ExpectRefused(const ProgramResult& result, const std::vector<std::string>& words) {
    EXPECT_GT(result.exit_status, 0) << result.err;
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_TRUE(result.err.starts_with("kvpagefs: ")) << result.err;
    for (const std::string& word : words) {
      EXPECT_NE(result.err.find(word), std::string::npos) << "no '" << word << "' in: " << result.err;
    }
    EXPECT_FALSE(IsMountPoint(dir_));
  }

  std::string WriteConfig(const std::string& text) {
    const std::string path = scratch_->path() + "/config";
    EXPECT_EQ(WriteFile(path, text), 0);
    return path;
  }

  // Starts in the background, in `environment`; unmounts at the end of the test.
  void StartInBackground(std::vector<std::string> arguments, std::vector<std::string> environment = {}) {
    if (const std::string why = WhyNoMount(test_options_); !why.empty()) GTEST_SKIP() << why;
    const ProgramResult result =
        Run(std::move(arguments), {.environment = std::move(environment), .uid = -1, .limit_seconds = 60});
    ASSERT_EQ(result.exit_status, 0) << result.err;
    EXPECT_EQ(result.err, "");
    EXPECT_EQ(result.out, "");
    EXPECT_TRUE(IsMountPoint(dir_));
  }
  void Unmount() {
    EXPECT_EQ(Value(Sys(umount2(dir_.c_str(), 0))), "0");
    EXPECT_FALSE(IsMountPoint(dir_));
  }

  std::unique_ptr<ScratchDir> scratch_;
  std::string dir_;
};

TEST_F(CommandLine, HelpAndVersion) {
  for (const char* option : {"--help", "-h"}) {
    const ProgramResult help = Run({option});
    EXPECT_EQ(help.exit_status, 0);
    EXPECT_EQ(help.err, "");
    for (const char* word : {"MOUNTPOINT", "--memory", "--config", "--print-config", "--max-page", "-o", "-f"}) {
      EXPECT_NE(help.out.find(word), std::string::npos) << word;
    }
  }
  const ProgramResult version = Run({"--version"});
  EXPECT_EQ(version.exit_status, 0);
  EXPECT_TRUE(version.out.starts_with("kvpagefs ")) << version.out;
  EXPECT_EQ(std::count(version.out.begin(), version.out.end(), '\n'), 1);
}

TEST_F(CommandLine, WrongWords) {
  ExpectRefused(Run({"-f", dir_, "--no-such-option"}), {"--no-such-option", "--help"});
  ExpectRefused(Run({"-f", dir_, "--mem", "16MiB"}), {"--mem"});
  ExpectRefused(Run({"-f", dir_, "-o", "nonsense"}), {"nonsense"});
  ExpectRefused(Run({"-f", dir_, "--memory"}), {"memory"});
  ExpectRefused(Run({}), {"MOUNTPOINT"});
  ExpectRefused(Run({"standalone", dir_, "third"}), {"third"});
  ExpectRefused(Run({"10.0.0.1:7700", dir_}), {"10.0.0.1:7700"});
}

TEST_F(CommandLine, WrongValues) {
  for (const char* size : {"", "4Gigs", "-1", "0", "abc", "1.2.3G", "99999999TiB"}) {
    ExpectRefused(Run({"-f", dir_, std::string("--memory=") + size}), {"memory"});
  }
  ExpectRefused(Run({"-f", dir_, "--memory", "4Gigs"}), {"memory", "4Gigs"});
  ExpectRefused(Run({"-f", dir_, "--max-page", "lots"}), {"max-page", "lots"});
  ExpectRefused(Run({"-f", dir_, "--memory", "1000TiB"}), {"1000"});
  ExpectRefused(Run({"-f", dir_, "--high-watermark", "50", "--low-watermark", "80"}), {"watermark"});
  ExpectRefused(Run({"-f", dir_, "--read-path", "teleport"}), {"read-path", "teleport"});
  ExpectRefused(Run({"-f", dir_, "-o", "memory=4Gigs"}), {"memory", "4Gigs"});
  ExpectRefused(Run({"-f", dir_}, {.environment = {"KVPAGEFS_MEMORY=4Gigs"}, .uid = -1}), {"KVPAGEFS_MEMORY", "4Gigs"});
  ExpectRefused(Run({"-f", dir_, "--memory", "16MiB", "--state-dir", "/proc/nowhere"}), {"state-dir", "/proc/nowhere"});
  ExpectRefused(Run({"-f", dir_, "--memory", "16MiB", "--memory-path", scratch_->path()}),
                {"memory-path", scratch_->path()});
}

TEST_F(CommandLine, WrongMountPoints) {
  const std::string missing = scratch_->path() + "/missing";
  ExpectRefused(Run({"-f", missing}), {missing});
  const std::string file = scratch_->path() + "/file";
  ASSERT_EQ(WriteFile(file, "x"), 0);
  ExpectRefused(Run({"-f", file}), {file, "directory"});
  ASSERT_EQ(WriteFile(dir_ + "/entry", "x"), 0);
  ExpectRefused(Run({"-f", dir_}), {dir_, "empty"});
  ExpectRefused(Run({dir_}), {dir_, "empty"});
  EXPECT_EQ(Contents(dir_ + "/entry"), "x");
  ASSERT_EQ(unlink((dir_ + "/entry").c_str()), 0);
  ExpectRefused(Run({"-f", dir_, "--memory", "16MiB", "--state-dir", dir_ + "/state"}), {dir_});
}

TEST_F(CommandLine, WithoutPermission) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  ASSERT_EQ(chmod(scratch_->path().c_str(), 0755), 0);
  const ProgramResult result = Run({"-f", dir_, "--memory", "16MiB"}, {.environment = {}, .uid = 65534});
  if (result.exit_status == 126 || result.exit_status == 127) GTEST_SKIP() << "another user cannot run the program";
  ExpectRefused(result, {"permission"});
  EXPECT_TRUE(result.err.find(dir_) != std::string::npos || result.err.find("/dev/fuse") != std::string::npos)
      << result.err;
}

TEST_F(CommandLine, PrintConfigAndPrecedence) {
  const std::string config = WriteConfig("# comment\n\nmemory = 32MiB\nmax-page = 1MiB\nthreads=3\n");
  const ProgramOptions environment{.environment = {"KVPAGEFS_MEMORY=48MiB", "KVPAGEFS_THREADS=5"}, .uid = -1};
  const ProgramResult result = Run({dir_, "--config", config, "--memory", "64MiB", "--print-config"}, environment);
  EXPECT_EQ(result.exit_status, 0) << result.err;
  EXPECT_NE(result.out.find("\nmemory = 64MiB\n"), std::string::npos) << "command line wins: " << result.out;
  EXPECT_NE(result.out.find("\nthreads = 5\n"), std::string::npos) << "environment over file: " << result.out;
  EXPECT_NE(result.out.find("\nmax-page = 1MiB\n"), std::string::npos) << "file over default: " << result.out;
  EXPECT_FALSE(IsMountPoint(dir_));
  const ProgramResult again = Run({dir_, "--config", WriteConfig(result.out), "--print-config"});
  EXPECT_EQ(again.out, result.out) << "its own output is a configuration file";
}

TEST_F(CommandLine, WrongConfigFiles) {
  const std::string unknown = WriteConfig("memory = 32MiB\n\nno-such-key = 1\n");
  ExpectRefused(Run({"-f", dir_, "--config", unknown}), {unknown, ":3", "no-such-key"});
  const std::string bad_value = WriteConfig("# x\nmemory = 4Gigs\n");
  ExpectRefused(Run({"-f", dir_, "--config", bad_value}), {bad_value, ":2", "4Gigs"});
  const std::string no_equals = WriteConfig("memory\n");
  ExpectRefused(Run({"-f", dir_, "--config", no_equals}), {no_equals, ":1"});
  const std::string missing = scratch_->path() + "/no-such-config";
  ExpectRefused(Run({"-f", dir_, "--config", missing}), {missing});
}

TEST_F(CommandLine, BackgroundStartAnswersAtOnce) {
  StartInBackground({dir_, "--memory", "16MiB"});
  KVP_RETURN_IF_NOT_RUNNING();
  EXPECT_EQ(WriteFile(dir_ + "/page", "content"), 0);
  EXPECT_EQ(Contents(dir_ + "/page"), "content");
  EXPECT_NE(Contents(dir_ + "/.kvpagefs/config").find("memory = 16MiB"), std::string::npos);
  const ProgramResult second = Run({dir_, "--memory", "16MiB"});
  EXPECT_GT(second.exit_status, 0);
  EXPECT_NE(second.err.find(dir_), std::string::npos) << second.err;
  Unmount();
}

TEST_F(CommandLine, MountHelperForm) {
  StartInBackground({"standalone", dir_, "-o", "rw,nosuid,nodev,memory=16MiB,max_page=1MiB,allow_other"});
  KVP_RETURN_IF_NOT_RUNNING();
  const std::string config = Contents(dir_ + "/.kvpagefs/config");
  EXPECT_NE(config.find("\nmemory = 16MiB\n"), std::string::npos) << config;
  EXPECT_NE(config.find("\nmax-page = 1MiB\n"), std::string::npos) << config;
  EXPECT_NE(config.find("\nallow-other = yes\n"), std::string::npos) << config;
  ASSERT_EQ(WriteFile(dir_ + "/page", "content", 0644), 0);
  Unmount();
}

TEST_F(CommandLine, EnvironmentSetsOptions) {
  StartInBackground({dir_}, {"KVPAGEFS_MEMORY=16MiB"});
  KVP_RETURN_IF_NOT_RUNNING();
  EXPECT_NE(Contents(dir_ + "/.kvpagefs/config").find("\nmemory = 16MiB\n"), std::string::npos);
  Unmount();
}

// systemd's readiness: READY=1 is sent when the mount answers.
TEST_F(CommandLine, NotifiesWhenReady) {
  const std::string socket_path = scratch_->path() + "/notify";
  const Fd socket_fd(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  ASSERT_LT(socket_path.size(), sizeof(address.sun_path));
  socket_path.copy(address.sun_path, socket_path.size());
  ASSERT_EQ(bind(socket_fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  StartInBackground({dir_, "--memory", "16MiB"}, {"NOTIFY_SOCKET=" + socket_path});
  KVP_RETURN_IF_NOT_RUNNING();
  std::string messages;
  const auto is_ready = [&] {
    char text[4096];
    const ssize_t got = recv(socket_fd.get(), text, sizeof(text), MSG_DONTWAIT);
    if (got > 0) messages += std::string(text, static_cast<size_t>(got)) + "\n";
    return messages.find("READY=1") != std::string::npos;
  };
  EXPECT_TRUE(WaitUntil(is_ready, Seconds(20))) << messages;
  Unmount();
}

}  // namespace
}  // namespace kvpagefs::mount_test
