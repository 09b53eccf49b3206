#include "tools/text_table.h"

#include <gtest/gtest.h>

namespace kvpagefs {
namespace {

TEST(TextTable, AlignsFirstLeftOthersRight) {
  TextTable table({"case", "us"});
  table.AddRow({"a long name", "1"});
  table.AddRow({"b", "12345"});
  EXPECT_EQ(table.Render(),
            "case            us\n"
            "a long name      1\n"
            "b            12345\n");
}

TEST(TextTable, NoTrailingBlanks) {
  TextTable table({"case", "x"});
  table.AddRow({"b", ""});
  EXPECT_EQ(table.Render(), "case  x\nb\n");
}

TEST(TextTable, CountsColumnsNotBytes) {
  TextTable table({"c", "µs"});
  table.AddRow({"a", "10"});
  EXPECT_EQ(table.Render(), "c  µs\na  10\n");
}

TEST(ShortSize, DropsUselessDecimal) {
  EXPECT_EQ(ShortSize(64 * 1024), "64 KiB");
  EXPECT_EQ(ShortSize(3 << 19), "1.5 MiB");
  EXPECT_EQ(ShortSize(12), "12 B");
}

TEST(ShortNumber, ThreeDigits) {
  EXPECT_EQ(ShortNumber(0.847), "0.85");
  EXPECT_EQ(ShortNumber(12.34), "12.3");
  EXPECT_EQ(ShortNumber(1234.5), "1234");
}

}  // namespace
}  // namespace kvpagefs
