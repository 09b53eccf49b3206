#include "fs/options_table.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "daemon/option_values.h"
#include "fs/machine.h"

namespace kvpagefs {
namespace {

constexpr uint64_t kKiB = 1024;
constexpr uint64_t kMiB = kKiB * 1024;
constexpr uint64_t kGiB = kMiB * 1024;
constexpr uint64_t kTiB = kGiB * 1024;
constexpr size_t kMaxNodeNameBytes = 64;
constexpr uint32_t kMaxThreads = 256;
constexpr uint32_t kMaxNetThreads = 64;
constexpr size_t kMaxPatternBytes = 255;

template <class T>
Status Store(Result<T> parsed, T* field) {
  if (!parsed.ok()) return parsed.error();
  *field = *std::move(parsed);
  return {};
}

Status StorePath(std::string_view text, std::string* field) {
  const bool has_control =
      std::any_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; });
  if (has_control || (!text.empty() && text.back() == ' ')) {
    return Error(ErrorCode::kInvalid,
                 fmt::format("path '{}' has a control character or ends in a blank: choose another path", text));
  }
  *field = AbsolutePath(text);
  return {};
}

Status StorePaths(std::string_view text, std::vector<std::string>* field) {
  field->clear();
  while (!text.empty()) {
    const size_t colon = text.find(':');
    std::string path;
    if (Status stored = StorePath(text.substr(0, colon), &path); !stored.ok()) return stored;
    if (path.empty() || std::find(field->begin(), field->end(), path) != field->end()) {
      return Error(ErrorCode::kInvalid,
                   fmt::format("'{}' is {} in the list: name each directory once, with ':' between them", path,
                               path.empty() ? "an empty path" : "twice"));
    }
    field->push_back(std::move(path));
    text.remove_prefix(colon == std::string_view::npos ? text.size() : colon + 1);
  }
  return {};
}

Status StoreNodeName(std::string_view text, std::string* field) {
  const bool good_letters = std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_';
  });
  if (text.empty() || text.size() > kMaxNodeNameBytes || !good_letters) {
    return Error(
        ErrorCode::kInvalid,
        fmt::format("'{}' is not a node name: use 1 to {} letters, digits, '.', '-' or '_'", text, kMaxNodeNameBytes));
  }
  *field = text;
  return {};
}

Status StorePattern(std::string_view text, std::string* field) {
  const bool has_control =
      std::any_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; });
  if (text.size() > kMaxPatternBytes || text.find('/') != std::string_view::npos || has_control) {
    return Error(ErrorCode::kInvalid,
                 fmt::format("'{}' is not a pattern for names: use at most {} bytes without '/', as in '*.tmp*'", text,
                             kMaxPatternBytes));
  }
  *field = text;
  return {};
}

Status StoreNetThreads(std::string_view text, uint32_t* field) {
  uint32_t threads = 0;
  if (Status stored = Store(ParseCount(text, kMaxNetThreads), &threads); !stored.ok()) return stored;
  if (threads == 0) {
    return Error(ErrorCode::kInvalid,
                 fmt::format("'{}' is not a number of threads: use 1 to {}", text, kMaxNetThreads));
  }
  *field = threads;
  return {};
}

template <class Enum>
Status StoreWord(std::string_view text, std::initializer_list<std::string_view> words, Enum* field) {
  const Result<size_t> index = ParseWord(text, words);
  if (!index.ok()) return index.error();
  *field = static_cast<Enum>(*index);
  return {};
}

std::string YesNo(bool value) { return value ? "yes" : "no"; }

using Kind = OptionRow::Kind;
using Text = std::string_view;

