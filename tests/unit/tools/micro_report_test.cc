#include "tools/micro_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace kvpagefs {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class MicroReportTest : public ::testing::Test {
 protected:
  MicroReportTest() {
    options_.seed = 42;
    sides_[kDirSide] = {.given = "/mnt/kv", .root = "", .filesystem = "fuse", .direct = true, .can_be_cold = true};
    sides_[kAgainstSide] = {
        .given = "/dev/shm", .root = "", .filesystem = "tmpfs", .direct = false, .can_be_cold = false};
    MicroResult result;
    result.spec = {"read-cold-direct", "read, cold, O_DIRECT", 1 << 20, "1 MiB", CacheState::kCold, true, {}};
    result.sides[kDirSide] = Summarize({300'000, 300'000});
    result.sides[kAgainstSide] = Summarize({100'000, 100'000});
    result.ratio = 3.0;
    result.target = 2.5;
    results_.push_back(result);
    result.target = 4.0;
    results_.push_back(result);
  }
  MicroReport Report() const { return {options_, host_, sides_, results_}; }

  MicroOptions options_;
  HostInfo host_{.kernel = "Linux 6", .cpus = 2, .memory_bytes = 1 << 30};
  std::array<MicroSide, kSideCount> sides_;
  std::vector<MicroResult> results_;
};

TEST_F(MicroReportTest, TableMarksTargetsAndTellsWhatWasNotCold) {
  const std::string table = FormatMicroTable(Report());
  EXPECT_THAT(table, HasSubstr("/mnt/kv (fuse) against /dev/shm (tmpfs)"));
  EXPECT_THAT(table, HasSubstr("seed 42"));
  EXPECT_THAT(table, HasSubstr("100wb"));
  EXPECT_THAT(table, HasSubstr("3.00  <= 2.50 MISS"));
  EXPECT_THAT(table, HasSubstr("3.00  <= 4.00   ok"));
  EXPECT_THAT(table, HasSubstr("w  tmpfs cannot be cold"));
  EXPECT_THAT(table, HasSubstr("b  O_DIRECT is refused there"));
  EXPECT_THAT(table, HasSubstr("1 of 2 targets met"));
}

TEST_F(MicroReportTest, FailuresAreNamed) {
  results_[0].ratio.reset();
  results_[0].error = "mmap '/x': No such device";
  const std::string table = FormatMicroTable(Report());
  EXPECT_THAT(table, HasSubstr("FAILED: mmap '/x': No such device"));
  EXPECT_EQ(CountFailed(results_), 1u);
  EXPECT_EQ(CountMissed(results_), 0u);
}

TEST_F(MicroReportTest, NoNotesWithoutCause) {
  sides_[kAgainstSide] = sides_[kDirSide];
  for (MicroResult& result : results_) result.target.reset();
  const std::string table = FormatMicroTable(Report());
  EXPECT_THAT(table, Not(HasSubstr("cannot be cold")));
  EXPECT_THAT(table, Not(HasSubstr("targets met")));
  EXPECT_THAT(table, HasSubstr("targets are ratios to tmpfs"));
}

TEST_F(MicroReportTest, JsonHasEverything) {
  const auto json = nlohmann::json::parse(MicroAsJson(Report()).dump());
  EXPECT_EQ(json["host"]["kernel"], "Linux 6");
  EXPECT_EQ(json["host"]["cpus"], 2);
  EXPECT_EQ(json["configuration"]["seed"], 42);
  EXPECT_EQ(json["configuration"]["against"]["filesystem"], "tmpfs");
  ASSERT_EQ(json["cases"].size(), 2u);
  const auto& first = json["cases"][0];
  EXPECT_EQ(first["name"], "read-cold-direct");
  EXPECT_EQ(first["size_bytes"], 1 << 20);
  EXPECT_EQ(first["dir"]["median_us"], 300.0);
  EXPECT_EQ(first["dir"]["o_direct"], true);
  EXPECT_EQ(first["against"]["o_direct"], false);
  EXPECT_EQ(first["against"]["cold"], false);
  EXPECT_EQ(first["ratio"], 3.0);
  EXPECT_EQ(first["target_ratio"], 2.5);
  EXPECT_EQ(first["target_met"], false);
  EXPECT_EQ(json["targets_missed"], 1);
}

}  // namespace
}  // namespace kvpagefs
