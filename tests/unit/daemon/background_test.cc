#include "daemon/background.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <future>

namespace kvpagefs {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int64_t kDeadlineMs = 20'000;

// The outcome that the parent sees when the child does `act`.
template <class Act>
StartOutcome OutcomeOf(Act act, int64_t deadline_ms = kDeadlineMs) {
  auto forked = ForkToBackground("mount point '/m'", deadline_ms);
  EXPECT_TRUE(forked.ok());
  if (!forked->is_parent) {
    act(&forked->report);
    _exit(0);
  }
  return forked->outcome;
}

TEST(ForkToBackground, ReadyIsSuccess) {
  const StartOutcome outcome = OutcomeOf([](StartReport* report) { report->Ready(); });
  EXPECT_EQ(outcome.exit_status, 0);
  EXPECT_EQ(outcome.line, "");
}

TEST(ForkToBackground, FailureArrivesWithStatusAndLine) {
  const StartOutcome outcome = OutcomeOf([](StartReport* report) { report->Failed({7, "no luck"}); });
  EXPECT_EQ(outcome.exit_status, 7);
  EXPECT_EQ(outcome.line, "no luck");
}

TEST(ForkToBackground, DeathWithoutAWordIsAFailure) {
  EXPECT_THAT(OutcomeOf([](StartReport*) { _exit(0); }).line, HasSubstr("ended before"));
  const StartOutcome killed = OutcomeOf([](StartReport*) { raise(SIGKILL); });
  EXPECT_EQ(killed.exit_status, 1);
  EXPECT_THAT(killed.line, HasSubstr("signal 9"));
}

TEST(ForkToBackground, MissedDeadlineSaysSo) {
  std::array<int, 2> hold{};
  ASSERT_EQ(pipe(hold.data()), 0);
  const StartOutcome outcome = OutcomeOf(
      [&](StartReport*) {
        char byte = 0;
        close(hold[1]);
        if (read(hold[0], &byte, 1) != 0) _exit(1);
      },
      20);
  EXPECT_EQ(outcome.exit_status, 1);
  EXPECT_THAT(outcome.line, AllOf(HasSubstr("'/m'"), HasSubstr("20 ms"), HasSubstr("kill")));
  close(hold[0]);
  close(hold[1]);
  while (wait(nullptr) > 0) {
  }
}

TEST(ForkToBackground, ReadyLeavesTheTerminal) {
  const pid_t session_before = getsid(0);
  std::array<int, 2> answer{};
  ASSERT_EQ(pipe(answer.data()), 0);
  OutcomeOf([&](StartReport* report) {
    report->Ready();
    std::array<char, 64> directory{};
    std::array<char, 64> output{};
    const bool at_root = getcwd(directory.data(), directory.size()) != nullptr && strcmp(directory.data(), "/") == 0;
    const bool silent =
        readlink("/proc/self/fd/2", output.data(), output.size()) > 0 && strcmp(output.data(), "/dev/null") == 0;
    const char verdict = at_root && silent && getsid(0) == getpid() && getsid(0) != session_before ? 'y' : 'n';
    if (write(answer[1], &verdict, 1) != 1) _exit(1);
  });
  char verdict = 0;
  ASSERT_EQ(read(answer[0], &verdict, 1), 1);
  EXPECT_EQ(verdict, 'y');
  close(answer[0]);
  close(answer[1]);
}

TEST(StartReport, ForegroundFailureIsOneLineOnStandardError) {
  ::testing::internal::CaptureStderr();
  StartReport().Failed({1, "mount point '/a\nb' is odd"});
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "kvpagefs: mount point '/a?b' is odd\n");
}

TEST(StopSignals, PendingAndLaterSignalsArrive) {
  // In a child: the test runner keeps its own signal mask.
  const pid_t child = fork();
  if (child == 0) {
    BlockStopSignals();
    kill(getpid(), SIGPIPE);
    kill(getpid(), SIGHUP);
    std::promise<int> first;
    std::promise<int> second;
    std::atomic<int> calls = 0;
    const auto signals = StopSignals::Watch([&](int signal) { (calls++ == 0 ? first : second).set_value(signal); });
    if (!signals.ok() || first.get_future().get() != SIGHUP) _exit(1);
    kill(getpid(), SIGTERM);
    _exit(second.get_future().get() == SIGTERM ? 0 : 2);
  }
  int state = 0;
  ASSERT_EQ(waitpid(child, &state, 0), child);
  EXPECT_TRUE(WIFEXITED(state));
  EXPECT_EQ(WEXITSTATUS(state), 0);
}

