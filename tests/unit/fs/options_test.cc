#include "fs/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "fs/options_table.h"

namespace kvpagefs {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Words = std::vector<std::string>;

std::vector<const char*> Pointers(const Words& words) {
  std::vector<const char*> pointers;
  for (const std::string& word : words) pointers.push_back(word.c_str());
  pointers.push_back(nullptr);
  return pointers;
}

Result<ParsedOptions> Parse(Words words, const Words& environment = {}) {
  words.insert(words.begin(), "kvpagefs");
  return ParseOptions(static_cast<int>(words.size()), Pointers(words).data(), Pointers(environment).data());
}

Options Good(const Words& words, const Words& environment = {}) {
  const auto parsed = Parse(words, environment);
  EXPECT_TRUE(parsed.ok()) << parsed.error().text();
  return parsed.ok() ? parsed->options : Options();
}

std::string Bad(const Words& words, const Words& environment = {}) {
  const auto parsed = Parse(words, environment);
  if (parsed.ok()) return "was accepted";
  EXPECT_EQ(parsed.code(), ErrorCode::kInvalid);
  EXPECT_THAT(parsed.error().text(), Not(HasSubstr("\n")));
  return parsed.error().text();
}

class ConfigFile {
 public:
  explicit ConfigFile(const std::string& text) { std::ofstream(path_) << text; }
  ~ConfigFile() { std::filesystem::remove(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_ = ::testing::TempDir() + "kvpagefs_options_test." + std::to_string(getpid());
};

TEST(Options, DefaultsHoldWithoutAnyOption) {
  const Options options = Good({"/mnt/kv"});
  EXPECT_EQ(options.mount_point, "/mnt/kv");
  EXPECT_EQ(options.source, "");
  EXPECT_GE(options.memory_bytes, uint64_t{256} << 20);
  EXPECT_LE(options.memory_bytes, uint64_t{4} << 30);
  EXPECT_FALSE(options.node_name.empty());
  EXPECT_FALSE(options.foreground || options.debug || options.allow_other || options.default_permissions);
  EXPECT_EQ(options.attr_timeout_ms, 1000);
}

TEST(Options, EveryValueArrives) {
  const Options o = Good({"standalone",
                          "/mnt/kv",
                          "--memory",
                          "64M",
                          "--memory-path=/dev/dax0.0",
                          "--huge-pages",
                          "on",
                          "--prefault",
                          "no",
                          "--high-watermark",
                          "80%",
                          "--low-watermark",
                          "7.5",
                          "--max-page",
                          "8MiB",
                          "--space-wait",
                          "0.25s",
                          "--state-dir",
                          "/var/lib/kv",
                          "--node-name",
                          "a-1.b_c",
                          "--attr-timeout",
                          "20ms",
                          "--readahead",
                          "0",
                          "--read-path",
                          "direct",
                          "--threads",
                          "3",
                          "--fsync-without-ssd",
                          "eio",
                          "--log-level",
                          "off",
                          "--log-file",
                          "/var/log/kv",
                          "--allow-other",
                          "--default-permissions",
                          "-f"});
  EXPECT_EQ(o.source, "standalone");
  EXPECT_EQ(o.memory_bytes, uint64_t{64} << 20);
  EXPECT_EQ(o.memory_path, "/dev/dax0.0");
  EXPECT_EQ(o.huge_pages, HugePages::kOn);
  EXPECT_FALSE(o.prefault);
  EXPECT_DOUBLE_EQ(o.high_watermark, 0.8);
  EXPECT_DOUBLE_EQ(o.low_watermark, 0.075);
  EXPECT_EQ(o.max_page_bytes, uint64_t{8} << 20);
  EXPECT_EQ(o.space_wait_ms, 250);
  EXPECT_EQ(o.state_dir, "/var/lib/kv");
  EXPECT_EQ(o.node_name, "a-1.b_c");
  EXPECT_EQ(o.attr_timeout_ms, 20);
  EXPECT_EQ(o.readahead_bytes, 0u);
  EXPECT_EQ(o.read_path, ReadPath::kDirect);
  EXPECT_EQ(o.threads, 3u);
  EXPECT_TRUE(o.fsync_refuses && o.allow_other && o.default_permissions && o.foreground);
  EXPECT_EQ(o.log_level, Log::Level::kOff);
  EXPECT_EQ(o.log_file, "/var/log/kv");
}

TEST(Options, MountOptionsAreLongOptions) {
  const Options o =
      Good({"standalone", "/mnt/kv", "-o", "rw,noauto,user,nofail,_netdev,x-systemd.automount,nodev,relatime",
            "-omemory=32M,allow_other,max_page=1M", "-o", "default-permissions,prefault,state-dir=/a\\,b"});
  EXPECT_EQ(o.memory_bytes, uint64_t{32} << 20);
  EXPECT_EQ(o.max_page_bytes, uint64_t{1} << 20);
  EXPECT_TRUE(o.allow_other && o.default_permissions && o.prefault);
  EXPECT_EQ(o.state_dir, "/a,b");
  EXPECT_FALSE(Good({"/mnt/kv", "-o", "prefault=no"}).prefault);
}

TEST(Options, MountOptionErrorsNameTheOption) {
  EXPECT_THAT(Bad({"/mnt/kv", "-o", "rw,ro"}), HasSubstr("always writable"));
  EXPECT_THAT(Bad({"/mnt/kv", "-o", "rw,memroy=4G"}), HasSubstr("'memroy'"));
  EXPECT_THAT(Bad({"/mnt/kv", "-o", "memory"}), HasSubstr("memory=SIZE"));
  EXPECT_THAT(Bad({"/mnt/kv", "-o", "memory=4X"}), HasSubstr("-o memory: size '4X'"));
  EXPECT_THAT(Bad({"/mnt/kv", "-o", "help"}), HasSubstr("'help'"));
}

TEST(Options, PathsBecomeAbsolute) {
  const std::string here = std::filesystem::current_path().string();
  const Options o = Good({"mnt//", "--state-dir", "state", "--log-file", "log", "--memory-path", "pool"});
  EXPECT_EQ(o.mount_point, here + "/mnt");
  EXPECT_EQ(o.state_dir, here + "/state");
  EXPECT_EQ(o.log_file, here + "/log");
  EXPECT_EQ(o.memory_path, here + "/pool");
  EXPECT_EQ(Good({"/"}).mount_point, "/");
}

TEST(Options, ActionsNeedNoMountPoint) {
  EXPECT_EQ(Parse({"--help"})->action, ParsedOptions::Action::kHelp);
  EXPECT_EQ(Parse({"-h", "-V"})->action, ParsedOptions::Action::kHelp);
  EXPECT_EQ(Parse({"-V"})->action, ParsedOptions::Action::kVersion);
  EXPECT_EQ(Parse({"--print-config"})->action, ParsedOptions::Action::kPrintConfig);
  EXPECT_EQ(Parse({"/mnt/kv"})->action, ParsedOptions::Action::kRun);
  // A broken environment must not keep anybody from the help text.
  EXPECT_TRUE(Parse({"--help"}, {"KVPAGEFS_MEMORY=4X"}).ok());
}

TEST(Options, ASourceIsTheAddressesOfMetadataDaemons) {
  const Options o = Good({"kv1:7700,[::1]", "/mnt/kv", "--listen", "10.0.0.2:7710", "--secret-file", "/etc/secret"});
  ASSERT_EQ(o.meta_addresses.size(), 2u);
  EXPECT_EQ(o.meta_addresses[0].ToString(), "kv1:7700");
  EXPECT_EQ(o.meta_addresses[1].ToString(), "[::1]:7700");
  EXPECT_EQ(o.listen.ToString(), "10.0.0.2:7710");
  EXPECT_TRUE(Good({"standalone", "/mnt/kv"}).meta_addresses.empty());
  // The daemon keeps the names.
  EXPECT_EQ(Good({"kv1", "/mnt/kv", "--ssd-dir", "/ssd", "--ssd", "1GiB"}).state_dir, "");
}

TEST(Options, DebugImpliesForeground) {
  const Options o = Good({"-d", "/mnt/kv"});
  EXPECT_TRUE(o.debug && o.foreground);
}

TEST(Options, UsageErrorsNameInputAndRemedy) {
  EXPECT_THAT(Bad({}), HasSubstr("no mount point"));
  EXPECT_THAT(Bad({"a", "b", "c"}), HasSubstr("'c'"));
  EXPECT_THAT(Bad({"10.0.0.1:port", "/mnt/kv"}), HasSubstr("10.0.0.1:port"));
  EXPECT_THAT(Bad({"10.0.0.1:port", "/mnt/kv"}), HasSubstr("standalone"));
  EXPECT_THAT(Bad({"10.0.0.1:7700", "/mnt/kv", "--listen", "10.0.0.2:7710"}), HasSubstr("--secret-file"));
  EXPECT_THAT(Bad({"/mnt/kv", "--net-threads", "0"}), HasSubstr("'0'"));
  EXPECT_THAT(Bad({"/mnt/kv", "--temporary-names", "a/*"}), HasSubstr("'a/*'"));
  EXPECT_THAT(Bad({"--memroy", "4G", "/mnt/kv"}), HasSubstr("'--memroy'"));
  EXPECT_THAT(Bad({"--memroy", "4G", "/mnt/kv"}), HasSubstr("--help"));
  EXPECT_THAT(Bad({"--mem", "4G", "/mnt/kv"}), HasSubstr("'--mem'"));  // no abbreviations
  EXPECT_THAT(Bad({"-x", "/mnt/kv"}), HasSubstr("'-x'"));
  EXPECT_THAT(Bad({"/mnt/kv", "--memory"}), HasSubstr("needs a value"));
  EXPECT_THAT(Bad({"/mnt/kv", "--allow-other=no"}), HasSubstr("takes no value"));
  EXPECT_THAT(Bad({""}), HasSubstr("empty"));
}

TEST(Options, BadValuesNameOptionValueAndWhatWouldBeRight) {
  const std::vector<std::array<std::string, 3>> cases = {
      {"--memory", "4X", "4GiB"},        {"--memory", "1M", "4MiB"},         {"--memory", "1000T", "smaller"},
      {"--huge-pages", "yes", "auto"},   {"--prefault", "maybe", "yes"},     {"--high-watermark", "101", "100"},
      {"--low-watermark", "0.5", "1"},   {"--max-page", "1K", "4KiB"},       {"--space-wait", "1s", "999ms"},
      {"--space-wait", "500", "500ms"},  {"--node-name", "a b", "letters"},  {"--attr-timeout", "-1s", "500ms"},
      {"--readahead", "1G", "64MiB"},    {"--read-path", "fast", "direct"},  {"--threads", "1.5", "whole number"},
      {"--threads", "257", "256"},       {"--fsync-without-ssd", "", "eio"}, {"--log-level", "loud", "warning"},
      {"--state-dir", "a\nb", "choose"}, {"--attr-timeout", "1h", "500ms"},
  };
  for (const auto& [option, value, right] : cases) {
    const std::string text = Bad({"/mnt/kv", option + "=" + value});
    EXPECT_NE(text, "was accepted") << option << value;
    if (value.empty() || value == "a\nb") continue;
    EXPECT_THAT(text, HasSubstr(option.substr(2)));
    EXPECT_THAT(text, HasSubstr(value == "1000T" ? "1000TiB" : value));
    EXPECT_THAT(text, HasSubstr(right)) << option;
  }
}

TEST(Options, WatermarksKeepTheirOrder) {
  EXPECT_THAT(Bad({"/mnt/kv", "--high-watermark", "90"}), HasSubstr("low-watermark 90 is not below high-watermark 90"));
  EXPECT_TRUE(Parse({"/mnt/kv", "--high-watermark", "90", "--low-watermark", "89.9"}).ok());
}

TEST(Options, PrecedenceIsCommandLineEnvironmentFileDefault) {
  const ConfigFile file("threads = 1\nmax-page = 1MiB\nreadahead = 1KiB\n");
  const Words environment = {"KVPAGEFS_THREADS=2", "KVPAGEFS_MAX_PAGE=2MiB", "KVPAGEFS_CONFIG=" + file.path(),
                             "OTHER=1"};
  const Options o = Good({"/mnt/kv", "--threads", "3"}, environment);
  EXPECT_EQ(o.threads, 3u);
  EXPECT_EQ(o.max_page_bytes, uint64_t{2} << 20);
  EXPECT_EQ(o.readahead_bytes, 1024u);
  EXPECT_EQ(o.space_wait_ms, 500);
  // On the command line the last one wins, -o included.
  EXPECT_EQ(Good({"/mnt/kv", "--threads", "3", "-o", "threads=4"}).threads, 4u);
  EXPECT_EQ(Good({"/mnt/kv", "-o", "threads=4", "--threads", "3"}).threads, 3u);
}

TEST(Options, EnvironmentErrorsNameTheVariable) {
  EXPECT_THAT(Bad({"/mnt/kv"}, {"KVPAGEFS_MEMORY=4X"}), HasSubstr("KVPAGEFS_MEMORY: size '4X'"));
  EXPECT_TRUE(Parse({"/mnt/kv"}, {"KVPAGEFS_MEMORY="}).ok());
  EXPECT_TRUE(Good({"/mnt/kv"}, {"KVPAGEFS_ALLOW_OTHER=yes"}).allow_other);
}

TEST(Options, EveryOptionHasItsVariableAndItsMountOption) {
  for (const OptionRow& row : OptionTable()) {
    const std::string bad = row.kind == OptionRow::Kind::kValue ? "\n" : "maybe";
    EXPECT_NE(Bad({"/mnt/kv"}, {EnvironmentName(row.name) + "=" + bad}), "was accepted") << row.name;
    EXPECT_NE(Bad({"/mnt/kv", "-o", std::string(row.name) + "=" + bad}), "was accepted") << row.name;
    EXPECT_THAT(HelpText(), HasSubstr("--" + std::string(row.name)));
    EXPECT_THAT(HelpText(), HasSubstr(EnvironmentName(row.name)));
  }
}

TEST(Options, TableDefaultsAreTheStructsDefaults) {
  const Options defaults = DefaultOptions();
  for (const OptionRow& row : OptionTable()) {
    const std::string value = row.get(defaults);
    const bool is_computed = row.name == "memory" || row.name == "node-name" || value.empty();
    if (is_computed) continue;
    EXPECT_EQ(row.default_text.substr(0, value.size()), value) << row.name;
  }
}

TEST(ConfigFileTest, CommentsBlanksAndEmptyValues) {
  const ConfigFile file("# comment\n\n  threads=5  \n\tstate-dir = /a #b\r\nmemory-path =\nallow_other = yes");
  const Options o = Good({"/mnt/kv", "--config", file.path()});
  EXPECT_EQ(o.threads, 5u);
  EXPECT_EQ(o.state_dir, "/a #b");
  EXPECT_TRUE(o.allow_other);
}

TEST(ConfigFileTest, ErrorsNameFileLineAndKey) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"threads = 1\nmemroy = 4G\n", ":2: unknown key 'memroy'"},
      {"\n\nmemory = 4X\n", ":3: memory: size '4X'"},
      {"threads 4\n", ":1: 'threads 4' has no '='"},
      {"threads = 4\nthreads = 5\n", ":2: key 'threads' is there twice"},
      {"config = /x\n", ":1: unknown key 'config'"},
  };
  for (const auto& [text, expected] : cases) {
    const ConfigFile file(text);
    EXPECT_THAT(Bad({"/mnt/kv", "-o", "config=" + file.path()}), HasSubstr(file.path() + expected));
  }
  const auto missing = Parse({"/mnt/kv", "--config", "/nonexistent/file"});
  ASSERT_FALSE(missing.ok());
  EXPECT_THAT(missing.error().text(), HasSubstr("'/nonexistent/file'"));
  EXPECT_FALSE(Parse({"/mnt/kv", "--config", "/"}).ok());
}

