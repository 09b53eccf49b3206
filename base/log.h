// The program's log: one logger object, handed down, never a global. Any thread.
//
// A line is written once, where the decision is taken. Levels: error (an operator must act), warning (degraded),
// info (state changes), debug.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/result.h"

namespace spdlog {
class logger;
}

namespace kvpagefs {

class Log {
 public:
  enum class Level { kDebug, kInfo, kWarning, kError, kOff };

  // To standard error, with time stamps unless systemd's journal reads it.
  static Log ToStderr(Level level);
  // Appends to a file. kUnavailable or kNotPermitted names the path.
  static Result<Log> ToFile(const std::string& path, Level level);
  // To syslog(3), facility daemon, under the program's name. One per process, as syslog's connection is.
  static Log ToSyslog(Level level);
  static Log Discard();

  static Result<Level> ParseLevel(std::string_view word);

  template <class... Args>
  void Debug(fmt::format_string<Args...> format, Args&&... args) const {
    if (Enabled(Level::kDebug)) Write(Level::kDebug, fmt::format(format, std::forward<Args>(args)...));
  }
  template <class... Args>
  void Info(fmt::format_string<Args...> format, Args&&... args) const {
    if (Enabled(Level::kInfo)) Write(Level::kInfo, fmt::format(format, std::forward<Args>(args)...));
  }
  template <class... Args>
  void Warning(fmt::format_string<Args...> format, Args&&... args) const {
    if (Enabled(Level::kWarning)) Write(Level::kWarning, fmt::format(format, std::forward<Args>(args)...));
  }
  template <class... Args>
  void Error(fmt::format_string<Args...> format, Args&&... args) const {
    if (Enabled(Level::kError)) Write(Level::kError, fmt::format(format, std::forward<Args>(args)...));
  }

  bool Enabled(Level level) const;

 private:
  explicit Log(std::shared_ptr<spdlog::logger> logger);
  void Write(Level level, const std::string& line) const;

  std::shared_ptr<spdlog::logger> logger_;
};

}  // namespace kvpagefs
