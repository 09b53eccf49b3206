#include "meta/kvpagemetad_options.h"

#include <gtest/gtest.h>

#include "unit/temp_dir.h"

namespace kvpagefs {
namespace {

using test_files::TempDir;
using test_files::WriteFile;

class MetadOptionsTest : public ::testing::Test {
 protected:
  Result<ProgramCall> Parse(std::vector<const char*> words, std::vector<const char*> environment = {}) {
    options_ = {};
    words.insert(words.begin(), "kvpagemetad");
    environment.push_back(nullptr);
    const ProgramDescription program = DescribeMetad(&options_);
    return ParseProgramOptions(program, static_cast<int>(words.size()), words.data(), environment.data());
  }
  std::string ErrorOf(std::vector<const char*> words, std::vector<const char*> environment = {}) {
    const auto call = Parse(std::move(words), std::move(environment));
    EXPECT_EQ(call.ok(), false);
    return call.ok() ? "" : call.error().text();
  }
  MetadOptions options_;
};

TEST_F(MetadOptionsTest, Defaults) {
  ASSERT_TRUE(Parse({}).ok());
  EXPECT_EQ(options_.listen, "127.0.0.1:7700");
  EXPECT_EQ(options_.node_timeout_ms, 5000);
  EXPECT_EQ(options_.heartbeat_ms, 1000);
  EXPECT_TRUE(options_.state_dir.empty());
  EXPECT_TRUE(CheckTogether(options_).ok());
}

TEST_F(MetadOptionsTest, TheCommandLineCounts) {
  const auto call = Parse({"--listen", "10.0.0.1:1", "--state-dir=/a//b/", "--node-timeout", "9s", "--heartbeat=500ms",
                           "--secret-file", "/s", "--log-level", "debug", "--log-file", "/l", "-f"});
  ASSERT_TRUE(call.ok()) << call.error().text();
  EXPECT_TRUE(call->foreground);
  EXPECT_EQ(options_.listen, "10.0.0.1:1");
  EXPECT_EQ(options_.state_dir, "/a/b");
  EXPECT_EQ(options_.node_timeout_ms, 9000);
  EXPECT_EQ(options_.heartbeat_ms, 500);
  EXPECT_EQ(options_.secret_file, "/s");
  EXPECT_EQ(options_.log_level, Log::Level::kDebug);
  EXPECT_EQ(options_.log_file, "/l");
}

TEST_F(MetadOptionsTest, CommandLineBeforeEnvironmentBeforeFile) {
  const TempDir dir;
  WriteFile(dir / "conf", "# a comment\n\nlisten = file:1\nheartbeat=100ms\nnode-timeout = 6s\n");
  const std::string config = "KVPAGEMETAD_CONFIG=" + (dir / "conf");
  ASSERT_TRUE(Parse({"--listen", "line:1"}, {config.c_str(), "KVPAGEMETAD_LISTEN=env:1", "KVPAGEMETAD_HEARTBEAT=200ms",
                                             "KVPAGEMETAD_STATE_DIR=", "KVPAGEMETAD_UNKNOWN=1", "OTHER=2"})
                  .ok());
  EXPECT_EQ(options_.listen, "line:1");
  EXPECT_EQ(options_.heartbeat_ms, 200);
  EXPECT_EQ(options_.node_timeout_ms, 6000);
}

TEST_F(MetadOptionsTest, PrintedConfigurationIsReadBack) {
  const TempDir dir;
  ASSERT_TRUE(
      Parse({"--listen", "h:1", "--node-timeout", "1500ms", "--heartbeat", "250ms", "--log-level", "error"}).ok());
  const MetadOptions given = options_;
  WriteFile(dir / "conf", ProgramConfig(DescribeMetad(&options_)));
  const auto call = Parse({"--print-config", "--config", (dir / "conf").c_str()});
  ASSERT_TRUE(call.ok()) << call.error().text();
  EXPECT_EQ(call->action, ProgramAction::kPrintConfig);
  EXPECT_EQ(options_.listen, given.listen);
  EXPECT_EQ(options_.node_timeout_ms, given.node_timeout_ms);
  EXPECT_EQ(options_.heartbeat_ms, given.heartbeat_ms);
  EXPECT_EQ(options_.log_level, given.log_level);
}

TEST_F(MetadOptionsTest, Actions) {
  EXPECT_EQ(Parse({"--version"})->action, ProgramAction::kVersion);
  EXPECT_EQ(Parse({"-V", "-h"})->action, ProgramAction::kHelp);
  EXPECT_EQ(Parse({"--help", "--listen", ""})->action, ProgramAction::kHelp);
  const std::string help = ProgramHelp(DescribeMetad(&options_));
  EXPECT_NE(help.find("--node-timeout TIME"), std::string::npos);
  EXPECT_NE(help.find("KVPAGEMETAD_STATE_DIR"), std::string::npos);
}

TEST_F(MetadOptionsTest, ErrorsNameTheInputAndTheRemedy) {
  EXPECT_NE(ErrorOf({"--nonsense"}).find("unknown option '--nonsense': 'kvpagemetad --help'"), std::string::npos);
  EXPECT_NE(ErrorOf({"-x"}).find("unknown option '-x'"), std::string::npos);
  EXPECT_NE(ErrorOf({"word"}).find("unexpected argument 'word'"), std::string::npos);
  EXPECT_NE(ErrorOf({"help"}).find("unexpected argument 'help'"), std::string::npos);
  EXPECT_NE(ErrorOf({"--listen"}).find("'--listen' needs a value"), std::string::npos);
  EXPECT_NE(ErrorOf({"--help=1"}).find("takes no value"), std::string::npos);
  EXPECT_NE(ErrorOf({"--heartbeat", "5"}).find("--heartbeat: "), std::string::npos);
  EXPECT_NE(ErrorOf({"--log-file", "a\nb"}).find("'a?b'"), std::string::npos);
  EXPECT_NE(ErrorOf({}, {"KVPAGEMETAD_LOG_LEVEL=loud"}).find("KVPAGEMETAD_LOG_LEVEL: "), std::string::npos);
  EXPECT_NE(ErrorOf({"--config", "/nonexistent"}).find("check --config"), std::string::npos);
  const TempDir dir;
  for (const char* text : {"listen\n", "none = 1\n", "listen = a\nlisten = b\n", "heartbeat = x\n"}) {
    WriteFile(dir / "conf", text);
    EXPECT_NE(ErrorOf({"--config", (dir / "conf").c_str()}).find("conf:"), std::string::npos) << text;
  }
  options_ = {};
  options_.heartbeat_ms = 2000;
  EXPECT_EQ(CheckTogether(options_).code(), ErrorCode::kInvalid);
}

}  // namespace
}  // namespace kvpagefs
