#include <gtest/gtest.h>

#include <set>

#include "meta/namespace.h"
#include "unit/meta/testing.h"

namespace kvpagefs {
namespace {

TEST(NamespaceDirs, MakeAndRemove) {
  Namespace names(nullptr, {}, 0);
  const auto dir = names.MakeDir({kRootDir, "d"}, {1, 2, 0750}, 70);
  ASSERT_TRUE(dir.ok());
  EXPECT_GE(dir->id.value, kFirstFreeDirId);
  EXPECT_EQ(dir->parent, kRootDir);
  EXPECT_EQ(dir->owner, (Ownership{1, 2, 0750}));
  EXPECT_EQ(dir->mtime_ns, 70);
  EXPECT_EQ(names.FindDir(kRootDir)->mtime_ns, 70);
  EXPECT_EQ(names.FindDir(kRootDir)->directories, 1u);
  EXPECT_EQ(names.GetStats().directories, 2u);
  ASSERT_TRUE(names.RemoveDir({kRootDir, "d"}, 80).ok());
  EXPECT_FALSE(names.FindDir(dir->id).has_value());
  EXPECT_EQ(names.FindDir(kRootDir)->mtime_ns, 80);
  EXPECT_EQ(names.FindDir(kRootDir)->directories, 0u);
  EXPECT_EQ(names.GetStats().directories, 1u);
}

TEST(NamespaceDirs, IdsAreNeverUsedTwice) {  // N4
  Namespace names(nullptr, {}, 0);
  std::set<uint64_t> ids;
  for (int i = 0; i < 1000; ++i) {
    const auto dir = names.MakeDir({kRootDir, "d"}, {}, 0);
    ASSERT_TRUE(dir.ok());
    EXPECT_TRUE(ids.insert(dir->id.value).second);
    ASSERT_TRUE(names.RemoveDir({kRootDir, "d"}, 0).ok());
  }
}

TEST(NamespaceDirs, Refusals) {
  Namespace names(nullptr, {}, 0);
  const auto dir = names.MakeDir({kRootDir, "d"}, {}, 0);
  ASSERT_TRUE(names.Publish({dir->id, "page"}, testing::Page(1), {}, false).ok());
  EXPECT_EQ(names.MakeDir({kRootDir, "d"}, {}, 0).code(), ErrorCode::kExists);
  EXPECT_EQ(names.MakeDir({dir->id, "page"}, {}, 0).code(), ErrorCode::kExists);
  EXPECT_EQ(names.MakeDir({DirId{999}, "x"}, {}, 0).code(), ErrorCode::kNotFound);
  EXPECT_EQ(names.MakeDir({kRootDir, std::string(1024, 'x')}, {}, 0).code(), ErrorCode::kNameTooLong);
  EXPECT_EQ(names.RemoveDir({kRootDir, "d"}, 0).code(), ErrorCode::kNotEmpty);
  EXPECT_EQ(names.RemoveDir({dir->id, "page"}, 0).code(), ErrorCode::kNotDirectory);
  EXPECT_EQ(names.RemoveDir({kRootDir, "no"}, 0).code(), ErrorCode::kNotFound);
}

}  // namespace
}  // namespace kvpagefs
