#include <gtest/gtest.h>

#include "meta/namespace.h"
#include "unit/meta/testing.h"

namespace kvpagefs {
namespace {

using testing::Page;
using Mode = Namespace::RenameMode;

class NamespaceRename : public ::testing::Test {
 protected:
  DirId MakeDir(DirId parent, const std::string& name) {
    const auto dir = names_.MakeDir({parent, name}, {1, 1, 0755}, 1);
    EXPECT_TRUE(dir.ok());
    return dir->id;
  }
  void MakePage(DirId parent, const std::string& name, const PageInfo& page, const Xattrs& xattrs = {}) {
    EXPECT_TRUE(names_.Publish({parent, name}, page, xattrs, true).ok());
  }
  auto Rename(NameView from, NameView to, Mode mode = Mode::kReplace) { return names_.Rename(from, to, mode, 500); }
  uint64_t CursorOf(DirId dir, const std::string& name) {
    const auto listed = names_.List(dir, 0, 1000, SIZE_MAX);
    for (const ListedEntry& entry : *listed) {
      if (entry.name == name) return entry.cursor;
    }
    return 0;
  }

  Namespace names_{nullptr, {}, 0};
};

TEST_F(NamespaceRename, PageMovesWithEverything) {
  const DirId dir = MakeDir(kRootDir, "d");
  PageInfo page = Page(1);
  page.pin = Pin::kSoft;
  MakePage(kRootDir, "a", page, {{"user.k", "v"}});
  const auto outcome = Rename({kRootDir, "a"}, {dir, "b"});
  ASSERT_TRUE(outcome.ok());
  EXPECT_TRUE(testing::Same(outcome->page, page));
  EXPECT_FALSE(outcome->replaced);
  EXPECT_FALSE(outcome->dropped.has_value());
  EXPECT_EQ(names_.Lookup({kRootDir, "a"}).code(), ErrorCode::kNotFound);
  EXPECT_TRUE(testing::Same(std::get<PageInfo>(*names_.Lookup({dir, "b"})), page));
  EXPECT_EQ(*names_.GetXattr(page.id.value, "user.k"), "v");
  EXPECT_EQ(names_.FindDir(kRootDir)->mtime_ns, 500);
  EXPECT_EQ(names_.FindDir(dir)->mtime_ns, 500);
  EXPECT_EQ(names_.GetStats().pages, 1u);
  EXPECT_EQ(names_.GetStats().page_bytes, page.bytes);
}

TEST_F(NamespaceRename, OverOtherContentDropsTheTarget) {
  MakePage(kRootDir, "target", Page(1), {{"user.t", "1"}});
  MakePage(kRootDir, "tmp", Page(2), {{"user.s", "2"}});
  const uint64_t cursor = CursorOf(kRootDir, "target");
  const auto outcome = Rename({kRootDir, "tmp"}, {kRootDir, "target"});
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->page.id, Page(2).id);
  EXPECT_EQ(outcome->dropped, Page(1).id);
  EXPECT_TRUE(outcome->replaced);
  EXPECT_EQ(CursorOf(kRootDir, "target"), cursor);  // N3
  EXPECT_EQ(names_.GetXattrs(Page(2).id.value), (Xattrs{{"user.s", "2"}}));
  EXPECT_TRUE(names_.GetXattrs(Page(1).id.value).empty());
  EXPECT_EQ(names_.FindDir(kRootDir)->entries, 1u);
  EXPECT_EQ(names_.GetStats().pages, 1u);
}

TEST_F(NamespaceRename, OverEqualContentIsOnePage) {
  MakePage(kRootDir, "target", Page(1, 7), {{"user.t", "1"}});
  MakePage(kRootDir, "tmp", Page(2, 7, 44), {{"user.s", "2"}});
  const auto outcome = Rename({kRootDir, "tmp"}, {kRootDir, "target"});
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->page.id, Page(1).id);
  EXPECT_EQ(outcome->page.mtime_ns, 44);
  EXPECT_EQ(outcome->dropped, Page(2).id);
  EXPECT_EQ(names_.GetXattrs(Page(1).id.value), (Xattrs{{"user.s", "2"}}));
  EXPECT_FALSE(names_.FindPage(Page(2).id).has_value());
}