constexpr std::array kTable = {
    OptionRow{
        "memory", Kind::kValue, "SIZE", "an eighth of the machine's memory, from 256MiB to 4GiB",
        "size of the memory tier",
        [](Text text, Options* to) { return Store(ParseSizeIn(text, {4 * kMiB, 1024 * kTiB}), &to->memory_bytes); },
        [](const Options& from) { return ExactSize(from.memory_bytes); }},
    OptionRow{"memory-path", Kind::kValue, "PATH", "anonymous memory",
              "keep the memory tier in this file or DAX device, such as /dev/dax0.0",
              [](Text text, Options* to) { return StorePath(text, &to->memory_path); },
              [](const Options& from) { return from.memory_path; }},
    OptionRow{"huge-pages", Kind::kValue, "auto|on|off", "auto",
              "2 MiB pages for the memory tier: auto takes them when free",
              [](Text text, Options* to) { return StoreWord(text, {"auto", "on", "off"}, &to->huge_pages); },
              [](const Options& from) -> std::string {
                return from.huge_pages == HugePages::kAuto ? "auto" : from.huge_pages == HugePages::kOn ? "on" : "off";
              }},
    OptionRow{"prefault", Kind::kYesNo, "yes|no", "yes",
              "touch the whole memory tier in the background after the start",
              [](Text text, Options* to) { return Store(ParseYesNo(text), &to->prefault); },
              [](const Options& from) { return YesNo(from.prefault); }},
    OptionRow{"high-watermark", Kind::kValue, "PERCENT", "95",
              "eviction starts when this much of the memory tier is used",
              [](Text text, Options* to) { return Store(ParsePercent(text), &to->high_watermark); },
              [](const Options& from) { return ExactPercent(from.high_watermark); }},
    OptionRow{"low-watermark", Kind::kValue, "PERCENT", "90", "eviction stops when no more than this is used",
              [](Text text, Options* to) { return Store(ParsePercent(text), &to->low_watermark); },
              [](const Options& from) { return ExactPercent(from.low_watermark); }},
    OptionRow{"max-page", Kind::kValue, "SIZE", "256MiB", "largest page; a larger file is refused with EFBIG",
              [](Text text, Options* to) { return Store(ParseSizeIn(text, {4 * kKiB, kTiB}), &to->max_page_bytes); },
              [](const Options& from) { return ExactSize(from.max_page_bytes); }},
    OptionRow{"space-wait", Kind::kValue, "TIME", "500ms", "how long a write waits for pages in use before ENOSPC",
              [](Text text, Options* to) { return Store(ParseTime(text, {0, 999}), &to->space_wait_ms); },
              [](const Options& from) { return ExactTime(from.space_wait_ms); }},
    OptionRow{"ssd-dir", Kind::kValue, "DIR[:DIR...]", "none: memory only",
              "keep pages in these directories, each on a local SSD; needs --ssd",
              [](Text text, Options* to) { return StorePaths(text, &to->ssd_dirs); },
              [](const Options& from) { return fmt::format("{}", fmt::join(from.ssd_dirs, ":")); }},
    OptionRow{"ssd", Kind::kValue, "SIZE", "none", "disk space of the SSD tier, all directories together",
              [](Text text, Options* to) {
                to->ssd_bytes = 0;
                return text.empty() ? Status() : Store(ParseSizeIn(text, {kMiB, 1024 * kTiB}), &to->ssd_bytes);
              },
              [](const Options& from) { return from.ssd_bytes == 0 ? std::string() : ExactSize(from.ssd_bytes); }},
    OptionRow{"spill", Kind::kValue, "write-behind|on-evict|off", "write-behind",
              "when pages are written to SSD: soon after they are sealed, when memory runs short, or never",
              [](Text text, Options* to) { return StoreWord(text, {"write-behind", "on-evict", "off"}, &to->spill); },
              [](const Options& from) -> std::string {
                return from.spill == SpillMode::kWriteBehind ? "write-behind"
                       : from.spill == SpillMode::kOnEvict   ? "on-evict"
                                                             : "off";
              }},
    OptionRow{"open-timeout", Kind::kValue, "TIME", "2s",
              "how long an open waits for its page to come from SSD before it is a miss (ENOENT)",
              [](Text text, Options* to) { return Store(ParseTime(text, {1, 3'600'000}), &to->open_timeout_ms); },
              [](const Options& from) { return ExactTime(from.open_timeout_ms); }},
    OptionRow{"stop-timeout", Kind::kValue, "TIME", "60s",
              "how long a stop writes pages that are not on SSD yet before it leaves the rest",
              [](Text text, Options* to) { return Store(ParseTime(text, {0, 3'600'000}), &to->stop_timeout_ms); },
              [](const Options& from) { return ExactTime(from.stop_timeout_ms); }},
    OptionRow{
        "state-dir", Kind::kValue, "DIR", "with --ssd-dir its first directory's names/, else none: kept in memory only",
        "keep the names in this directory", [](Text text, Options* to) { return StorePath(text, &to->state_dir); },
        [](const Options& from) { return from.state_dir; }},
    OptionRow{"node-name", Kind::kValue, "NAME", "the host's name", "what this node is called in status and attributes",
              [](Text text, Options* to) { return StoreNodeName(text, &to->node_name); },
              [](const Options& from) { return from.node_name; }},
    OptionRow{"listen", Kind::kValue, "HOST:PORT", "127.0.0.1:0, any free port",
              "where other nodes reach this one's pages; beyond loopback --secret-file is needed",
              [](Text text, Options* to) { return Store(ParseAddress(text, 0), &to->listen); },
              [](const Options& from) { return from.listen.ToString(); }},
    OptionRow{"secret-file", Kind::kValue, "FILE", "none",
              "what all nodes and metadata daemons of a cluster know, in a file that nobody else can read",
              [](Text text, Options* to) { return StorePath(text, &to->secret_file); },
              [](const Options& from) { return from.secret_file; }},
    OptionRow{"temporary-names", Kind::kValue, "PATTERN", "*.tmp*",
              "in a cluster, files with such names are seen on their node only until they are renamed",
              [](Text text, Options* to) { return StorePattern(text, &to->temporary_names); },
              [](const Options& from) { return from.temporary_names; }},
    OptionRow{"net-threads", Kind::kValue, "N", "2", "threads for the network, in a cluster",
              [](Text text, Options* to) { return StoreNetThreads(text, &to->net_threads); },
              [](const Options& from) { return fmt::format("{}", from.net_threads); }},
    OptionRow{"attr-timeout", Kind::kValue, "TIME", "1s",
              "how long the kernel may answer stat from its cache; names it may keep 60 times as long, in a cluster "
              "just as long",
              [](Text text, Options* to) { return Store(ParseTime(text, {0, 3'600'000}), &to->attr_timeout_ms); },
              [](const Options& from) { return ExactTime(from.attr_timeout_ms); }},
    OptionRow{"readahead", Kind::kValue, "SIZE", "1MiB", "how far the kernel reads ahead through its page cache",
              [](Text text, Options* to) { return Store(ParseSizeIn(text, {0, 64 * kMiB}), &to->readahead_bytes); },
              [](const Options& from) { return ExactSize(from.readahead_bytes); }},
    OptionRow{"read-path", Kind::kValue, "auto|page-cache|direct", "auto", "how reads of sealed pages pass the kernel",
              [](Text text, Options* to) { return StoreWord(text, {"auto", "page-cache", "direct"}, &to->read_path); },
              [](const Options& from) -> std::string {
                return from.read_path == ReadPath::kAuto        ? "auto"
                       : from.read_path == ReadPath::kPageCache ? "page-cache"
                                                                : "direct";
              }},
    OptionRow{"threads", Kind::kValue, "N", "0: one a core, at least 2", "threads that answer the kernel",
              [](Text text, Options* to) { return Store(ParseCount(text, kMaxThreads), &to->threads); },
              [](const Options& from) { return fmt::format("{}", from.threads); }},
    OptionRow{"fsync-without-ssd", Kind::kValue, "success|eio", "success",
              "what fsync answers when there is no SSD tier",
              [](Text text, Options* to) { return StoreWord(text, {"success", "eio"}, &to->fsync_refuses); },
              [](const Options& from) -> std::string { return from.fsync_refuses ? "eio" : "success"; }},
    OptionRow{"allow-other", Kind::kFlag, "", "no", "let other users use the mount (also -o allow_other)",
              [](Text text, Options* to) { return Store(ParseYesNo(text), &to->allow_other); },
              [](const Options& from) { return YesNo(from.allow_other); }},
    OptionRow{"default-permissions", Kind::kFlag, "", "no",
              "enforce modes and owners between users (also -o default_permissions)",
              [](Text text, Options* to) { return Store(ParseYesNo(text), &to->default_permissions); },
              [](const Options& from) { return YesNo(from.default_permissions); }},
    OptionRow{"log-level", Kind::kValue, "debug|info|warning|error|off", "info", "least level that is logged",
              [](Text text, Options* to) { return Store(Log::ParseLevel(text), &to->log_level); },
              [](const Options& from) -> std::string {
                constexpr std::array kWords = {"debug", "info", "warning", "error", "off"};
                return kWords[static_cast<size_t>(from.log_level)];
              }},
    OptionRow{"log-file", Kind::kValue, "FILE", "standard error with -f, else syslog", "append the log to this file",
              [](Text text, Options* to) { return StorePath(text, &to->log_file); },
              [](const Options& from) { return from.log_file; }},
};

}  // namespace

