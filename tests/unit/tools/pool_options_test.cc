#include "tools/pool_options.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tools/pool_command.h"
#include "unit/tools/temporary_directory.h"

namespace kvpagefs {
namespace {

Result<PoolOptions> Parse(const std::vector<std::string>& words) { return ParsePoolOptions(words); }

TEST(PoolOptionsTest, DefaultsAndValues) {
  const auto options = Parse(
      {"--dir", "/tmp", "--against", "/tmp", "--page-bytes", "64KiB", "--pages", "7", "--readers", "3", "--json"});
  ASSERT_TRUE(options.ok()) << options.error().Describe();
  EXPECT_EQ(options->page_bytes, 65'536u);
  EXPECT_EQ(options->pages, 7u);
  EXPECT_EQ(options->readers, 3u);
  EXPECT_TRUE(options->json);
}

TEST(PoolOptionsTest, WrongInputIsNamed) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"--against", "/tmp"}, "--dir is missing"},
      {{"--dir", "/tmp"}, "--against is missing"},
      {{"--dir", "/nonexistent", "--against", "/tmp"}, "/nonexistent"},
      {{"--dir", "/tmp", "--against", "/tmp", "--page-bytes", "5000"}, "--page-bytes"},
      {{"--dir", "/tmp", "--against", "/tmp", "--readers", "0"}, "--readers"},
      {{"--dir", "/tmp", "--against", "/tmp", "--pages", "x"}, "--pages"},
  };
  for (const auto& [words, expected] : cases) {
    const auto options = Parse(words);
    ASSERT_FALSE(options.ok()) << expected;
    EXPECT_NE(options.error().Describe().find(expected), std::string::npos) << options.error().Describe();
  }
}

TEST(PoolCommandTest, RunsOnPlainDirectoriesAndCleansUp) {
  const TemporaryDirectory dir;
  const std::vector<std::string> words = {"--dir", dir.path(), "--against", dir.path(),  "--page-bytes",
                                          "64KiB", "--pages",  "16",        "--readers", "4"};
  testing::internal::CaptureStdout();
  EXPECT_EQ(RunPoolCommand(words), BenchExit::kOk);
  const std::string out = testing::internal::GetCapturedStdout();
  EXPECT_NE(out.find("read by 4 threads, MiB/s"), std::string::npos) << out;
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
}

}  // namespace
}  // namespace kvpagefs
