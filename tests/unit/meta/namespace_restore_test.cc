#include <gtest/gtest.h>

#include "meta/namespace.h"
#include "unit/meta/testing.h"

namespace kvpagefs {
namespace {

using testing::Page;

DirInfo Dir(uint64_t id) {
  DirInfo dir;
  dir.id = DirId{id};
  dir.owner = {1, 2, 0700};
  dir.mtime_ns = 33;
  return dir;
}

TEST(NamespaceRestore, DirectoriesInAnyOrder) {
  Namespace names(nullptr, {}, 0);
  EXPECT_TRUE(names.RestoreDir({DirId{101}, "leaf"}, Dir(102), 9).ok());
  EXPECT_TRUE(names.RestoreDir({DirId{100}, "inner"}, Dir(101), 3).ok());
  EXPECT_FALSE(names.FindDir(DirId{101}).has_value());
  EXPECT_TRUE(names.RestoreDir({kRootDir, "top"}, Dir(100), 5).ok());
  EXPECT_TRUE(names.RestorePage({DirId{102}, "page"}, Page(1), 77).ok());
  EXPECT_TRUE(names.RestoreXattrs(Page(1).id.value, {{"user.k", "v"}}).ok());
  EXPECT_TRUE(names.RestoreIds(5000).ok());
  EXPECT_EQ(names.FindDir(DirId{102})->parent, DirId{101});
  EXPECT_EQ(names.FindDir(DirId{100})->mtime_ns, 33);
  EXPECT_EQ(names.FindDir(DirId{100})->owner, (Ownership{1, 2, 0700}));
  EXPECT_EQ(names.List(DirId{102}, 0, 9, 9999)->front().cursor, 77u);
  EXPECT_EQ(*names.GetXattr(Page(1).id.value, "user.k"), "v");
  EXPECT_EQ(names.GetStats().directories, 4u);
  EXPECT_EQ(names.GetStats().page_bytes, Page(1).bytes);
  // N3 and N4 go on where they were.
  EXPECT_EQ(names.MakeDir({kRootDir, "new"}, {}, 0)->id.value, 5000u);
  EXPECT_GT(names.List(kRootDir, 5, 9, 9999)->front().cursor, 5u);
}

TEST(NamespaceRestore, TheRootGetsItsFactsBack) {
  Namespace names(nullptr, {9, 9, 0755}, 1);
  EXPECT_TRUE(names.RestoreDir({kRootDir, ""}, Dir(1), 0).ok());
  EXPECT_EQ(names.FindDir(kRootDir)->mtime_ns, 33);
  EXPECT_EQ(names.FindDir(kRootDir)->owner, (Ownership{1, 2, 0700}));
  EXPECT_FALSE(names.RestoreDir({kRootDir, "x"}, Dir(1), 4).ok());
}

TEST(NamespaceRestore, MisfitsAreNamedAndLeftOut) {
  Namespace names(nullptr, {}, 0);
  ASSERT_TRUE(names.RestoreDir({kRootDir, "d"}, Dir(100), 1).ok());
  ASSERT_TRUE(names.RestorePage({kRootDir, "p"}, Page(1), 2).ok());
  const auto before = testing::Tree(names);
  const Status orphan = names.RestorePage({DirId{999}, "orphan"}, Page(2), 3);
  ASSERT_FALSE(orphan.ok());
  EXPECT_EQ(orphan.code(), ErrorCode::kInvalid);
  EXPECT_NE(orphan.error().text().find("orphan"), std::string::npos);
  EXPECT_FALSE(names.RestorePage({kRootDir, "q"}, Page(1), 3).ok());           // a second name for one id
  EXPECT_FALSE(names.RestorePage({kRootDir, "p"}, Page(2), 3).ok());           // name taken
  EXPECT_FALSE(names.RestorePage({kRootDir, "q"}, Page(2), 2).ok());           // cursor taken
  EXPECT_FALSE(names.RestorePage({kRootDir, "q"}, Page(2), 0).ok());           // no cursor
  EXPECT_FALSE(names.RestorePage({kRootDir, "a/b"}, Page(2), 3).ok());         // no name
  EXPECT_FALSE(names.RestorePage({kRootDir, "q"}, Page(2), 1ull << 50).ok());  // no cursor
  PageInfo no_page = Page(2);
  no_page.id.value = 5;
  EXPECT_FALSE(names.RestorePage({kRootDir, "q"}, no_page, 3).ok());
  EXPECT_FALSE(names.RestoreDir({kRootDir, "e"}, Dir(100), 3).ok());
  EXPECT_FALSE(names.RestoreDir({kRootDir, "e"}, Dir(5), 3).ok());
  EXPECT_FALSE(names.RestoreXattrs(4711, {{"user.k", "v"}}).ok());
  EXPECT_EQ(testing::Tree(names), before);
}

TEST(NamespaceRestore, CyclesAreLeftOut) {  // N1
  Namespace names(nullptr, {}, 0);
  EXPECT_TRUE(names.RestoreDir({DirId{101}, "a"}, Dir(100), 1).ok());
  EXPECT_TRUE(names.RestoreDir({DirId{100}, "b"}, Dir(101), 1).ok());
  EXPECT_EQ(names.RestoreIds(0).code(), ErrorCode::kInvalid);
  EXPECT_EQ(names.GetStats().directories, 1u);
  EXPECT_FALSE(names.FindDir(DirId{100}).has_value());
}

}  // namespace
}  // namespace kvpagefs
