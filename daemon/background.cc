#include "daemon/background.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <utility>

#include <fmt/format.h>

namespace kvpagefs {
namespace {

constexpr int kFailed = 1;

sigset_t StopSet() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGTERM, SIGINT}) sigaddset(&set, signal);
  // nohup(1) ignores it, and a signalfd would receive it all the same.
  struct sigaction hangup = {};
  if (sigaction(SIGHUP, nullptr, &hangup) == 0 && hangup.sa_handler != SIG_IGN) sigaddset(&set, SIGHUP);
  return set;
}

// What the pipe carries: the exit status in one byte, then the line, then the end of the stream.
void WriteOutcome(int fd, const StartOutcome& outcome) {
  std::string message(1, static_cast<char>(outcome.exit_status));
  message += outcome.line;
  // Below PIPE_BUF it goes as one piece. Nobody to read it means that nobody waits for it.
  message.resize(std::min<size_t>(message.size(), PIPE_BUF));
  while (write(fd, message.data(), message.size()) < 0 && errno == EINTR) {
  }
}

StartOutcome DescribeDeath(pid_t child) {
  int state = 0;
  if (waitpid(child, &state, 0) == child && WIFSIGNALED(state)) {
    return {kFailed,
            fmt::format("the daemon was killed by signal {} ({}) before it was ready: run it with -f to see why",
                        WTERMSIG(state), strsignal(WTERMSIG(state)))};
  }
  return {kFailed, "the daemon ended before it was ready: run it with -f to see why"};
}

// False when the deadline passes before the end of the stream.
bool ReadAll(int fd, int64_t deadline_ms, std::string* message) {
  using std::chrono::steady_clock;
  const auto deadline = steady_clock::now() + std::chrono::milliseconds(deadline_ms);
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - steady_clock::now()).count();
    pollfd waiting = {fd, POLLIN, 0};
    const int ready = poll(&waiting, 1, static_cast<int>(std::max<int64_t>(left, 0)));
    if (ready == 0) return false;
    if (ready < 0) {
      if (errno == EINTR) continue;
      return true;
    }
    std::array<char, 512> piece{};
    const ssize_t bytes = read(fd, piece.data(), piece.size());
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0) return true;
    message->append(piece.data(), static_cast<size_t>(bytes));
  }
}

StartOutcome WaitForChild(pid_t child, int fd, std::string_view subject, int64_t deadline_ms) {
  std::string message;
  if (!ReadAll(fd, deadline_ms, &message)) {
    return {
        kFailed,
        fmt::format("{} does not answer after {} ms: the daemon goes on trying as process {}; look at its log or stop "
                    "it with 'kill {}'",
                    subject, deadline_ms, child, child)};
  }
  if (message.empty()) return DescribeDeath(child);
  return {static_cast<unsigned char>(message[0]), message.substr(1)};
}

void LeaveTerminal() {
  setsid();
  if (chdir("/") != 0) assert(false);
  const int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null_fd < 0) return;
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(null_fd, fd);
  if (null_fd > STDERR_FILENO) close(null_fd);
}

}  // namespace

StartReport::StartReport(StartReport&& other) noexcept : pipe_fd_(std::exchange(other.pipe_fd_, -1)) {}

StartReport& StartReport::operator=(StartReport&& other) noexcept {
  std::swap(pipe_fd_, other.pipe_fd_);
  return *this;
}

StartReport::~StartReport() {
  if (pipe_fd_ >= 0) close(pipe_fd_);
}

void StartReport::Ready() {
  if (!in_background()) return;
  LeaveTerminal();
  WriteOutcome(pipe_fd_, {});
  close(std::exchange(pipe_fd_, -1));
}

void StartReport::Failed(const StartOutcome& outcome) {
  assert(outcome.exit_status != 0);
  if (in_background()) {
    WriteOutcome(pipe_fd_, outcome);
    close(std::exchange(pipe_fd_, -1));
  } else {
    fmt::print(stderr, "{}\n", ErrorLine(outcome.line, outcome.program));
  }
}

