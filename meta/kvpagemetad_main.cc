// The metadata daemon's program: options, process, server, network, in this order; then it waits for the end.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mutex.h"
#include "daemon/background.h"
#include "daemon/secret_file.h"
#include "meta/kvpagemetad_options.h"
#include "meta/meta_server.h"
#include "meta/wire.h"
#include "net/address.h"
#include "net/net_threads.h"
#include "net/rpc.h"

namespace kvpagefs {
namespace {

constexpr int kSuccess = 0;
constexpr int kFailure = 1;
constexpr int kUsage = 2;
// Reading the names takes a second a million or so.
constexpr int64_t kStartDeadlineMs = 300'000;
constexpr size_t kMaxNetThreads = 4;
constexpr std::string_view kProgram = "kvpagemetad";

// Until told to stop.
class Stop {
 public:
  void Now() {
    MutexLock lock(mutex_);
    stopped_ = true;
    changed_.NotifyAll();
  }
  // True when it is time; below zero there is no limit.
  bool WaitFor(int64_t ms) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(ms);
    MutexLock lock(mutex_);
    while (!stopped_) {
      const auto left = ms < 0 ? std::chrono::nanoseconds(std::chrono::hours(1))
                               : std::chrono::nanoseconds(deadline - std::chrono::steady_clock::now());
      if (left.count() <= 0) return false;
      changed_.WaitFor(mutex_, left);
    }
    return true;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  bool stopped_ KVP_GUARDED_BY(mutex_) = false;
};

// Calls MetaServer::Tick on the threads of the network until stopped.
class Ticker : public std::enable_shared_from_this<Ticker> {
 public:
  Ticker(MetaServer* server, NetThreads* threads) : server_(server), threads_(threads) {}

  void Start(int64_t delay_ms) {
    threads_->After(delay_ms, [self = shared_from_this()] { self->Run(); });
  }
  // No tick is under way afterwards, and none comes.
  void End() {
    MutexLock lock(mutex_);
    ended_ = true;
  }
  uint64_t ticks() const {
    MutexLock lock(mutex_);
    return ticks_;
  }

 private:
  void Run() {
    int64_t delay_ms = 0;
    {
      MutexLock lock(mutex_);
      if (ended_) return;
      delay_ms = server_->Tick();
      ++ticks_;
    }
    Start(delay_ms);
  }

