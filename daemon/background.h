// The daemon as a process: leaving the terminal, telling who started it, signals, systemd.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <thread>

#include "base/result.h"

namespace kvpagefs {

// How the start ended, as the process that the user called has to tell it.
struct StartOutcome {
  int exit_status = 0;
  std::string line;  // for standard error; empty when all is well
  std::string_view program = "kvpagefs";
};

// The daemon's way to tell its outcome, once. One thread. Destroyed without a word, it counts as a failure.
class StartReport {
 public:
  // In the foreground: writes to standard error.
  StartReport() = default;
  // Owns the writing end of a pipe to the waiting parent.
  explicit StartReport(int pipe_fd) : pipe_fd_(pipe_fd) {}
  StartReport(StartReport&& other) noexcept;
  StartReport& operator=(StartReport&& other) noexcept;
  ~StartReport();

  bool in_background() const { return pipe_fd_ >= 0; }
  // In the background: leaves session, directory and standard streams of the caller first, so that nothing of the
  // terminal is held once the parent has returned.
  void Ready();
  void Failed(const StartOutcome& outcome);

 private:
  int pipe_fd_ = -1;
};

// Opens /dev/null for each standard stream that the caller had closed, before another file takes its number.
void KeepStandardStreams();

// One side of the fork.
struct Forked {
  bool is_parent = false;
  StartOutcome outcome;  // of the child, in the parent
  StartReport report;    // in the child
};

// Forks; call it before any thread exists. The child returns at once. The parent returns when the child has reported
// or died, or after `deadline_ms`; the child goes on then. `subject` is what the line of a missed deadline names.
Result<Forked> ForkToBackground(std::string_view subject, int64_t deadline_ms);

// "program: text", always one line.
std::string ErrorLine(std::string_view text, std::string_view program = "kvpagefs");

// SIGTERM, SIGINT and SIGHUP (unless nohup(1) had it ignored) as calls; SIGPIPE is ignored. Two steps, as every thread
// must inherit the blocked signals.
void BlockStopSignals();

class StopSignals {
 public:
  // Calls `on_signal` with the number, on a thread of its own, for each signal until destroyed. Signals that came
  // since BlockStopSignals are not lost.
  static Result<StopSignals> Watch(std::function<void(int)> on_signal);
  StopSignals(StopSignals&& other) noexcept;
  StopSignals& operator=(StopSignals&&) = delete;
  ~StopSignals();

 private:
  StopSignals() = default;
  int signal_fd_ = -1;
  int end_fd_ = -1;
  std::thread thread_;
};

// What systemd is told (sd_notify(3)); does nothing when not started by it. Any thread.
class ServiceNotifier {
 public:
  void Ready(std::string_view status) const;
  void Stopping(std::string_view status) const;
  void Alive() const;
  // How often Alive has to be called; -1 when nobody watches.
  int64_t AliveIntervalMs() const;
};

// Soft limit of open files up to the hard one. Returns the limit that holds.
uint64_t RaiseOpenFileLimit();

}  // namespace kvpagefs
