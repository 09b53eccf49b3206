#include "daemon/option_values.h"

#include <gtest/gtest.h>

namespace kvpagefs {
namespace {

constexpr TimeRange kAnyTime = {0, 1'000'000};

TEST(ParseTime, UnitsAndLimits) {
  EXPECT_EQ(*ParseTime("500ms", kAnyTime), 500);
  EXPECT_EQ(*ParseTime("2s", kAnyTime), 2000);
  EXPECT_EQ(*ParseTime("1.5s", kAnyTime), 1500);
  EXPECT_EQ(*ParseTime("0", kAnyTime), 0);
  for (const char* bad : {"", "5", "s", "-1s", "1h", "1 s", "nan", "inf", "1e9s", "5mss", "2000s"}) {
    const auto time = ParseTime(bad, kAnyTime);
    ASSERT_FALSE(time.ok()) << bad;
    EXPECT_NE(time.error().text().find(std::string("'") + bad + "'"), std::string::npos);
  }
}

TEST(ParsePercent, SharesAndLimits) {
  EXPECT_DOUBLE_EQ(*ParsePercent("95"), 0.95);
  EXPECT_DOUBLE_EQ(*ParsePercent("100%"), 1.0);
  for (const char* bad : {"", "%", "0", "100.1", "-5", "nan", "95 %", "95%%"})
    EXPECT_FALSE(ParsePercent(bad).ok()) << bad;
}

TEST(ParseCount, WholeNumbersUpToTheLimit) {
  EXPECT_EQ(*ParseCount("0", 8), 0u);
  EXPECT_EQ(*ParseCount("8", 8), 8u);
  for (const char* bad : {"", "9", "-1", "1.5", "4 ", "99999999999"}) EXPECT_FALSE(ParseCount(bad, 8).ok()) << bad;
}

TEST(ExactValues, ReadBackTheSame) {
  for (const uint64_t bytes : {uint64_t{0}, uint64_t{1}, uint64_t{1536} << 20, uint64_t{4} << 30, uint64_t{1} << 50}) {
    EXPECT_EQ(*ParseSizeIn(ExactSize(bytes), {0, ~uint64_t{0}}), bytes);
  }
  EXPECT_EQ(ExactSize(uint64_t{1536} << 20), "1536MiB");
  for (const int64_t ms : {int64_t{0}, int64_t{1}, int64_t{1000}, int64_t{1500}}) {
    EXPECT_EQ(*ParseTime(ExactTime(ms), kAnyTime), ms);
  }
  for (const char* percent : {"1", "7", "33.3", "93.75", "100"})
    EXPECT_EQ(ExactPercent(*ParsePercent(percent)), percent);
}

TEST(ParseYesNo, WordsOnBothSides) {
  for (const char* yes : {"yes", "true", "on", "1"}) EXPECT_TRUE(*ParseYesNo(yes));
  for (const char* no : {"no", "false", "off", "0"}) EXPECT_FALSE(*ParseYesNo(no));
  EXPECT_FALSE(ParseYesNo("").ok());
  EXPECT_FALSE(ParseYesNo("Yes!").ok());
}

TEST(ParseWord, IndexOrTheList) {
  EXPECT_EQ(*ParseWord("b", {"a", "b"}), 1u);
  EXPECT_EQ(ParseWord("c", {"a", "b"}).error().text(), "'c' is not one of a, b");
}

}  // namespace
}  // namespace kvpagefs