void KeepStandardStreams() {
  int fd = open("/dev/null", O_RDWR);
  while (fd >= 0 && fd <= STDERR_FILENO) fd = open("/dev/null", O_RDWR);
  if (fd >= 0) close(fd);
}

Result<Forked> ForkToBackground(std::string_view subject, int64_t deadline_ms) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return Error::FromSystem(errno, "no pipe for the start of the daemon");
  const pid_t child = fork();
  if (child < 0) {
    const int reason = errno;
    close(ends[0]);
    close(ends[1]);
    return Error::FromSystem(reason, "the daemon cannot be started: free some processes, or use -f");
  }
  Forked forked;
  if (child == 0) {
    close(ends[0]);
    forked.report = StartReport(ends[1]);
    return forked;
  }
  close(ends[1]);
  forked.is_parent = true;
  forked.outcome = WaitForChild(child, ends[0], subject, deadline_ms);
  close(ends[0]);
  return forked;
}

std::string ErrorLine(std::string_view text, std::string_view program) {
  std::string line = fmt::format("{}: {}", program, text);
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < ' ') c = '?';
  }
  return line;
}

void BlockStopSignals() {
  const sigset_t set = StopSet();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);  // a limit on file sizes is an error of the write
}

Result<StopSignals> StopSignals::Watch(std::function<void(int)> on_signal) {
  const sigset_t set = StopSet();
  StopSignals signals;
  signals.signal_fd_ = signalfd(-1, &set, SFD_CLOEXEC);
  signals.end_fd_ = eventfd(0, EFD_CLOEXEC);
  if (signals.signal_fd_ < 0 || signals.end_fd_ < 0) return Error::FromSystem(errno, "signals cannot be watched");
  signals.thread_ =
      std::thread([signal_fd = signals.signal_fd_, end_fd = signals.end_fd_, call = std::move(on_signal)] {
        std::array<pollfd, 2> waiting = {pollfd{signal_fd, POLLIN, 0}, pollfd{end_fd, POLLIN, 0}};
        while (true) {
          const int ready = poll(waiting.data(), waiting.size(), -1);
          if (ready < 0 && errno == EINTR) continue;
          if (ready < 0 || waiting[1].revents != 0) return;
          signalfd_siginfo info = {};
          if (read(signal_fd, &info, sizeof info) == sizeof info) call(static_cast<int>(info.ssi_signo));
        }
      });
  return signals;
}

StopSignals::StopSignals(StopSignals&& other) noexcept
    : signal_fd_(std::exchange(other.signal_fd_, -1)),
      end_fd_(std::exchange(other.end_fd_, -1)),
      thread_(std::move(other.thread_)) {}

StopSignals::~StopSignals() {
  if (thread_.joinable()) {
    eventfd_write(end_fd_, 1);
    thread_.join();
  }
  if (signal_fd_ >= 0) close(signal_fd_);
  if (end_fd_ >= 0) close(end_fd_);
}

void ServiceNotifier::Ready(std::string_view status) const {
  sd_notify(0, fmt::format("READY=1\nMAINPID={}\nSTATUS={}\n", getpid(), status).c_str());
}

void ServiceNotifier::Stopping(std::string_view status) const {
  sd_notify(0, fmt::format("STOPPING=1\nSTATUS={}\n", status).c_str());
}

void ServiceNotifier::Alive() const { sd_notify(0, "WATCHDOG=1\n"); }

int64_t ServiceNotifier::AliveIntervalMs() const {
  uint64_t limit_us = 0;
  if (sd_watchdog_enabled(0, &limit_us) <= 0) return -1;
  // Twice as often as asked for, as sd_watchdog_enabled(3) advises.
  return std::max<int64_t>(1, static_cast<int64_t>(limit_us / 2000));
}

uint64_t RaiseOpenFileLimit() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  const rlim_t before = limit.rlim_cur;
  limit.rlim_cur = limit.rlim_max;
  return setrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : before;
}

}  // namespace kvpagefs