TEST(ConfigFileTest, PrintedConfigurationReadsBackTheSame) {
  const std::vector<Words> lines = {
      {},
      {"--memory",     "65537K",     "--high-watermark",    "93.75",  "--low-watermark", "7",
       "--space-wait", "1ms",        "--attr-timeout",      "1500ms", "--state-dir",     "/a b#=c",
       "--node-name",  "n",          "--huge-pages",        "off",    "--prefault",      "no",
       "--read-path",  "page-cache", "--fsync-without-ssd", "eio",    "--allow-other",   "--default-permissions",
       "--log-level",  "debug",      "--log-file",          "/l",     "--memory-path",   "/m",
       "--threads",    "256",        "--readahead",         "4097",   "--max-page",      "5M"},
  };
  for (Words words : lines) {
    words.push_back("/mnt/kv");
    const Options first = Good(words);
    const std::string text = ConfigText(first);
    const ConfigFile file(text);
    const Options second = Good({"/mnt/kv", "--config", file.path()});
    EXPECT_EQ(ConfigText(second), text);
    EXPECT_EQ(second.high_watermark, first.high_watermark);
    EXPECT_EQ(second.memory_bytes, first.memory_bytes);
    EXPECT_EQ(second.state_dir, first.state_dir);
  }
}

}  // namespace
}  // namespace kvpagefs