std::span<const OptionRow> OptionTable() { return kTable; }

const OptionRow* FindOption(std::string_view name) {
  std::string spelled(name);
  std::replace(spelled.begin(), spelled.end(), '_', '-');
  const auto row = std::find_if(kTable.begin(), kTable.end(), [&](const OptionRow& r) { return r.name == spelled; });
  return row == kTable.end() ? nullptr : &*row;
}

std::string EnvironmentName(std::string_view option_name) {
  std::string name = "KVPAGEFS_";
  for (const char c : option_name) {
    name += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return name;
}

Options DefaultOptions() {
  Options options;
  options.memory_bytes = std::clamp(MachineMemoryBytes() / 8, 256 * kMiB, 4 * kGiB) / (2 * kMiB) * (2 * kMiB);
  options.node_name = HostName().substr(0, kMaxNodeNameBytes);
  return options;
}

namespace {

Status CheckSsd(const Options& options) {
  if (options.ssd_dirs.empty() != (options.ssd_bytes == 0)) {
    return Error(
        ErrorCode::kInvalid,
        options.ssd_bytes == 0
            ? fmt::format("ssd-dir '{}' has no size: say with --ssd how much of the disk it may take",
                          options.ssd_dirs.front())
            : fmt::format("ssd '{}' has no place: name a directory with --ssd-dir", ExactSize(options.ssd_bytes)));
  }
  return {};
}

Status CheckCluster(const Options& options) {
  if (options.meta_addresses.empty() || IsLoopback(options.listen) || !options.secret_file.empty()) return {};
  return Error(ErrorCode::kInvalid,
               fmt::format("listen '{}' can be reached from other machines: make a secret with 'openssl rand -hex 32', "
                           "give it to all nodes and daemons, and name its file with --secret-file",
                           options.listen.ToString()));
}

}  // namespace

Status CheckTogether(const Options& options) {
  if (options.low_watermark >= options.high_watermark) {
    return Error(ErrorCode::kInvalid,
                 fmt::format("low-watermark {} is not below high-watermark {}: choose a smaller --low-watermark",
                             ExactPercent(options.low_watermark), ExactPercent(options.high_watermark)));
  }
  const uint64_t machine_bytes = MachineMemoryBytes();
  if (options.memory_path.empty() && options.memory_bytes > machine_bytes) {
    return Error(ErrorCode::kInvalid,
                 fmt::format("memory '{}' is more than the machine has ({}MiB): choose a smaller --memory",
                             ExactSize(options.memory_bytes), machine_bytes / kMiB));
  }
  if (Status cluster = CheckCluster(options); !cluster.ok()) return cluster;
  return CheckSsd(options);
}

std::string AbsolutePath(std::string_view path) {
  if (path.empty()) return {};
  std::error_code error;
  std::string absolute = std::filesystem::absolute(path, error).string();
  // The current directory is gone: what follows fails with the path as it was given.
  if (error) absolute = path;
  while (absolute.size() > 1 && absolute.back() == '/') absolute.pop_back();
  return absolute;
}

}  // namespace kvpagefs
