// Everything a node daemon can be told, from the command line, `-o`, a file and the environment.
//
// Precedence: command line (and -o), then KVPAGEFS_* variables, then the --config file, then defaults. One table
// (options_table.cc) defines every option once: its name, its default, its text, its check.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "net/address.h"
#include "spill/segment.h"

namespace kvpagefs {

// Which way reads of a sealed page take through the kernel (docs/DECISIONS.md).
enum class ReadPath : uint8_t {
  kAuto,       // chosen per open from what kernel and libfuse offer
  kPageCache,  // always through the kernel's page cache
  kDirect,     // always direct I/O (mapping needs kernel 6.6 and libfuse 3.17)
};

// When pages are written to SSD.
enum class SpillMode : uint8_t {
  kWriteBehind,  // soon after they are sealed
  kOnEvict,      // when memory runs short
  kOff,          // never; what is on SSD is read
};

struct Options {
  // Where.
  std::string source;       // "standalone", or empty, which means the same, or addresses of metadata daemons
  std::string mount_point;  // absolute
  bool foreground = false;  // -f
  bool debug = false;       // -d: foreground, every FUSE request on standard error
  bool allow_other = false;
  bool default_permissions = false;

  // Memory tier.
  uint64_t memory_bytes = 0;  // default: an eighth of the machine's memory, between 256 MiB and 4 GiB
  std::string memory_path;    // empty: memfd
  HugePages huge_pages = HugePages::kAuto;
  bool prefault = true;          // touch the segment in the background at start
  double high_watermark = 0.95;  // share of the segment
  double low_watermark = 0.90;
  uint64_t max_page_bytes = uint64_t{256} << 20;
  int64_t space_wait_ms = 500;  // how long a write waits for held pages before ENOSPC; below 1000

  // SSD tier.
  std::vector<std::string> ssd_dirs;  // absolute; empty: no SSD tier
  uint64_t ssd_bytes = 0;             // of all of them together
  SpillMode spill = SpillMode::kWriteBehind;
  int64_t open_timeout_ms = 2000;    // how long an open waits for its page to come from SSD
  int64_t stop_timeout_ms = 60'000;  // how long a stop writes what is not on SSD yet

  // Names.
  std::string state_dir;  // empty: nothing is persisted
  std::string node_name;  // default: the host's name

  // Cluster.
  std::vector<Address> meta_addresses;  // of `source`; empty: standalone
  Address listen{"127.0.0.1", 0};       // of the page server; port 0: any free one
  std::string secret_file;              // empty: no secret
  std::string temporary_names = "*.tmp*";
  uint32_t net_threads = 2;

  // Kernel.
  int64_t attr_timeout_ms =
      1000;  // how long the kernel may answer from its attribute cache; names: 60 times as long, in a cluster as long
  uint64_t readahead_bytes = uint64_t{1} << 20;
  ReadPath read_path = ReadPath::kAuto;
  uint32_t threads = 0;  // FUSE workers; 0: one a core, at least 2

  bool fsync_refuses = false;  // --fsync-without-ssd=eio

  Log::Level log_level = Log::Level::kInfo;
  std::string log_file;  // empty: standard error with -f, else syslog
};

struct ParsedOptions {
  enum class Action : uint8_t { kRun, kHelp, kVersion, kPrintConfig };
  Action action = Action::kRun;
  Options options;
};

// `environment`: "NAME=value" strings, null-terminated list as in main. kInvalid with one line that names the input
// and the remedy.
Result<ParsedOptions> ParseOptions(int argc, const char* const* argv, const char* const* environment);

// The text of --help.
std::string HelpText();

// The effective configuration, in the syntax of a --config file: what --print-config prints and /.kvpagefs/config
// holds.
std::string ConfigText(const Options& options);

}  // namespace kvpagefs
