#include "tools/bench_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/tools/temporary_directory.h"

namespace kvpagefs {
namespace {

using ::testing::HasSubstr;

struct Answer {
  BenchExit status;
  std::string out;
  std::string err;
};

Answer RunWords(const std::vector<std::string>& words) {
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  const BenchExit status = RunBench(words);
  return {status, ::testing::internal::GetCapturedStdout(), ::testing::internal::GetCapturedStderr()};
}

TEST(RunBench, HelpAndVersion) {
  const Answer help = RunWords({"--help"});
  EXPECT_EQ(help.status, BenchExit::kOk);
  EXPECT_THAT(help.out, ::testing::AllOf(HasSubstr("micro"), HasSubstr("conversation")));
  EXPECT_THAT(RunWords({"micro", "--help"}).out, HasSubstr("--list-entries"));
  EXPECT_THAT(RunWords({"conversation", "--help"}).out, HasSubstr("--page-bytes"));
  EXPECT_EQ(RunWords({"--version"}).out, "kvpagebench " KVPAGEFS_VERSION "\n");
}

TEST(RunBench, WrongCommandLineIsOneLineAndStatus2) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{},
                                             {"frob"},
                                             {"micro"},
                                             {"micro", "--dir", "/", "--only", "frob"},
                                             {"conversation", "run", "--dir", "/", "--model", "frob"},
                                             {"conversation", "run", "--dir", "/", "--trace", "/frob"}}) {
    const Answer answer = RunWords(words);
    EXPECT_EQ(answer.status, BenchExit::kUsage) << ::testing::PrintToString(words);
    EXPECT_EQ(answer.out, "");
    EXPECT_THAT(answer.err, ::testing::StartsWith("kvpagebench: "));
    EXPECT_EQ(std::count(answer.err.begin(), answer.err.end(), '\n'), 1) << answer.err;
  }
}

TEST(RunBench, ConversationEndToEnd) {
  const TemporaryDirectory directory;
  const std::vector<std::string> rest = {"--dir", directory.path(), "--scale", "0.001"};
  for (const char* role : {"write", "read", "run"}) {
    std::vector<std::string> words = {"conversation", role};
    words.insert(words.end(), rest.begin(), rest.end());
    const Answer answer = RunWords(words);
    EXPECT_EQ(answer.status, BenchExit::kOk) << answer.err;
    EXPECT_THAT(answer.out, HasSubstr(role));
  }
}

TEST(RunBench, ReadWithoutWriteFails) {
  const TemporaryDirectory directory;
  const Answer answer = RunWords({"conversation", "read", "--dir", directory.path()});
  EXPECT_EQ(answer.status, BenchExit::kFailed);
  EXPECT_THAT(answer.err, HasSubstr("hits are not the ideal ones"));
}

TEST(RunBench, MicroEndToEnd) {
  const TemporaryDirectory directory;
  const Answer answer = RunWords({"micro", "--dir", directory.path(), "--against", directory.path(), "--only",
                                  "stat,create", "--sizes", "4KiB", "--runs", "2", "--files", "2"});
  EXPECT_EQ(answer.status, BenchExit::kOk) << answer.err;
  EXPECT_THAT(answer.out, ::testing::AllOf(HasSubstr("create+write+close"), HasSubstr("stat, miss")));
  EXPECT_EQ(directory.EntryCount(), 0u);
}

}  // namespace
}  // namespace kvpagefs
