#include "meta/page_description.h"

#include <random>

#include <gtest/gtest.h>

namespace kvpagefs {
namespace {

PageDescription Example() {
  PageDescription described;
  described.page.pin = Pin::kSoft;
  described.page.owner = {1000, 2000, 0640};
  described.page.mtime_ns = -5;
  described.path = {"model", "ab", std::string(300, 'n')};
  described.xattrs = {{"user.k", "v"}, {"user.empty", ""}, {"user.big", std::string(60'000, 'b')}};
  return described;
}

void ExpectEqual(const PageDescription& a, const PageDescription& b) {
  EXPECT_EQ(a.page.pin, b.page.pin);
  EXPECT_EQ(a.page.owner, b.page.owner);
  EXPECT_EQ(a.page.mtime_ns, b.page.mtime_ns);
  EXPECT_EQ(a.path, b.path);
  EXPECT_EQ(a.xattrs, b.xattrs);
}

TEST(PageDescriptionTest, ComesBack) {
  for (const PageDescription& described : {Example(), PageDescription{}}) {
    const auto decoded = DecodeDescription(EncodeDescription(described));
    ASSERT_TRUE(decoded.ok());
    ExpectEqual(*decoded, described);
  }
}

TEST(PageDescriptionTest, GoldenBytes) {
  PageDescription described;
  described.page.pin = Pin::kHard;
  described.page.owner = {0x01020304, 5, 0644};
  described.page.mtime_ns = 0x0102030405060708;
  described.path = {"a", "bc"};
  described.xattrs = {{"user.k", "v"}};
  const std::string golden(
      "\x01\x02\xa4\x01\x04\x03\x02\x01\x05\0\0\0\x08\x07\x06\x05\x04\x03\x02\x01\x02\0\x01\0"
      "a\x02\0bc\x01\0\x06\0\x01\0\0\0user.kv",
      24 + 1 + 2 + 2 + 2 + 6 + 7);
  EXPECT_EQ(EncodeDescription(described), golden);
}

TEST(PageDescriptionTest, ALongPathIsLeftOut) {
  PageDescription described = Example();
  described.path.assign(100, std::string(1000, 'p'));
  const auto decoded = DecodeDescription(EncodeDescription(described));
  ASSERT_TRUE(decoded.ok());
  EXPECT_TRUE(decoded->path.empty());
  EXPECT_EQ(decoded->xattrs, described.xattrs);
}

TEST(PageDescriptionTest, CutOffOrExtendedIsRefused) {
  PageDescription described = Example();
  described.xattrs.pop_back();
  const std::string whole = EncodeDescription(described);
  for (size_t bytes = 0; bytes < whole.size(); ++bytes) {
    EXPECT_FALSE(DecodeDescription(std::string_view(whole).substr(0, bytes)).ok()) << bytes;
  }
  EXPECT_FALSE(DecodeDescription(whole + '\0').ok());
  std::string other = whole;
  other[0] = 2;
  EXPECT_FALSE(DecodeDescription(other).ok()) << "a later version";
  other = whole;
  other[1] = 3;
  EXPECT_FALSE(DecodeDescription(other).ok()) << "no such pin";
}

TEST(PageDescriptionTest, AnyBytesAreDecodedOrRefused) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes(random() % 64, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random() % 4 == 0 ? random() : random() % 3);
    if (!bytes.empty()) bytes[0] = 1;
    const auto decoded = DecodeDescription(bytes);
    if (decoded.ok()) {
      EXPECT_EQ(EncodeDescription(*decoded), bytes);
    }
  }
}

}  // namespace
}  // namespace kvpagefs