TEST_F(NamespaceRename, ToItselfChangesNothing) {
  MakePage(kRootDir, "a", Page(1));
  MakeDir(kRootDir, "d");
  const auto before = testing::Tree(names_);
  const auto outcome = Rename({kRootDir, "a"}, {kRootDir, "a"});
  ASSERT_TRUE(outcome.ok());
  EXPECT_FALSE(outcome->dropped.has_value());
  EXPECT_EQ(outcome->page.id, Page(1).id);
  EXPECT_TRUE(Rename({kRootDir, "d"}, {kRootDir, "d"}).ok());
  EXPECT_EQ(testing::Tree(names_), before);
  EXPECT_EQ(Rename({kRootDir, "a"}, {kRootDir, "a"}, Mode::kNoReplace).code(), ErrorCode::kExists);
}

TEST_F(NamespaceRename, DirectoryMovesWithItsSubtree) {
  const DirId a = MakeDir(kRootDir, "a");
  const DirId b = MakeDir(a, "b");
  const DirId other = MakeDir(kRootDir, "other");
  MakePage(b, "page", Page(1));
  const auto outcome = Rename({kRootDir, "a"}, {other, "moved"});
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->page.id.value, 0u);
  EXPECT_EQ(names_.FindDir(a)->parent, other);
  EXPECT_EQ(names_.FindDir(b)->parent, a);
  EXPECT_TRUE(names_.Lookup({b, "page"}).ok());
  EXPECT_EQ(names_.FindDir(kRootDir)->directories, 1u);
  EXPECT_EQ(names_.FindDir(other)->directories, 1u);
}

TEST_F(NamespaceRename, DirectoryReplacesAnEmptyOne) {
  const DirId from = MakeDir(kRootDir, "from");
  const DirId empty = MakeDir(kRootDir, "empty");
  MakePage(from, "page", Page(1));
  ASSERT_TRUE(names_.SetXattr(from.value, "user.f", "1", Namespace::XattrMode::kEither).ok());
  ASSERT_TRUE(names_.SetXattr(empty.value, "user.e", "1", Namespace::XattrMode::kEither).ok());
  const uint64_t cursor = CursorOf(kRootDir, "empty");
  ASSERT_TRUE(Rename({kRootDir, "from"}, {kRootDir, "empty"}).ok());
  EXPECT_FALSE(names_.FindDir(empty).has_value());
  EXPECT_EQ(std::get<DirInfo>(*names_.Lookup({kRootDir, "empty"})).id, from);
  EXPECT_EQ(CursorOf(kRootDir, "empty"), cursor);
  EXPECT_TRUE(names_.Lookup({from, "page"}).ok());
  EXPECT_EQ(*names_.GetXattr(from.value, "user.f"), "1");
  EXPECT_TRUE(names_.GetXattrs(empty.value).empty());
  EXPECT_EQ(names_.GetStats().directories, 2u);
}

TEST_F(NamespaceRename, Refusals) {
  const DirId a = MakeDir(kRootDir, "a");
  const DirId b = MakeDir(a, "b");
  const DirId full = MakeDir(kRootDir, "full");
  MakePage(full, "page", Page(1));
  MakePage(kRootDir, "page", Page(2));
  const auto before = testing::Tree(names_);
  EXPECT_EQ(Rename({kRootDir, "a"}, {a, "x"}).code(), ErrorCode::kInvalid);
  EXPECT_EQ(Rename({kRootDir, "a"}, {b, "x"}).code(), ErrorCode::kInvalid);
  EXPECT_EQ(Rename({kRootDir, "a"}, {kRootDir, "full"}).code(), ErrorCode::kNotEmpty);
  EXPECT_EQ(Rename({a, "b"}, {kRootDir, "a"}).code(), ErrorCode::kNotEmpty);
  EXPECT_EQ(Rename({kRootDir, "a"}, {kRootDir, "page"}).code(), ErrorCode::kNotDirectory);
  EXPECT_EQ(Rename({kRootDir, "page"}, {kRootDir, "a"}).code(), ErrorCode::kIsDirectory);
  EXPECT_EQ(Rename({kRootDir, "page"}, {full, "page"}, Mode::kNoReplace).code(), ErrorCode::kExists);
  EXPECT_EQ(Rename({kRootDir, "no"}, {kRootDir, "x"}).code(), ErrorCode::kNotFound);
  EXPECT_EQ(Rename({kRootDir, "page"}, {DirId{999}, "x"}).code(), ErrorCode::kNotFound);
  EXPECT_EQ(Rename({kRootDir, "page"}, {kRootDir, std::string(1024, 'x')}).code(), ErrorCode::kNameTooLong);
  EXPECT_EQ(Rename({kRootDir, "page"}, {kRootDir, "a/b"}).code(), ErrorCode::kInvalid);
  EXPECT_EQ(testing::Tree(names_), before);
}

}  // namespace
}  // namespace kvpagefs
