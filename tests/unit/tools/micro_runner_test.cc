#include "tools/micro_runner.h"

#include <unistd.h>

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/tools/temporary_directory.h"

namespace kvpagefs {
namespace {

class MicroRunnerTest : public ::testing::Test {
 protected:
  MicroRunnerTest() {
    options_.directory = dir_.path();
    options_.against = against_.path();
    options_.runs = 3;
    options_.files = 2;
    options_.sizes_bytes = {8192};
    options_.list_entries = 50;
    options_.list_bytes = 10;
    options_.batch_files = 20;
    options_.batch_bytes = 4096;
  }
  std::vector<MicroResult> RunAll() {
    auto environment = MicroEnvironment::Make(options_, progress_, stop_);
    EXPECT_TRUE(environment.ok());
    const auto cases = SelectMicroCases(options_);
    EXPECT_TRUE(cases.ok());
    auto results = RunMicroCases(*cases, **environment);
    EXPECT_TRUE(results.ok());
    return std::move(*results);
  }

  TemporaryDirectory dir_;
  TemporaryDirectory against_;
  MicroOptions options_;
  StopSignal stop_;
  Progress progress_{false};
};

TEST_F(MicroRunnerTest, EveryCaseRunsAndNothingIsLeft) {
  const std::vector<MicroResult> results = RunAll();
  EXPECT_EQ(results.size(), 2u + 6 + 4 + 2 + 12 + 2);
  for (const MicroResult& result : results) {
    if (result.skipped) {
      EXPECT_THAT(result.spec.name, ::testing::EndsWith("-uring")) << result.error;
      continue;
    }
    EXPECT_EQ(result.error, "") << result.spec.name;
    ASSERT_TRUE(result.ratio.has_value()) << result.spec.name;
    EXPECT_GE(result.sides[kDirSide].count, options_.runs) << result.spec.name;
    EXPECT_EQ(result.sides[kDirSide].count, result.sides[kAgainstSide].count) << result.spec.name;
    EXPECT_GT(result.sides[kDirSide].median_us, 0) << result.spec.name;
  }
  EXPECT_EQ(dir_.EntryCount(), 0u);
  EXPECT_EQ(against_.EntryCount(), 0u);
}

class ScriptedCase final : public MicroCase {
 public:
  explicit ScriptedCase(std::vector<size_t>& sides) : sides_(sides) {}
  size_t ItemCount() const override { return 3; }
  Status Run(size_t side, size_t /*item*/) override {
    sides_.push_back(side);
    return {};
  }
  Status Verify(size_t /*side*/, size_t /*item*/) override {
    ++verified_;
    return verified_ > 6 ? Status(Error(ErrorCode::kLost, "verified too often")) : Status();
  }

 private:
  std::vector<size_t>& sides_;
  int verified_ = 0;
};

TEST_F(MicroRunnerTest, SidesAlternateAndGoFirstEquallyOften) {
  std::vector<size_t> sides;
  MicroCaseSpec spec;
  spec.name = "scripted";
  spec.make = [&sides](MicroEnvironment&) -> Result<std::unique_ptr<MicroCase>> {
    return std::unique_ptr<MicroCase>(new ScriptedCase(sides));
  };
  auto environment = MicroEnvironment::Make(options_, progress_, stop_);
  ASSERT_TRUE(environment.ok());
  const auto results = RunMicroCases({spec}, **environment);
  ASSERT_TRUE(results.ok());
  EXPECT_EQ(results->front().error, "");
  ASSERT_EQ(sides.size(), (options_.runs + 1) * 3 * 2);
  size_t first_counts[kSideCount] = {};
  for (size_t i = 0; i < sides.size(); i += 2) {
    EXPECT_NE(sides[i], sides[i + 1]);
    ++first_counts[sides[i]];
  }
  EXPECT_EQ(first_counts[kDirSide], first_counts[kAgainstSide]);
}

TEST_F(MicroRunnerTest, AFailingCaseIsAResultAndTheOthersGoOn) {
  MicroCaseSpec failing;
  failing.name = "failing";
  failing.make = [](MicroEnvironment&) -> Result<std::unique_ptr<MicroCase>> {
    return Error(ErrorCode::kNoSpace, "no room");
  };
  MicroCaseSpec skipped = failing;
  skipped.make = [](MicroEnvironment&) -> Result<std::unique_ptr<MicroCase>> {
    return Error(ErrorCode::kNotSupported, "no ring");
  };
  options_.only = {"stat-hit"};
  auto environment = MicroEnvironment::Make(options_, progress_, stop_);
  ASSERT_TRUE(environment.ok());
  MicroCaseList cases = *SelectMicroCases(options_);
  cases.insert(cases.begin(), {failing, skipped});
  const auto results = RunMicroCases(cases, **environment);
  ASSERT_TRUE(results.ok());
  ASSERT_EQ(results->size(), 3u);
  EXPECT_TRUE((*results)[0].failed());
  EXPECT_EQ((*results)[0].error, "no room");
  EXPECT_TRUE((*results)[1].skipped);
  EXPECT_FALSE((*results)[1].failed());
  EXPECT_TRUE((*results)[2].ratio.has_value());
}

TEST_F(MicroRunnerTest, WrongBytesAreFound) {
  auto environment = MicroEnvironment::Make(options_, progress_, stop_);
  ASSERT_TRUE(environment.ok());
  const auto files = (*environment)->Files(options_.files, options_.sizes_bytes[0]);
  ASSERT_TRUE(files.ok());
  std::filesystem::copy_file((*files)[kDirSide]->paths[0], (*files)[kDirSide]->paths[1],
                             std::filesystem::copy_options::overwrite_existing);
  options_.only = {"read-warm"};
  const auto results = RunMicroCases(*SelectMicroCases(options_), **environment);
  ASSERT_TRUE(results.ok());
  EXPECT_TRUE(results->front().failed());
  EXPECT_THAT(results->front().error, ::testing::HasSubstr("wrong byte at offset 0"));
}

}  // namespace
}  // namespace kvpagefs
