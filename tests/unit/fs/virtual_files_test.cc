#include "fs/virtual_files.h"

#include <set>

#include "node_fixture.h"

namespace kvpagefs {
namespace {

using VirtualFilesTest = NodeTest;

TEST_F(VirtualFilesTest, FoundByNameNumberAndPosition) {
  std::set<std::string_view> names;
  std::set<uint64_t> ids;
  size_t count = 0;
  while (const VirtualFile* file = VirtualFileAt(count)) {
    ++count;
    EXPECT_TRUE(names.insert(file->name).second);
    EXPECT_TRUE(ids.insert(file->node_id).second);
    EXPECT_TRUE(IsVirtual(file->node_id)) << file->name;
    EXPECT_NE(file->node_id, kVirtualDirNode);
    EXPECT_EQ(FindVirtualFile(file->name), file);
    EXPECT_EQ(FindVirtualFile(file->node_id), file);
    if (file->name != "events") {
      EXPECT_TRUE(file->text(state()).ends_with('\n')) << file->name;
    }
  }
  EXPECT_EQ(names, (std::set<std::string_view>{"status", "nodes", "metrics", "config", "events"}));
}

TEST_F(VirtualFilesTest, WhatIsNotThere) {
  EXPECT_EQ(FindVirtualFile(std::string_view("statu")), nullptr);
  EXPECT_EQ(FindVirtualFile(std::string_view("")), nullptr);
  EXPECT_EQ(FindVirtualFile(kVirtualDirNode), nullptr);
  EXPECT_EQ(FindVirtualFile(uint64_t{kFirstFreeDirId - 1}), nullptr);
}

TEST_F(VirtualFilesTest, ReservedNumbersAndName) {
  EXPECT_FALSE(IsVirtual(kRootDir.value));
  EXPECT_TRUE(IsVirtual(kVirtualDirNode));
  EXPECT_FALSE(IsVirtual(kFirstFreeDirId));
  EXPECT_TRUE(IsVirtualName(kRootDir.value, ".kvpagefs"));
  EXPECT_FALSE(IsVirtualName(kRootDir.value, ".kvpagefs2"));
  EXPECT_FALSE(IsVirtualName(77, ".kvpagefs"));
}

}  // namespace
}  // namespace kvpagefs
