#include "fs/read_path.h"

#include <gtest/gtest.h>

namespace kvpagefs {
namespace {

constexpr uint32_t kFirst = 0;
constexpr uint32_t kOften = ReadPathChoice::kReadsBeforeCaching;

ReadPathChoice Choice(ReadPath wanted, bool direct_with_mmap) {
  return {.wanted = wanted, .direct_with_mmap = direct_with_mmap};
}

TEST(ReadPathChoice, AutoWithMappingReadsDirectUntilAPageIsReadOften) {
  const ReadPathChoice choice = Choice(ReadPath::kAuto, true);
  EXPECT_TRUE(choice.DirectRead(kFirst));
  EXPECT_TRUE(choice.DirectRead(kOften - 1));
  EXPECT_FALSE(choice.DirectRead(kOften));
  EXPECT_TRUE(choice.DirectWrite(false));
  EXPECT_TRUE(choice.DirectWrite(true));
}

// Without the kernel's help a direct file cannot be mapped shared, which programs do.
TEST(ReadPathChoice, AutoWithoutMappingUsesThePageCache) {
  const ReadPathChoice choice = Choice(ReadPath::kAuto, false);
  EXPECT_FALSE(choice.DirectRead(kFirst));
  EXPECT_FALSE(choice.DirectWrite(false));
  EXPECT_TRUE(choice.DirectWrite(true)) << "a descriptor for writing only cannot be mapped anyway";
}

TEST(ReadPathChoice, PageCacheIsAlways) {
  for (const bool mapping : {false, true}) {
    const ReadPathChoice choice = Choice(ReadPath::kPageCache, mapping);
    EXPECT_FALSE(choice.DirectRead(kFirst));
    EXPECT_FALSE(choice.DirectWrite(true));
    EXPECT_EQ(choice.Describe(), "page cache");
  }
}

TEST(ReadPathChoice, DirectIsAlwaysForReading) {
  for (const bool mapping : {false, true}) {
    const ReadPathChoice choice = Choice(ReadPath::kDirect, mapping);
    EXPECT_TRUE(choice.DirectRead(kOften));
    EXPECT_EQ(choice.DirectWrite(false), mapping) << "files that are written must stay mappable";
  }
}

TEST(ReadPathChoice, DescriptionsTellThemApart) {
  EXPECT_EQ(Choice(ReadPath::kAuto, false).Describe(), "page cache");
  EXPECT_EQ(Choice(ReadPath::kDirect, false).Describe(), "direct I/O");
  EXPECT_EQ(Choice(ReadPath::kDirect, true).Describe(), "direct I/O with mmap");
  EXPECT_EQ(Choice(ReadPath::kAuto, true).Describe(), "direct I/O with mmap, page cache for pages read often");
}

}  // namespace
}  // namespace kvpagefs
