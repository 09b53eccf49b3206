#include <gtest/gtest.h>

#include "meta/namespace.h"
#include "unit/meta/testing.h"

namespace kvpagefs {
namespace {

using testing::Page;
using testing::Same;

TEST(NamespaceLookup, RootIsThereFromTheStart) {
  const Namespace names(nullptr, {1, 2, 0755}, 77);
  const auto root = names.FindDir(kRootDir);
  ASSERT_TRUE(root.has_value());
  EXPECT_EQ(root->parent, kRootDir);
  EXPECT_EQ(root->owner, (Ownership{1, 2, 0755}));
  EXPECT_EQ(root->mtime_ns, 77);
  EXPECT_EQ(root->entries, 0u);
  EXPECT_FALSE(names.NameOfDir(kRootDir).has_value());
  EXPECT_EQ(names.GetStats().directories, 1u);
}

TEST(NamespaceLookup, FindsPagesAndDirectoriesByNameAndId) {
  Namespace names(nullptr, {}, 0);
  const auto dir = names.MakeDir({kRootDir, "dir"}, {3, 4, 0700}, 9);
  ASSERT_TRUE(dir.ok());
  ASSERT_TRUE(names.Publish({dir->id, "page"}, Page(1), {}, false).ok());
  const auto found = names.Lookup({dir->id, "page"});
  ASSERT_TRUE(found.ok());
  EXPECT_TRUE(Same(std::get<PageInfo>(*found), Page(1)));
  EXPECT_TRUE(Same(*names.FindPage(Page(1).id), Page(1)));
  const auto found_dir = names.Lookup({kRootDir, "dir"});
  ASSERT_TRUE(found_dir.ok());
  EXPECT_EQ(std::get<DirInfo>(*found_dir).id, dir->id);
  EXPECT_EQ(std::get<DirInfo>(*found_dir).entries, 1u);
  EXPECT_EQ(names.NameOfPage(Page(1).id)->name, "page");
  EXPECT_EQ(names.NameOfPage(Page(1).id)->parent, dir->id);
  EXPECT_EQ(names.NameOfDir(dir->id)->name, "dir");
}

TEST(NamespaceLookup, ErrorsTellWhatIsMissing) {
  Namespace names(nullptr, {}, 0);
  ASSERT_TRUE(names.Publish({kRootDir, "page"}, Page(1), {}, false).ok());
  EXPECT_EQ(names.Lookup({kRootDir, "no"}).code(), ErrorCode::kNotFound);
  EXPECT_EQ(names.Lookup({kRootDir, ""}).code(), ErrorCode::kNotFound);
  EXPECT_EQ(names.Lookup({DirId{4711}, "page"}).code(), ErrorCode::kNotFound);
  EXPECT_EQ(names.Lookup({DirId{Page(1).id.value}, "x"}).code(), ErrorCode::kNotDirectory);
  EXPECT_EQ(names.Lookup({kRootDir, std::string(kMaxNameBytes, 'x')}).code(), ErrorCode::kNotFound);
  EXPECT_EQ(names.Lookup({kRootDir, std::string(kMaxNameBytes + 1, 'x')}).code(), ErrorCode::kNameTooLong);
  EXPECT_FALSE(names.FindPage(PageId{kRootDir.value}).has_value());
  EXPECT_FALSE(names.FindDir(DirId{Page(1).id.value}).has_value());
}

}  // namespace
}  // namespace kvpagefs
