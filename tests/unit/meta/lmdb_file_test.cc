#include "meta/lmdb_file.h"

#include <gtest/gtest.h>

#include "unit/temp_dir.h"

namespace kvpagefs {
namespace {

using Durability = LmdbFile::Durability;
using test_files::TempDir;

std::vector<std::string> ValuesOf(const LmdbFile& file, Table table) {
  std::vector<std::string> values;
  EXPECT_TRUE(file.ForEach(table, [&](std::string_view, std::string_view value) { values.emplace_back(value); }).ok());
  return values;
}

TEST(LmdbFile, RowsComeBackInKeyOrder) {
  const TempDir temp;
  {
    auto file = LmdbFile::Open(temp / "x.mdb", Durability::kEveryApply);
    ASSERT_TRUE(file.ok()) << file.error().text();
    RowBatch rows;
    rows[{Table::kPages, 2, 1}] = "c";
    rows[{Table::kPages, 1, 256}] = "b";
    rows[{Table::kPages, 1, 2}] = "a";
    rows[{Table::kDirs, 1, 2}] = "dir";
    ASSERT_TRUE((*file)->Apply(rows).ok());
    RowBatch more;
    more[{Table::kPages, 1, 256}] = "B";
    more[{Table::kPages, 2, 1}] = "";
    more[{Table::kPages, 9, 9}] = "";  // was never there
    ASSERT_TRUE((*file)->Apply(more).ok());
  }
  auto file = LmdbFile::Open(temp / "x.mdb", Durability::kEveryApply);
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(ValuesOf(**file, Table::kPages), (std::vector<std::string>{"a", "B"}));
  EXPECT_EQ(ValuesOf(**file, Table::kDirs), (std::vector<std::string>{"dir"}));
  EXPECT_TRUE(ValuesOf(**file, Table::kXattrs).empty());
}

TEST(LmdbFile, TheMapGrows) {
  const TempDir temp;
  auto file = LmdbFile::Open(temp / "x.mdb", Durability::kOnSync);
  ASSERT_TRUE(file.ok());
  // Beyond the first map, in one transaction and over several.
  for (uint64_t step = 0; step < 5; ++step) {
    RowBatch rows;
    for (uint64_t i = 0; i < 400; ++i) rows[{Table::kXattrs, step << 32 | i, 0}] = std::string(65'000, 'x');
    const Status applied = (*file)->Apply(rows);
    ASSERT_TRUE(applied.ok()) << applied.error().text();
  }
  EXPECT_EQ(ValuesOf(**file, Table::kXattrs).size(), 2000u);
  EXPECT_TRUE((*file)->MakeDurable().ok());
}

TEST(LmdbFile, ForeignAndTruncatedFilesAreRefused) {
  const TempDir temp;
  test_files::WriteFile(temp / "foreign", std::string(20'000, 'x'));
  EXPECT_EQ(LmdbFile::Open(temp / "foreign", Durability::kEveryApply).code(), ErrorCode::kInvalid);
  {
    auto file = LmdbFile::Open(temp / "x.mdb", Durability::kEveryApply);
    RowBatch rows;
    for (uint64_t i = 0; i < 100'000; ++i) rows[{Table::kPages, 1, i}] = std::string(150, 'x');
    ASSERT_TRUE((*file)->Apply(rows).ok());
  }
  std::filesystem::resize_file(temp / "x.mdb", std::filesystem::file_size(temp / "x.mdb") / 2);
  const auto cut = LmdbFile::Open(temp / "x.mdb", Durability::kEveryApply);
  EXPECT_EQ(cut.code(), ErrorCode::kInvalid);
}

}  // namespace
}  // namespace kvpagefs
