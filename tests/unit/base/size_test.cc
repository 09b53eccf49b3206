#include "base/size.h"

#include <gtest/gtest.h>

namespace kvpagefs {
namespace {

TEST(ParseSize, UnitsArePowersOf1024) {
  EXPECT_EQ(*ParseSize("4096"), 4096u);
  EXPECT_EQ(*ParseSize("1k"), 1024u);
  EXPECT_EQ(*ParseSize("512M"), uint64_t{512} << 20);
  EXPECT_EQ(*ParseSize("4GiB"), uint64_t{4} << 30);
  EXPECT_EQ(*ParseSize("4gb"), uint64_t{4} << 30);
  EXPECT_EQ(*ParseSize("1.5T"), uint64_t{3} << 39);
  EXPECT_EQ(*ParseSize("64 KiB"), 65536u);
  EXPECT_EQ(*ParseSize("12B"), 12u);
  EXPECT_EQ(*ParseSize("0"), 0u);
}

TEST(ParseSize, BadInputNamesTheInput) {
  for (const char* bad : {"", "G", "-1", "4X", "4GiBs", "1e300", "nan", "inf", "0x10", "4G 4", "99999999T"}) {
    const auto result = ParseSize(bad);
    ASSERT_FALSE(result.ok()) << bad;
    EXPECT_EQ(result.code(), ErrorCode::kInvalid);
    EXPECT_NE(result.error().text().find(std::string("'") + bad + "'"), std::string::npos) << result.error().text();
    EXPECT_NE(result.error().text().find("4GiB"), std::string::npos);
  }
}

TEST(FormatSize, LargestUnitOneDecimal) {
  EXPECT_EQ(FormatSize(0), "0 B");
  EXPECT_EQ(FormatSize(1023), "1023 B");
  EXPECT_EQ(FormatSize(1024), "1.0 KiB");
  EXPECT_EQ(FormatSize(76 * 1024), "76.0 KiB");
  EXPECT_EQ(FormatSize((uint64_t{1} << 30) - 1), "1.0 GiB");
  EXPECT_EQ(FormatSize(~uint64_t{0}), "16.0 EiB");
}

}  // namespace
}  // namespace kvpagefs
