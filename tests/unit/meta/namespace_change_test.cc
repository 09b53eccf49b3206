#include <gtest/gtest.h>

#include "meta/namespace.h"
#include "unit/meta/testing.h"

namespace kvpagefs {
namespace {

TEST(NamespaceChange, OnlyWhatIsAskedFor) {
  Namespace names(nullptr, {7, 8, 0755}, 3);
  const PageInfo page = testing::Page(1);
  ASSERT_TRUE(names.Publish({kRootDir, "a"}, page, {}, false).ok());
  AttributeChange change;
  change.owner = {100, 200, 0400};
  change.mtime_ns = 999;
  EXPECT_TRUE(testing::Same(*names.ChangePage(page.id, change), page));
  change.set_uid = true;
  EXPECT_EQ(names.ChangePage(page.id, change)->owner, (Ownership{100, 20, 0644}));
  change.set_gid = change.set_mode = change.set_mtime = true;
  EXPECT_TRUE(names.ChangePage(page.id, change).ok());
  const auto changed = names.FindPage(page.id);
  EXPECT_EQ(changed->owner, change.owner);
  EXPECT_EQ(changed->mtime_ns, 999);
  EXPECT_EQ(changed->checksum, page.checksum);
  EXPECT_EQ(changed->bytes, page.bytes);
  EXPECT_EQ(names.GetStats().page_bytes, page.bytes);
}

TEST(NamespaceChange, DirectoriesAndTheRoot) {
  Namespace names(nullptr, {7, 8, 0755}, 3);
  AttributeChange change;
  change.set_mode = change.set_mtime = true;
  change.owner.mode = 0700;
  change.mtime_ns = 11;
  EXPECT_EQ(names.ChangeDir(kRootDir, change)->owner, (Ownership{7, 8, 0700}));
  EXPECT_EQ(names.FindDir(kRootDir)->mtime_ns, 11);
  EXPECT_EQ(names.FindDir(kRootDir)->owner, (Ownership{7, 8, 0700}));
}

TEST(NamespaceChange, PinsStay) {
  Namespace names(nullptr, {}, 0);
  ASSERT_TRUE(names.Publish({kRootDir, "a"}, testing::Page(1), {}, false).ok());
  ASSERT_TRUE(names.SetPin(testing::Page(1).id, Pin::kHard).ok());
  EXPECT_EQ(names.FindPage(testing::Page(1).id)->pin, Pin::kHard);
}

TEST(NamespaceChange, UnknownIdsAreNotFound) {
  Namespace names(nullptr, {}, 0);
  EXPECT_EQ(names.ChangePage(PageId::Make(1, 1), {}).code(), ErrorCode::kNotFound);
  EXPECT_EQ(names.ChangePage(PageId{kRootDir.value}, {}).code(), ErrorCode::kNotFound);
  EXPECT_EQ(names.ChangeDir(DirId{999}, {}).code(), ErrorCode::kNotFound);
  EXPECT_EQ(names.SetPin(PageId::Make(1, 1), Pin::kSoft).code(), ErrorCode::kNotFound);
}

}  // namespace
}  // namespace kvpagefs
