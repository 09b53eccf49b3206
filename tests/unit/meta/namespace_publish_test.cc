#include <gtest/gtest.h>

#include "meta/namespace.h"
#include "unit/meta/testing.h"

namespace kvpagefs {
namespace {

using testing::Page;

class NamespacePublish : public ::testing::Test {
 protected:
  Namespace names_{nullptr, {}, 0};
};

TEST_F(NamespacePublish, NewNameStandsForThePage) {
  const auto outcome = names_.Publish({kRootDir, "a"}, Page(1, 0, 50), {{"user.k", "v"}}, true);
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->page.id, Page(1).id);
  EXPECT_FALSE(outcome->replaced);
  EXPECT_FALSE(outcome->dropped.has_value());
  EXPECT_EQ(*names_.GetXattr(Page(1).id.value, "user.k"), "v");
  EXPECT_EQ(names_.GetStats().pages, 1u);
  EXPECT_EQ(names_.GetStats().page_bytes, 1000u);
  EXPECT_EQ(names_.FindDir(kRootDir)->mtime_ns, 50);
  EXPECT_EQ(names_.FindDir(kRootDir)->entries, 1u);
}

TEST_F(NamespacePublish, EqualContentKeepsItsIdAndGetsTheNewFacts) {
  ASSERT_TRUE(names_.Publish({kRootDir, "a"}, Page(1, 7), {{"user.old", "1"}}, false).ok());
  PageInfo again = Page(2, 7, 99);
  again.owner.uid = 42;
  again.pin = Pin::kHard;
  const auto outcome = names_.Publish({kRootDir, "a"}, again, {{"user.new", "2"}}, false);
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->page.id, Page(1).id);
  EXPECT_EQ(outcome->dropped, Page(2).id);
  EXPECT_TRUE(outcome->replaced);
  EXPECT_EQ(outcome->page.mtime_ns, 99);
  EXPECT_EQ(outcome->page.owner.uid, 42u);
  EXPECT_EQ(outcome->page.pin, Pin::kHard);
  EXPECT_EQ(names_.GetXattrs(Page(1).id.value), (Xattrs{{"user.new", "2"}}));
  EXPECT_FALSE(names_.FindPage(Page(2).id).has_value());
  EXPECT_EQ(names_.GetStats().pages, 1u);
}

TEST_F(NamespacePublish, OtherContentReplacesThePage) {
  ASSERT_TRUE(names_.Publish({kRootDir, "a"}, Page(1, 7), {{"user.old", "1"}}, false).ok());
  const auto outcome = names_.Publish({kRootDir, "a"}, Page(2, 8), {}, false);
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->page.id, Page(2).id);
  EXPECT_EQ(outcome->dropped, Page(1).id);
  EXPECT_TRUE(outcome->replaced);
  EXPECT_FALSE(names_.FindPage(Page(1).id).has_value());
  EXPECT_TRUE(names_.GetXattrs(Page(1).id.value).empty());
  EXPECT_TRUE(names_.GetXattrs(Page(2).id.value).empty());
  EXPECT_EQ(names_.GetStats().pages, 1u);
  EXPECT_EQ(names_.GetStats().page_bytes, 1008u);
}

TEST_F(NamespacePublish, SameIdAgainDropsNothing) {
  ASSERT_TRUE(names_.Publish({kRootDir, "a"}, Page(1), {}, false).ok());
  const auto outcome = names_.Publish({kRootDir, "a"}, Page(1), {}, false);
  ASSERT_TRUE(outcome.ok());
  EXPECT_FALSE(outcome->dropped.has_value());
}

TEST_F(NamespacePublish, OneIdHasOneName) {  // N2
  ASSERT_TRUE(names_.Publish({kRootDir, "a"}, Page(1), {}, false).ok());
  EXPECT_EQ(names_.Publish({kRootDir, "b"}, Page(1), {}, false).code(), ErrorCode::kInvalid);
  EXPECT_EQ(names_.Publish({kRootDir, "a"}, Page(1, 9), {}, false).code(), ErrorCode::kInvalid);
  EXPECT_EQ(names_.Lookup({kRootDir, "b"}).code(), ErrorCode::kNotFound);
}

