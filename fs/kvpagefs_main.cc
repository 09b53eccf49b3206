// The node daemon's program: options, process, node, session, in this order; then it waits for the end.
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/log.h"
#include "base/size.h"
#include "daemon/background.h"
#include "fs/mount_point.h"
#include "fs/node.h"
#include "fs/options.h"
#include "fs/session.h"

namespace kvpagefs {
namespace {

constexpr int kSuccess = 0;
constexpr int kFailure = 1;
constexpr int kUsage = 2;
// The kernel answers the handshake at once; a machine under load gets time.
constexpr int64_t kStartDeadlineMs = 30'000;

Result<Log> OpenLog(const Options& options) {
  if (!options.log_file.empty()) return Log::ToFile(options.log_file, options.log_level);
  return options.foreground ? Log::ToStderr(options.log_level) : Log::ToSyslog(options.log_level);
}

// Until the mount has ended, by a signal or by somebody's umount.
Status Serve(const Options& options, Session* session, const Log& log, StartReport* report) {
  const ServiceNotifier notifier;
  const auto signals = StopSignals::Watch([&](int signal) {
    log.Info("signal {}: unmounting {}", signal, options.mount_point);
    notifier.Stopping("unmounting");
    session->Stop();
  });
  if (!signals.ok()) return signals.error();
  if (!session->WaitUntilReady(kStartDeadlineMs)) {
    return Error(
        ErrorCode::kUnavailable,
        fmt::format("mount at '{}' did not become ready: run with -d to see the requests", options.mount_point));
  }
  const std::string status = fmt::format("{} mounted, {} of memory, reads by {}", options.mount_point,
                                         FormatSize(options.memory_bytes), session->DescribeReadPath());
  log.Info("{}", status);
  notifier.Ready(status);
  report->Ready();
  while (!session->WaitUntilEnded(notifier.AliveIntervalMs())) notifier.Alive();
  notifier.Stopping("stopped");
  log.Info("{} ended", options.mount_point);
  return {};
}

Status Run(Options options, StartReport* report) {
  BlockStopSignals();
  const uint64_t open_files = RaiseOpenFileLimit();
  if (Status paths = CheckOwnPaths(options); !paths.ok()) return paths;
  Result<Log> log = OpenLog(options);
  if (!log.ok()) return log.error();
  log->Debug("up to {} open files", open_files);
  Result<std::string> mount_point = PrepareMountPoint(options, SystemMounts(), *log);
  if (!mount_point.ok()) return mount_point.error();
  options.mount_point = *mount_point;
  auto node = Node::Create(options, *log);
  if (!node.ok()) return node.error();
  auto session = Session::Start(options, node->get(), *log);
  if (!session.ok()) return session.error();
  return Serve(options, session->get(), *log, report);
}

int RunDaemon(const Options& options, StartReport report) {
  const Status ran = Run(options, &report);
  if (ran.ok()) return kSuccess;
  report.Failed({kFailure, ran.error().Describe()});
  return kFailure;
}

int Start(const Options& options) {
  if (options.foreground) return RunDaemon(options, StartReport());
  Result<Forked> forked = ForkToBackground(fmt::format("mount point '{}'", options.mount_point), kStartDeadlineMs);
  if (!forked.ok()) {
    StartReport().Failed({kFailure, forked.error().Describe()});
    return kFailure;
  }
  if (!forked->is_parent) return RunDaemon(options, std::move(forked->report));
  if (forked->outcome.exit_status != kSuccess) StartReport().Failed(forked->outcome);
  return forked->outcome.exit_status;
}

int Main(int argc, const char* const* argv, const char* const* environment) {
  KeepStandardStreams();
  const Result<ParsedOptions> parsed = ParseOptions(argc, argv, environment);
  if (!parsed.ok()) {
    StartReport().Failed({kUsage, parsed.error().Describe()});
    return kUsage;
  }
  switch (parsed->action) {
    case ParsedOptions::Action::kHelp: fmt::print("{}", HelpText()); return kSuccess;
    case ParsedOptions::Action::kVersion: fmt::print("kvpagefs {}\n", KVPAGEFS_VERSION); return kSuccess;
    case ParsedOptions::Action::kPrintConfig: fmt::print("{}", ConfigText(parsed->options)); return kSuccess;
    case ParsedOptions::Action::kRun: return Start(parsed->options);
  }
  return kFailure;
}

}  // namespace
}  // namespace kvpagefs

int main(int argc, char** argv, char** environment) { return kvpagefs::Main(argc, argv, environment); }
