#include "tools/micro_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/micro_case.h"

namespace kvpagefs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Result<MicroOptions> Parse(std::vector<std::string> words) { return ParseMicroOptions(words); }

TEST(MicroOptions, Defaults) {
  const auto options = Parse({"--dir", "/"});
  ASSERT_TRUE(options.ok()) << options.error().Describe();
  EXPECT_EQ(options->against, "/dev/shm");
  EXPECT_THAT(options->sizes_bytes, ElementsAre(64 << 10, 1 << 20, 8 << 20));
  EXPECT_EQ(options->batch_files, 256u);
  EXPECT_EQ(options->batch_bytes, 76u * 1024);
  EXPECT_EQ(options->list_entries, 20'000u);
}

TEST(MicroOptions, ListsAndNumbers) {
  const auto options = Parse({"--dir",        "/",      "--against", "/tmp",    "--only",  "read,stat-hit",  "--sizes",
                              "4KiB,1M",      "--runs", "3",         "--files", "2",       "--list-entries", "1000000",
                              "--list-bytes", "4096",   "--seed",    "77",      "--check", "--json"});
  ASSERT_TRUE(options.ok()) << options.error().Describe();
  EXPECT_THAT(options->only, ElementsAre("read", "stat-hit"));
  EXPECT_THAT(options->sizes_bytes, ElementsAre(4096, 1 << 20));
  EXPECT_EQ(options->list_entries, 1'000'000u);
  EXPECT_EQ(options->seed, 77u);
  EXPECT_TRUE(options->check);
}

TEST(MicroOptions, ErrorsNameTheInput) {
  const auto text = [](std::vector<std::string> words) {
    const auto options = Parse(std::move(words));
    return options.ok() ? "no error" : options.error().text();
  };
  EXPECT_THAT(text({}), HasSubstr("--dir is missing"));
  EXPECT_THAT(text({"--dir", "/nowhere-at-all"}), HasSubstr("--dir '/nowhere-at-all'"));
  EXPECT_THAT(text({"--dir", "/", "--against", "/nowhere-at-all"}), HasSubstr("--against '/nowhere-at-all'"));
  EXPECT_THAT(text({"--dir", "/", "--runs", "0"}), HasSubstr("--runs '0'"));
  EXPECT_THAT(text({"--dir", "/", "--sizes", "5000"}), HasSubstr("--sizes '5000'"));
  EXPECT_THAT(text({"--dir", "/", "--sizes", "abc"}), HasSubstr("'abc'"));
}

TEST(SelectMicroCases, ByNameAndByFamily) {
  MicroOptions options;
  options.sizes_bytes = {4096};
  options.only = {"read-cold", "batch-warm"};
  const auto cases = SelectMicroCases(options);
  ASSERT_TRUE(cases.ok());
  std::vector<std::string> names;
  for (const MicroCaseSpec& spec : *cases) names.push_back(spec.name);
  EXPECT_THAT(names, ElementsAre("read-cold", "read-cold-direct", "batch-warm-1", "batch-warm-4", "batch-warm-16",
                                 "batch-warm-uring"));
}

TEST(SelectMicroCases, UnknownWordListsTheNames) {
  MicroOptions options;
  options.only = {"rea"};
  const auto cases = SelectMicroCases(options);
  ASSERT_FALSE(cases.ok());
  EXPECT_THAT(cases.error().text(), ::testing::AllOf(HasSubstr("'rea'"), HasSubstr("stat-miss")));
}

}  // namespace
}  // namespace kvpagefs
