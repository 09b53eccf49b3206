#include "tools/remote_options.h"

#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tools/remote_command.h"
#include "unit/tools/temporary_directory.h"

namespace kvpagefs {
namespace {

Result<RemoteOptions> Parse(const std::vector<std::string>& words) { return ParseRemoteOptions(words); }

TEST(RemoteOptionsTest, DefaultsAndValues) {
  const auto options = Parse({"--write", "/tmp", "--read", "/tmp", "--page-bytes", "64KiB", "--pages", "7", "--threads",
                              "3", "--runs", "2", "--json"});
  ASSERT_TRUE(options.ok()) << options.error().Describe();
  EXPECT_EQ(options->page_bytes, 65'536u);
  EXPECT_EQ(options->pages, 7u);
  EXPECT_EQ(options->threads, 3u);
  EXPECT_EQ(options->runs, 2u);
  EXPECT_EQ(options->batch_page_bytes, 77'824u);
  EXPECT_TRUE(options->json);
}

TEST(RemoteOptionsTest, WrongInputIsNamed) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"--read", "/tmp"}, "--write is missing"},
      {{"--write", "/tmp"}, "--read is missing"},
      {{"--write", "/nonexistent", "--read", "/tmp"}, "/nonexistent"},
      {{"--write", "/tmp", "--read", "/tmp", "--page-bytes", "5000"}, "--page-bytes"},
      {{"--write", "/tmp", "--read", "/tmp", "--batch-page-bytes", "1"}, "--batch-page-bytes"},
      {{"--write", "/tmp", "--read", "/tmp", "--threads", "0"}, "--threads"},
  };
  for (const auto& [words, expected] : cases) {
    const auto options = Parse(words);
    ASSERT_FALSE(options.ok()) << expected;
    EXPECT_NE(options.error().Describe().find(expected), std::string::npos) << options.error().Describe();
  }
}

// A plain directory is seen from both sides.
TEST(RemoteCommandTest, RunsOnAPlainDirectoryAndCleansUp) {
  const TemporaryDirectory dir;
  const std::vector<std::string> words = {"--write", dir.path(), "--read",        dir.path(), "--against", dir.path(),
                                          "--pages", "4",        "--batch-pages", "8",        "--threads", "2",
                                          "--runs",  "1",        "--page-bytes",  "64KiB"};
  testing::internal::CaptureStdout();
  EXPECT_EQ(RunRemoteCommand(words), BenchExit::kOk);
  const std::string out = testing::internal::GetCapturedStdout();
  EXPECT_NE(out.find("close here to open there"), std::string::npos) << out;
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
}

}  // namespace
}  // namespace kvpagefs