TEST(StopSignals, HangUpStaysIgnoredUnderNohup) {
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGHUP, SIG_IGN);
    BlockStopSignals();
    kill(getpid(), SIGHUP);
    kill(getpid(), SIGTERM);
    std::promise<int> first;
    std::atomic<int> calls = 0;
    const auto signals = StopSignals::Watch([&](int number) {
      if (calls++ == 0) first.set_value(number);
    });
    // SIGHUP has the smaller number, so it would be the first to be delivered.
    _exit(signals.ok() && first.get_future().get() == SIGTERM ? 0 : 1);
  }
  int state = 0;
  ASSERT_EQ(waitpid(child, &state, 0), child);
  EXPECT_EQ(state, 0);
}

TEST(StopSignals, EndsWithoutASignal) {
  const auto signals = StopSignals::Watch([](int) {});
  EXPECT_TRUE(signals.ok());
}

TEST(ServiceNotifier, SpeaksToTheSocket) {
  const std::string path = ::testing::TempDir() + "kvpagefs_notify." + std::to_string(getpid());
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  ASSERT_LT(path.size(), sizeof address.sun_path);
  path.copy(address.sun_path, path.size());
  ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  setenv("NOTIFY_SOCKET", path.c_str(), 1);
  const auto receive = [fd] {
    std::array<char, 512> text{};
    return std::string(text.data(),
                       static_cast<size_t>(std::max<ssize_t>(0, recv(fd, text.data(), text.size(), MSG_DONTWAIT))));
  };
  const ServiceNotifier notifier;
  notifier.Ready("/m mounted");
  EXPECT_THAT(receive(), AllOf(HasSubstr("READY=1\n"), HasSubstr("STATUS=/m mounted\n")));
  notifier.Alive();
  EXPECT_THAT(receive(), HasSubstr("WATCHDOG=1"));
  notifier.Stopping("unmounting");
  EXPECT_THAT(receive(), AllOf(HasSubstr("STOPPING=1\n"), HasSubstr("STATUS=unmounting\n")));
  unsetenv("NOTIFY_SOCKET");
  notifier.Alive();
  EXPECT_EQ(receive(), "");
  close(fd);
  unlink(path.c_str());
}

TEST(ServiceNotifier, IntervalIsHalfOfTheWatchdog) {
  const ServiceNotifier notifier;
  unsetenv("WATCHDOG_USEC");
  EXPECT_EQ(notifier.AliveIntervalMs(), -1);
  setenv("WATCHDOG_USEC", "30000000", 1);
  EXPECT_EQ(notifier.AliveIntervalMs(), 15'000);
  setenv("WATCHDOG_PID", "1", 1);  // meant for another process
  EXPECT_EQ(notifier.AliveIntervalMs(), -1);
  unsetenv("WATCHDOG_USEC");
  unsetenv("WATCHDOG_PID");
}

TEST(RaiseOpenFileLimit, SoftBecomesHard) {
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit low = {64, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  EXPECT_EQ(RaiseOpenFileLimit(), before.rlim_max);
  rlimit after = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &after), 0);
  EXPECT_EQ(after.rlim_cur, before.rlim_max);
  setrlimit(RLIMIT_NOFILE, &before);
}

TEST(KeepStandardStreams, FillsTheGapAndNoMore) {
  const pid_t child = fork();
  if (child == 0) {
    close(STDIN_FILENO);
    close(STDERR_FILENO);
    KeepStandardStreams();
    const int next = open("/dev/null", O_RDONLY);
    const bool open_now = fcntl(STDIN_FILENO, F_GETFD) == 0 && fcntl(STDERR_FILENO, F_GETFD) == 0;
    _exit(open_now && next > STDERR_FILENO ? 0 : 1);
  }
  int state = 0;
  ASSERT_EQ(waitpid(child, &state, 0), child);
  EXPECT_EQ(state, 0);
}

}  // namespace
}  // namespace kvpagefs