  MetaServer* const server_;
  NetThreads* const threads_;
  mutable Mutex mutex_;
  bool ended_ KVP_GUARDED_BY(mutex_) = false;
  uint64_t ticks_ KVP_GUARDED_BY(mutex_) = 0;
};

Result<Log> OpenLog(const MetadOptions& options, bool foreground) {
  if (!options.log_file.empty()) return Log::ToFile(options.log_file, options.log_level);
  return foreground ? Log::ToStderr(options.log_level) : Log::ToSyslog(options.log_level);
}

Result<RpcServer::Options> ServerOptions(const MetadOptions& options) {
  RpcServer::Options server;
  const Result<Address> address = ParseAddress(options.listen, kDefaultMetaPort);
  if (!address.ok()) return Error(address.code(), "--listen: " + address.error().Describe());
  server.listen = *address;
  server.identity.service = "meta";
  if (!options.secret_file.empty()) {
    Result<std::string> secret = ReadSecretFile(options.secret_file);
    if (!secret.ok()) return secret.error();
    server.identity.secret = *std::move(secret);
  } else if (!IsLoopback(server.listen)) {
    return Error(
        ErrorCode::kInvalid,
        fmt::format("--listen {}: whoever reaches this address could change everything: give --secret-file, or "
                    "listen on 127.0.0.1",
                    options.listen));
  }
  return server;
}

// Until a signal.
Status Serve(const Ticker& ticker, const std::string& status, const Log& log, StartReport* report) {
  const ServiceNotifier notifier;
  Stop stop;
  const auto signals = StopSignals::Watch([&](int signal) {
    log.Info("signal {}: stopping", signal);
    notifier.Stopping("stopping");
    stop.Now();
  });
  if (!signals.ok()) return signals.error();
  log.Info("{}", status);
  notifier.Ready(status);
  report->Ready();
  uint64_t ticks = 0;
  while (!stop.WaitFor(notifier.AliveIntervalMs())) {
    // A server that stands still is not alive.
    if (std::exchange(ticks, ticker.ticks()) != ticks) notifier.Alive();
  }
  return {};
}

Status Run(const MetadOptions& options, bool foreground, StartReport* report) {
  BlockStopSignals();
  const uint64_t open_files = RaiseOpenFileLimit();
  const Result<Log> log = OpenLog(options, foreground);
  if (!log.ok()) return log.error();
  log->Debug("up to {} open files", open_files);
  const auto server_options = ServerOptions(options);
  if (!server_options.ok()) return server_options.error();

  const SystemClock clock;
  MetaServer::Options meta_options;
  meta_options.state_dir = options.state_dir;
  meta_options.root_owner = {geteuid(), getegid(), 0755};
  meta_options.heartbeat_ms = options.heartbeat_ms;
  meta_options.timeout_ms = options.node_timeout_ms;
  const auto meta = MetaServer::Open(meta_options, &clock, *log);
  if (!meta.ok()) return meta.error();
  NetThreads threads(std::clamp<size_t>(std::thread::hardware_concurrency(), 1, kMaxNetThreads));
  auto ticker = std::make_shared<Ticker>(meta->get(), &threads);
  auto server = RpcServer::Listen(&threads, *server_options, meta->get(), *log);
  if (!server.ok()) return server.error();
  ticker->Start(0);
  const MetaServer::Stats stats = (*meta)->GetStats();
  const Status served = Serve(*ticker,
                              fmt::format("listening on {}, {} pages in {} directories",
                                          (*server)->address().ToString(), stats.names.pages, stats.names.directories),
                              *log, report);
  ticker->End();
  server->reset();
  log->Info("stopped");
  return served;
}

StartOutcome Failure(int status, const Error& error) { return {status, error.Describe(), kProgram}; }

int RunDaemon(const MetadOptions& options, bool foreground, StartReport report) {
  const Status ran = Run(options, foreground, &report);
  if (ran.ok()) return kSuccess;
  report.Failed(Failure(kFailure, ran.error()));
  return kFailure;
}

int Start(const MetadOptions& options, bool foreground) {
  if (foreground) return RunDaemon(options, foreground, StartReport());
  Result<Forked> forked = ForkToBackground(fmt::format("the daemon at {}", options.listen), kStartDeadlineMs);
  if (!forked.ok()) {
    StartReport().Failed(Failure(kFailure, forked.error()));
    return kFailure;
  }
  if (!forked->is_parent) return RunDaemon(options, foreground, std::move(forked->report));
  forked->outcome.program = kProgram;
  if (forked->outcome.exit_status != kSuccess) StartReport().Failed(forked->outcome);
  return forked->outcome.exit_status;
}

int Main(int argc, const char* const* argv, const char* const* environment) {
  KeepStandardStreams();
  MetadOptions options;
  const ProgramDescription program = DescribeMetad(&options);
  const Result<ProgramCall> call = ParseProgramOptions(program, argc, argv, environment);
  if (!call.ok()) {
    StartReport().Failed(Failure(kUsage, call.error()));
    return kUsage;
  }
  if (call->action == ProgramAction::kHelp) {
    fmt::print("{}", ProgramHelp(program));
    return kSuccess;
  }
  if (call->action == ProgramAction::kVersion) {
    fmt::print("{} {}\n", kProgram, program.version);
    return kSuccess;
  }
  if (const Status checked = CheckTogether(options); !checked.ok()) {
    StartReport().Failed(Failure(kUsage, checked.error()));
    return kUsage;
  }
  if (call->action == ProgramAction::kPrintConfig) {
    fmt::print("{}", ProgramConfig(program));
    return kSuccess;
  }
  return Start(options, call->foreground);
}

}  // namespace
}  // namespace kvpagefs

int main(int argc, char** argv, char** environment) { return kvpagefs::Main(argc, argv, environment); }
