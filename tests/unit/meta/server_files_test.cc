#include "meta/server_files.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "meta/deleted_pages.h"
#include "unit/temp_dir.h"

namespace kvpagefs {
namespace {

using test_files::TempDir;
using test_files::WriteFile;

PageId Id(uint64_t counter) { return PageId::Make(1, counter); }

std::vector<PageId> Loaded(const std::string& dir) {
  ServerFiles files(dir);
  std::vector<PageId> pages;
  EXPECT_TRUE(files.LoadDeleted([&](PageId page) { pages.push_back(page); }).ok());
  return pages;
}

TEST(ServerFiles, NodesComeBack) {
  const TempDir dir;
  const ServerFiles files(dir.path());
  ASSERT_TRUE(files.LoadNodes().ok());
  EXPECT_TRUE(files.LoadNodes()->empty());
  const std::vector<NodeTable::Known> nodes = {{1, "a", "kv1"}, {65535, "b-c", "kv2.example"}};
  ASSERT_TRUE(files.SaveNodes({}).ok());
  ASSERT_TRUE(files.SaveNodes(nodes).ok());
  const auto loaded = files.LoadNodes();
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(*loaded, nodes);
}

TEST(ServerFiles, GoldenBytesOfNodes) {
  const TempDir dir;
  WriteFile(dir / "NODES", "7 1f2e kv1\nend 18765874d5aac6e3\n");
  const auto nodes = ServerFiles(dir.path()).LoadNodes();
  ASSERT_TRUE(nodes.ok());
  EXPECT_EQ(*nodes, (std::vector<NodeTable::Known>{{7, "1f2e", "kv1"}}));
  WriteFile(dir / "NODES", "8 1f2e kv1\nend 18765874d5aac6e3\n");
  EXPECT_EQ(ServerFiles(dir.path()).LoadNodes().code(), ErrorCode::kInvalid);
  for (const char* bad : {"", "x\n", "7\n", "70000 a b\n", "7 a b\n", "\n"}) {
    WriteFile(dir / "NODES", bad);
    EXPECT_EQ(ServerFiles(dir.path()).LoadNodes().code(), ErrorCode::kInvalid) << bad;
  }
}

TEST(ServerFiles, GoldenBytesOfDeletedPages) {
  const TempDir dir;
  const std::string golden("\x03\x00\x00\x00\x00\x00\x01\x00\xa3\xed\x80\x47\x3c\x58\x6d\xa7", 16);
  WriteFile(dir / "DELETED", golden + std::string(16, 'x') + golden);
  EXPECT_EQ(Loaded(dir.path()), (std::vector<PageId>{Id(3), Id(3)}));
}

TEST(ServerFiles, DeletedPagesComeBackInOrder) {
  const TempDir dir;
  {
    ServerFiles files(dir.path());
    ASSERT_TRUE(files.LoadDeleted([](PageId) {}).ok());
    ASSERT_TRUE(files.AppendDeleted({Id(3), Id(1)}).ok());
    ASSERT_TRUE(files.AppendDeleted({}).ok());
    ASSERT_TRUE(files.AppendDeleted({Id(2)}).ok());
  }
  EXPECT_EQ(Loaded(dir.path()), (std::vector<PageId>{Id(3), Id(1), Id(2)}));
}

TEST(ServerFiles, APieceOfARecordIsCutOff) {
  const TempDir dir;
  {
    ServerFiles files(dir.path());
    ASSERT_TRUE(files.AppendDeleted({Id(1), Id(2)}).ok());
  }
  std::filesystem::resize_file(dir / "DELETED", 25);
  {
    ServerFiles files(dir.path());
    std::vector<PageId> pages;
    ASSERT_TRUE(files.LoadDeleted([&](PageId page) { pages.push_back(page); }).ok());
    EXPECT_EQ(pages, std::vector<PageId>{Id(1)});
    ASSERT_TRUE(files.AppendDeleted({Id(5)}).ok());
  }
  EXPECT_EQ(Loaded(dir.path()), (std::vector<PageId>{Id(1), Id(5)}));
}

TEST(ServerFiles, AFullFileMakesWayOnce) {
  const TempDir dir;
  ServerFiles files(dir.path());
  std::vector<PageId> many;
  for (uint64_t i = 1; i <= ServerFiles::kMaxRecords; ++i) many.push_back(Id(i));
  ASSERT_TRUE(files.AppendDeleted(many).ok());
  ASSERT_TRUE(files.AppendDeleted({Id(1)}).ok());
  EXPECT_EQ(std::filesystem::file_size(dir / "DELETED.old"), 16 * ServerFiles::kMaxRecords);
  EXPECT_EQ(std::filesystem::file_size(dir / "DELETED"), 16u);
}

TEST(DeletedPages, TheOldestAreForgotten) {
  DeletedPages pages(3);
  for (uint64_t i = 1; i <= 4; ++i) pages.Add(Id(i));
  pages.Add(Id(4));
  EXPECT_FALSE(pages.Restore(Id(4)));
  EXPECT_FALSE(pages.Contains(Id(1)));
  EXPECT_TRUE(pages.Contains(Id(2)));
  EXPECT_EQ(pages.size(), 3u);
  EXPECT_EQ(pages.TakeUnsaved().size(), 4u);
  EXPECT_TRUE(pages.TakeUnsaved().empty());
}

}  // namespace
}  // namespace kvpagefs