TEST_F(NamespacePublish, Refusals) {
  ASSERT_TRUE(names_.Publish({kRootDir, "a"}, Page(1), {}, false).ok());
  ASSERT_TRUE(names_.MakeDir({kRootDir, "d"}, {}, 0).ok());
  EXPECT_EQ(names_.Publish({kRootDir, "a"}, Page(2), {}, true).code(), ErrorCode::kExists);
  EXPECT_EQ(names_.Publish({kRootDir, "d"}, Page(2), {}, true).code(), ErrorCode::kExists);
  EXPECT_EQ(names_.Publish({kRootDir, "d"}, Page(2), {}, false).code(), ErrorCode::kIsDirectory);
  EXPECT_EQ(names_.Publish({DirId{999}, "x"}, Page(2), {}, false).code(), ErrorCode::kNotFound);
  EXPECT_EQ(names_.Publish({DirId{Page(1).id.value}, "x"}, Page(2), {}, false).code(), ErrorCode::kNotDirectory);
  const std::string longest(kMaxNameBytes, 'n');
  EXPECT_EQ(names_.Publish({kRootDir, longest + "n"}, Page(2), {}, false).code(), ErrorCode::kNameTooLong);
  for (const std::string& name :
       {std::string(), std::string("."), std::string(".."), std::string("a/b"), std::string("a\0b", 3)}) {
    EXPECT_EQ(names_.Publish({kRootDir, name}, Page(2), {}, false).code(), ErrorCode::kInvalid) << name;
  }
  EXPECT_EQ(names_.Publish({kRootDir, "x"}, Page(2), {{"user.k", std::string(kMaxXattrBytes, 'v')}}, false).code(),
            ErrorCode::kTooBigAttribute);
  EXPECT_TRUE(names_.Publish({kRootDir, longest}, Page(2), {}, false).ok());
  EXPECT_EQ(names_.NameOfPage(Page(2).id)->name, longest);
}

TEST_F(NamespacePublish, UnlinkTakesNameAndAttributes) {
  ASSERT_TRUE(names_.Publish({kRootDir, "a"}, Page(1), {{"user.k", "v"}}, false).ok());
  ASSERT_TRUE(names_.MakeDir({kRootDir, "d"}, {}, 0).ok());
  EXPECT_EQ(names_.Unlink({kRootDir, "d"}, 9).code(), ErrorCode::kIsDirectory);
  EXPECT_EQ(names_.Unlink({kRootDir, "no"}, 9).code(), ErrorCode::kNotFound);
  const auto gone = names_.Unlink({kRootDir, "a"}, 88);
  ASSERT_TRUE(gone.ok());
  EXPECT_EQ(gone->id, Page(1).id);
  EXPECT_EQ(names_.FindDir(kRootDir)->mtime_ns, 88);
  EXPECT_TRUE(names_.GetXattrs(Page(1).id.value).empty());
  EXPECT_EQ(names_.GetStats().pages, 0u);
  EXPECT_EQ(names_.GetStats().page_bytes, 0u);
}

TEST_F(NamespacePublish, DropPageTakesTheNameOnlyWhileItStandsForThatPage) {
  ASSERT_TRUE(names_.Publish({kRootDir, "a"}, Page(1), {}, false).ok());
  ASSERT_TRUE(names_.Publish({kRootDir, "a"}, Page(2), {}, false).ok());
  EXPECT_FALSE(names_.DropPage(Page(1).id, 5).has_value());
  EXPECT_TRUE(names_.Lookup({kRootDir, "a"}).ok());
  const auto name = names_.DropPage(Page(2).id, 5);
  ASSERT_TRUE(name.has_value());
  EXPECT_EQ(name->name, "a");
  EXPECT_EQ(name->parent, kRootDir);
  EXPECT_EQ(names_.Lookup({kRootDir, "a"}).code(), ErrorCode::kNotFound);
}

}  // namespace
}  // namespace kvpagefs
