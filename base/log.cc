#include "base/log.h"

#include <syslog.h>

#include <cstdlib>

#include <spdlog/logger.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/null_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/sinks/syslog_sink.h>

namespace kvpagefs {
namespace {

constexpr const char* kStampedPattern = "%Y-%m-%dT%H:%M:%S.%e%z %l %v";
constexpr const char* kJournalPattern = "%l %v";

spdlog::level::level_enum ToSpdlog(Log::Level level) {
  switch (level) {
    case Log::Level::kDebug: return spdlog::level::debug;
    case Log::Level::kInfo: return spdlog::level::info;
    case Log::Level::kWarning: return spdlog::level::warn;
    case Log::Level::kError: return spdlog::level::err;
    case Log::Level::kOff: return spdlog::level::off;
  }
  return spdlog::level::info;
}

std::shared_ptr<spdlog::logger> MakeLogger(spdlog::sink_ptr sink, Log::Level level, const char* pattern) {
  auto logger = std::make_shared<spdlog::logger>("kvpagefs", std::move(sink));
  logger->set_pattern(pattern);
  logger->set_level(ToSpdlog(level));
  logger->flush_on(spdlog::level::info);
  return logger;
}

}  // namespace

Log::Log(std::shared_ptr<spdlog::logger> logger) : logger_(std::move(logger)) {}

Log Log::ToStderr(Level level) {
  const char* pattern = std::getenv("JOURNAL_STREAM") != nullptr ? kJournalPattern : kStampedPattern;
  return Log(MakeLogger(std::make_shared<spdlog::sinks::stderr_sink_mt>(), level, pattern));
}

Result<Log> Log::ToFile(const std::string& path, Level level) {
  try {
    return Log(MakeLogger(std::make_shared<spdlog::sinks::basic_file_sink_mt>(path), level, kStampedPattern));
  } catch (const spdlog::spdlog_ex& e) {
    return kvpagefs::Error(ErrorCode::kUnavailable,
                           fmt::format("log file '{}' cannot be opened: {}; choose a writable path", path, e.what()));
  }
}

Log Log::ToSyslog(Level level) {
  // syslog adds time and level itself: the line goes without a pattern.
  constexpr bool kUsePattern = false;
  auto sink = std::make_shared<spdlog::sinks::syslog_sink_mt>("kvpagefs", LOG_PID, LOG_DAEMON, kUsePattern);
  return Log(MakeLogger(std::move(sink), level, kJournalPattern));
}

Log Log::Discard() {
  return Log(MakeLogger(std::make_shared<spdlog::sinks::null_sink_mt>(), Level::kOff, kJournalPattern));
}

Result<Log::Level> Log::ParseLevel(std::string_view word) {
  if (word == "debug") return Level::kDebug;
  if (word == "info") return Level::kInfo;
  if (word == "warning") return Level::kWarning;
  if (word == "error") return Level::kError;
  if (word == "off") return Level::kOff;
  return kvpagefs::Error(ErrorCode::kInvalid,
                         fmt::format("log level '{}' is not one of debug, info, warning, error, off", word));
}

bool Log::Enabled(Level level) const { return logger_->should_log(ToSpdlog(level)); }

void Log::Write(Level level, const std::string& line) const {
  logger_->log(ToSpdlog(level), spdlog::string_view_t(line));
}

}  // namespace kvpagefs
