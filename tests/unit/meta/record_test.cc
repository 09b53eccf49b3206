#include "meta/record.h"

#include <gtest/gtest.h>

#include <random>

#include "unit/meta/testing.h"

namespace kvpagefs {
namespace {

std::string Hex(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    text += "0123456789abcdef"[static_cast<uint8_t>(c) >> 4];
    text += "0123456789abcdef"[static_cast<uint8_t>(c) & 15];
  }
  return text;
}

constexpr RowKey kPageKey{Table::kPages, 1, 7};
constexpr RowKey kDirKey{Table::kDirs, 1, 2};
constexpr RowKey kXattrKey{Table::kXattrs, 0x0001000000000003, 0};
constexpr RowKey kCounterKey{Table::kCounters, 2, 0};

PageInfo ExamplePage() {
  PageInfo page;
  page.id = PageId::Make(1, 3);
  page.bytes = 65536;
  page.checksum = 0x1122334455667788;
  page.mtime_ns = 1'700'000'000'000'000'000;
  page.owner = {1000, 100, 0644};
  page.pin = Pin::kSoft;
  return page;
}

DirInfo ExampleDir() {
  DirInfo dir;
  dir.id = DirId{64};
  dir.parent = kRootDir;
  dir.mtime_ns = 5;
  dir.owner = {0, 0, 0755};
  return dir;
}

// The worked examples of meta/STORE.md: a change here is a new format version.
TEST(Record, GoldenBytes) {
  EXPECT_EQ(Hex(EncodeKey(kPageKey)), "00000000000000010000000000000007");
  EXPECT_EQ(Hex(EncodeKey(kXattrKey)), "0001000000000003");
  EXPECT_EQ(Hex(EncodePage(kPageKey, "ab", ExamplePage())),
            "01010200e803000064000000a401010003000000000001000000010000000000887766554433221100002a36fe9c9717616296739f"
            "3c563f3f0b");
  EXPECT_EQ(Hex(EncodeDir(kDirKey, "d", ExampleDir())),
            "010201000000000000000000ed0100004000000000000000050000000000000064305615e3ecc48358");
  EXPECT_EQ(Hex(EncodeXattrs(kXattrKey, {{"user.k", "v"}})), "01030100060001000000757365722e6b7661f29ada2fbd4b11");
  EXPECT_EQ(Hex(EncodeCounter(kCounterKey, 0x100000)), "01040000000000000000100000000000ba92276f5129f786");
}

TEST(Record, KeysComeBack) {
  EXPECT_EQ(*DecodeKey(Table::kPages, EncodeKey(kPageKey)), kPageKey);
  EXPECT_EQ(*DecodeKey(Table::kXattrs, EncodeKey(kXattrKey)), kXattrKey);
  for (const size_t size : {0, 7, 9, 15, 17}) {
    EXPECT_FALSE(DecodeKey(Table::kPages, std::string(size, 'x')).ok());
    EXPECT_FALSE(DecodeKey(Table::kCounters, std::string(size, 'x')).ok());
  }
  EXPECT_FALSE(DecodeKey(Table::kPages, std::string(8, 'x')).ok());
  EXPECT_FALSE(DecodeKey(Table::kXattrs, std::string(16, 'x')).ok());
}

TEST(Record, ValuesComeBack) {
  const std::string longest(kMaxNameBytes, '\xfe');
  const auto page = DecodePage(kPageKey, EncodePage(kPageKey, longest, ExamplePage()));
  ASSERT_TRUE(page.ok());
  EXPECT_EQ(page->name, longest);
  EXPECT_TRUE(testing::Same(page->page, ExamplePage()));
  const auto dir = DecodeDir(kDirKey, EncodeDir(kDirKey, "", ExampleDir()));
  ASSERT_TRUE(dir.ok());
  EXPECT_EQ(dir->name, "");
  EXPECT_EQ(dir->dir.id, ExampleDir().id);
  EXPECT_EQ(dir->dir.parent, kRootDir);
  EXPECT_EQ(dir->dir.owner, ExampleDir().owner);
  const Xattrs xattrs = {{"user.a", std::string(65'000, 'x')}, {"user.b", ""}};
  EXPECT_EQ(*DecodeXattrs(kXattrKey, EncodeXattrs(kXattrKey, xattrs)), xattrs);
  EXPECT_EQ(*DecodeCounter(kCounterKey, EncodeCounter(kCounterKey, UINT64_MAX)), UINT64_MAX);
}

TEST(Record, EveryBitAndLengthIsChecked) {
  const std::string good = EncodePage(kPageKey, "name", ExamplePage());
  for (size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_FALSE(DecodePage(kPageKey, bad).ok()) << bit;
  }
  for (size_t size = 0; size < good.size(); ++size) EXPECT_FALSE(DecodePage(kPageKey, good.substr(0, size)).ok());
  EXPECT_FALSE(DecodePage(kPageKey, good + "x").ok());
  EXPECT_FALSE(DecodePage({Table::kPages, 1, 8}, good).ok());  // another row's record
  EXPECT_FALSE(DecodeDir(kPageKey, good).ok());
  EXPECT_FALSE(DecodeXattrs(kXattrKey, EncodeCounter(kXattrKey, 1)).ok());
}

// Bodies that lie about lengths under a checksum that fits are refused too.
TEST(Record, RandomBytesAreRefusedWithoutHarm) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 5'000; ++round) {
    std::string bytes(random() % 120, '\0');
    for (char& c : bytes) c = static_cast<char>(random() % 4 == 0 ? random() : random() % 4);
    EXPECT_FALSE(DecodePage(kPageKey, bytes).ok());
    EXPECT_FALSE(DecodeDir(kDirKey, bytes).ok());
    EXPECT_FALSE(DecodeXattrs(kXattrKey, bytes).ok());
    EXPECT_FALSE(DecodeCounter(kCounterKey, bytes).ok());
  }
}

TEST(RowCollector, KeepsTheLatestOfEachRow) {
  RowBatch rows;
  RowCollector collector(&rows);
  collector.PutPage({kRootDir, "a"}, ExamplePage(), 7);
  collector.PutDir({kRootDir, "d"}, ExampleDir(), 2);
  collector.RemovePage(kRootDir, 7);
  collector.PutXattrs(9, {{"k", "v"}});
  collector.PutXattrs(9, {});
  collector.ReserveIds(4711);
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_TRUE(rows[kPageKey].empty());
  EXPECT_EQ(DecodeDir(kDirKey, rows[kDirKey])->name, "d");
  EXPECT_TRUE((rows[{Table::kXattrs, 9, 0}].empty()));
  const RowKey ids{Table::kCounters, static_cast<uint64_t>(Counter::kNextDirId), 0};
  EXPECT_EQ(*DecodeCounter(ids, rows[ids]), 4711u);
}

}  // namespace
}  // namespace kvpagefs
