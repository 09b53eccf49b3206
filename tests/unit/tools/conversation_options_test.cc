#include "tools/conversation_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kvpagefs {
namespace {

using ::testing::HasSubstr;

Result<ConversationOptions> Parse(std::vector<std::string> words) { return ParseConversationOptions(words); }

void ExpectError(std::vector<std::string> words, const std::string& text) {
  const auto options = Parse(words);
  ASSERT_FALSE(options.ok()) << ::testing::PrintToString(words);
  EXPECT_THAT(options.error().text(), HasSubstr(text));
}

TEST(ConversationOptions, Everything) {
  const auto options = Parse({"run",
                              "--dir",
                              "/",
                              "--model",
                              "qwen3-32b",
                              "--page-tokens",
                              "64",
                              "--scale=0.5",
                              "--clients",
                              "7",
                              "--rounds",
                              "2",
                              "--system-tokens",
                              "0",
                              "--input-tokens",
                              "100",
                              "--output-tokens",
                              "5",
                              "--seed",
                              "9",
                              "--processes",
                              "1",
                              "--clean",
                              "--json"});
  ASSERT_TRUE(options.ok()) << options.error().Describe();
  EXPECT_EQ(options->run.role, WorkloadRole::kRun);
  EXPECT_EQ(options->shape.model.name, "qwen3-32b");
  EXPECT_EQ(options->shape.page_tokens, 64u);
  EXPECT_EQ(options->shape.scale, 0.5);
  EXPECT_EQ(options->shape.clients, 7u);
  EXPECT_EQ(options->shape.seed, 9u);
  EXPECT_FALSE(options->run.reader_process);
  EXPECT_TRUE(options->run.remove_pages);
  EXPECT_TRUE(options->json);
}

TEST(ConversationOptions, Trace) {
  const auto options = Parse({"run", "--dir", "/", "--trace", "t.jsonl", "--requests", "10", "--page-bytes", "4KiB"});
  ASSERT_TRUE(options.ok()) << options.error().Describe();
  EXPECT_EQ(options->trace, "t.jsonl");
  EXPECT_EQ(options->trace_requests, 10u);
  EXPECT_EQ(options->trace_page_bytes, 4096u);
}

TEST(ConversationOptions, ErrorsNameTheInput) {
  ExpectError({}, "'' is not one of write, read, run");
  ExpectError({"walk", "--dir", "/"}, "'walk'");
  ExpectError({"run"}, "--dir is missing");
  ExpectError({"run", "--dir", "/nowhere-at-all"}, "'/nowhere-at-all'");
  ExpectError({"run", "--dir", "/dev/null"}, "is not a directory");
  ExpectError({"run", "--dir", "/", "--model", "x"}, "model 'x' is unknown");
  ExpectError({"run", "--dir", "/", "--clients", "-1"}, "--clients '-1'");
  ExpectError({"run", "--dir", "/", "--clients", "0"}, "from 1 to");
  ExpectError({"run", "--dir", "/", "--scale", "2"}, "--scale '2'");
  ExpectError({"run", "--dir", "/", "--scale", "nan"}, "--scale 'nan'");
  ExpectError({"run", "--dir", "/", "--frob"}, "--frob");
  ExpectError({"run", "--dir", "/", "--mod", "llama-8b"}, "--mod");
  ExpectError({"run", "--dir", "/", "extra"}, "no option");
  ExpectError({"run", "--dir", "/", "--requests", "5"}, "--requests needs --trace");
  ExpectError({"run", "--dir", "/", "--trace", "t", "--rounds", "5"}, "--rounds does not go with --trace");
  ExpectError({"read", "--dir", "/", "--processes", "2"}, "--processes is for");
  ExpectError({"run", "--dir", "/", "--trace", "t", "--page-bytes", "0"}, "must not be 0");
  ExpectError({"run", "--dir", "/", "--page-tokens", "4096"}, "shorter than one page");
}

TEST(ConversationOptions, HelpNeedsNothingElse) {
  EXPECT_TRUE(Parse({"--help"})->help);
  EXPECT_THAT(ConversationHelp(), HasSubstr("--page-tokens"));
}

}  // namespace
}  // namespace kvpagefs
