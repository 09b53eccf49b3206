#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "meta/namespace.h"
#include "unit/meta/testing.h"

namespace kvpagefs {
namespace {

using ::testing::ElementsAre;
using testing::Page;

class NamespaceAnnounce : public ::testing::Test {
 protected:
  PageDescription Described(uint64_t id, std::vector<std::string> path, uint64_t content = 0) {
    return {.page = Page(id, content, 50), .path = std::move(path), .xattrs = {{"user.k", "v"}}};
  }
  DirId Dir(DirId parent, std::string_view name) { return names_.MakeDir({parent, name}, {}, 1)->id; }
  PageId At(DirId parent, std::string_view name) {
    const Result<EntryInfo> found = names_.Lookup({parent, name});
    return found.ok() ? std::get<PageInfo>(*found).id : PageId{};
  }
  Namespace names_{nullptr, {}, 0};
};

TEST_F(NamespaceAnnounce, DescribeTellsPathFactsAndXattrs) {
  const DirId inner = Dir(Dir(kRootDir, "a"), "b");
  ASSERT_TRUE(names_.Publish({inner, "c"}, Page(1, 7, 50), {{"user.k", "v"}}, true).ok());
  const auto described = names_.Describe(Page(1).id);
  ASSERT_TRUE(described.has_value());
  EXPECT_THAT(described->path, ElementsAre("a", "b", "c"));
  EXPECT_EQ(described->page.id, Page(1).id);
  EXPECT_EQ(described->page.bytes, Page(1, 7).bytes);
  EXPECT_EQ(described->page.mtime_ns, 50);
  EXPECT_EQ(described->xattrs, (Xattrs{{"user.k", "v"}}));
  EXPECT_FALSE(names_.Describe(Page(2).id).has_value());
}

TEST_F(NamespaceAnnounce, AnUnknownPageGetsItsNameAndItsDirectories) {
  Dir(kRootDir, "a");
  const auto outcome = names_.Announce(Described(1, {"a", "b", "c"}), 9);
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->page.id, Page(1).id);
  EXPECT_THAT(names_.Describe(Page(1).id)->path, ElementsAre("a", "b", "c"));
  EXPECT_EQ(*names_.GetXattr(Page(1).id.value, "user.k"), "v");
  EXPECT_EQ(names_.GetStats().directories, 3u);
}

TEST_F(NamespaceAnnounce, AKnownPageKeepsTheNameThatItHas) {
  ASSERT_TRUE(names_.Publish({kRootDir, "new"}, Page(1), {}, true).ok());
  const auto outcome = names_.Announce(Described(1, {"old"}), 9);
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(At(kRootDir, "new"), Page(1).id);
  EXPECT_EQ(names_.Lookup({kRootDir, "old"}).code(), ErrorCode::kNotFound);
}

TEST_F(NamespaceAnnounce, TheLaterPageHasTheName) {
  ASSERT_TRUE(names_.Publish({kRootDir, "a"}, Page(5, 1), {}, true).ok());
  EXPECT_EQ(names_.Announce(Described(3, {"a"}, 2), 9).code(), ErrorCode::kExists);
  EXPECT_EQ(At(kRootDir, "a"), Page(5).id);
  const auto later = names_.Announce(Described(8, {"a"}, 3), 9);
  ASSERT_TRUE(later.ok());
  EXPECT_EQ(later->dropped, Page(5).id);
  EXPECT_EQ(At(kRootDir, "a"), Page(8).id);
}

TEST_F(NamespaceAnnounce, WhatCannotBeNamed) {
  Dir(kRootDir, "d");
  ASSERT_TRUE(names_.Publish({kRootDir, "p"}, Page(1), {}, true).ok());
  EXPECT_EQ(names_.Announce(Described(2, {}), 9).code(), ErrorCode::kNotFound);
  EXPECT_EQ(names_.Announce(Described(2, {"d"}), 9).code(), ErrorCode::kIsDirectory);
  EXPECT_EQ(names_.Announce(Described(2, {"p", "q"}), 9).code(), ErrorCode::kNotDirectory);
  EXPECT_EQ(names_.Announce(Described(2, {"..", "q"}), 9).code(), ErrorCode::kInvalid);
  EXPECT_EQ(names_.Announce(Described(2, {std::string(2000, 'x')}), 9).code(), ErrorCode::kNameTooLong);
  EXPECT_EQ(names_.GetStats().pages, 1u);
}

}  // namespace
}  // namespace kvpagefs
