#include "meta/kvpagemetad_options.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include <fmt/format.h>

#include "daemon/option_values.h"

namespace kvpagefs {
namespace {

using Text = std::string_view;

constexpr TimeRange kNodeTimeout{500, 600'000};
constexpr TimeRange kHeartbeat{50, 60'000};
constexpr std::array<Text, 5> kLevels = {"debug", "info", "warning", "error", "off"};

Status StorePath(Text text, std::string* field) {
  const bool has_control =
      std::any_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; });
  if (has_control || (!text.empty() && text.back() == ' ')) {
    return Error(ErrorCode::kInvalid,
                 fmt::format("path '{}' has a control character or ends in a blank: choose another path", text));
  }
  std::error_code ignored;
  *field = text.empty() ? std::string() : std::filesystem::absolute(text, ignored).lexically_normal().string();
  while (field->size() > 1 && field->back() == '/') field->pop_back();
  return {};
}

Status StoreTime(Text text, TimeRange range, int64_t* field) {
  const Result<int64_t> time = ParseTime(text, range);
  if (!time.ok()) return time.error();
  *field = *time;
  return {};
}

Status StoreLevel(Text text, Log::Level* field) {
  const Result<Log::Level> level = Log::ParseLevel(text);
  if (!level.ok()) return level.error();
  *field = *level;
  return {};
}

Status StoreListen(Text text, std::string* field) {
  if (text.empty()) return Error(ErrorCode::kInvalid, "an address is needed: write HOST:PORT, such as 10.0.0.1:7700");
  *field = text;
  return {};
}

std::vector<ProgramOption> Options(MetadOptions* to) {
  return {
      ProgramOption{"listen", "HOST:PORT", "127.0.0.1:7700",
                    "where nodes find this daemon; beyond this host: needs a secret",
                    [to](Text text) { return StoreListen(text, &to->listen); }, [to] { return to->listen; }},
      ProgramOption{"state-dir", "DIR", "none, memory only", "keep names in this directory",
                    [to](Text text) { return StorePath(text, &to->state_dir); }, [to] { return to->state_dir; }},
      ProgramOption{"secret-file", "FILE", "none", "the secret that all processes of the cluster share",
                    [to](Text text) { return StorePath(text, &to->secret_file); }, [to] { return to->secret_file; }},
      ProgramOption{"node-timeout", "TIME", "5s", "a node without a word for so long is down",
                    [to](Text text) { return StoreTime(text, kNodeTimeout, &to->node_timeout_ms); },
                    [to] { return ExactTime(to->node_timeout_ms); }},
      ProgramOption{"heartbeat", "TIME", "1s", "how often a node has to say that it is there",
                    [to](Text text) { return StoreTime(text, kHeartbeat, &to->heartbeat_ms); },
                    [to] { return ExactTime(to->heartbeat_ms); }},
      ProgramOption{"log-level", "LEVEL", "info", "debug, info, warning, error or off",
                    [to](Text text) { return StoreLevel(text, &to->log_level); },
                    [to] { return std::string(kLevels[static_cast<size_t>(to->log_level)]); }},
      ProgramOption{"log-file", "FILE", "standard error with -f, else syslog", "append the log to this file",
                    [to](Text text) { return StorePath(text, &to->log_file); }, [to] { return to->log_file; }},
  };
}

}  // namespace

ProgramDescription DescribeMetad(MetadOptions* options) {
  return {.name = "kvpagemetad",
          .prefix = "KVPAGEMETAD_",
          .version = KVPAGEFS_VERSION,
          .summary = "Keeps the names of a kvpagefs cluster and knows which node has which page.",
          .options = Options(options)};
}

Status CheckTogether(const MetadOptions& options) {
  if (options.heartbeat_ms * 3 > options.node_timeout_ms) {
    return Error(ErrorCode::kInvalid,
                 fmt::format("--heartbeat {} is too long for --node-timeout {}: make it at most a third of it",
                             ExactTime(options.heartbeat_ms), ExactTime(options.node_timeout_ms)));
  }
  return {};
}

}  // namespace kvpagefs
