#include "fs/draft_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "fake_kernel/child_process.h"

namespace kvpagefs {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr DirId kDir{70};
constexpr DirId kOtherDir{71};

uint32_t Self() { return static_cast<uint32_t>(getpid()); }
PageId Id(uint64_t counter) { return PageId::Make(1, counter); }

class DraftTableTest : public testing::Test {
 protected:
  DraftTable::File Make(uint64_t counter, uint32_t process = Self()) {
    return std::make_shared<DraftFile>(Id(counter).value, process);
  }
  DraftTable::File Added(uint64_t counter, uint32_t process = Self()) {
    DraftTable::File file = Make(counter, process);
    table_.Add(file);
    return file;
  }
  DraftTable table_;
};

TEST_F(DraftTableTest, FindsByInode) {
  EXPECT_EQ(table_.Find(Id(1).value), nullptr);
  const auto file = Added(1);
  EXPECT_EQ(table_.Find(Id(1).value), file);
  EXPECT_EQ(table_.Find(Id(2).value), nullptr);
  EXPECT_EQ(table_.size(), 1u);
  table_.Remove(file);
  EXPECT_EQ(table_.Find(Id(1).value), nullptr);
  EXPECT_EQ(table_.size(), 0u);
}

TEST_F(DraftTableTest, ShownToTheirProcessOnly) {
  const ChildProcess child;
  const auto mine = Added(1);
  const auto theirs = Added(2, child.tid());
  table_.Show(mine, {kDir, "a"});
  table_.Show(theirs, {kDir, "a"});
  EXPECT_EQ(table_.FindShown({kDir, "a"}, Self()), mine);
  EXPECT_EQ(table_.FindShown({kDir, "a"}, child.tid()), theirs);
  EXPECT_EQ(table_.FindShown({kDir, "b"}, Self()), nullptr);
  EXPECT_EQ(table_.FindShown({kOtherDir, "a"}, Self()), nullptr);
  EXPECT_EQ(table_.FindShown({kDir, "a"}, 1 << 23), nullptr);
  table_.Hide(mine, {kDir, "a"});
  EXPECT_EQ(table_.FindShown({kDir, "a"}, Self()), nullptr);
  EXPECT_EQ(table_.FindShown({kDir, "a"}, child.tid()), theirs);
}

TEST_F(DraftTableTest, ShowTwiceIsOnce) {
  const auto file = Added(1);
  table_.Show(file, {kDir, "a"});
  table_.Show(file, {kDir, "a"});
  EXPECT_THAT(table_.ShownIn(kDir, Self()), ElementsAre(file));
  table_.Hide(file, {kDir, "a"});
  EXPECT_FALSE(table_.AnyShownIn(kDir));
  table_.Hide(file, {kDir, "a"});
}

TEST_F(DraftTableTest, ShownInOneDirectoryOnly) {
  const ChildProcess child;
  const auto first = Added(1);
  const auto second = Added(2);
  const auto elsewhere = Added(3);
  const auto theirs = Added(4, child.tid());
  table_.Show(first, {kDir, "a"});
  table_.Show(second, {kDir, std::string("\xff\xff")});
  table_.Show(elsewhere, {kOtherDir, ""});
  EXPECT_THAT(table_.ShownIn(kDir, Self()), UnorderedElementsAre(first, second));
  EXPECT_THAT(table_.ShownIn(DirId{69}, Self()), IsEmpty());
  EXPECT_TRUE(table_.AnyShownIn(kDir));
  EXPECT_FALSE(table_.AnyShownIn(DirId{69}));
  table_.Show(theirs, {DirId{72}, "x"});
  EXPECT_TRUE(table_.AnyShownIn(DirId{72})) << "of any process";
  EXPECT_THAT(table_.ShownIn(DirId{72}, Self()), IsEmpty());
}

TEST_F(DraftTableTest, Followers) {
  const auto first = Added(1);
  const auto second = Added(2);
  table_.Follow(first, Id(9));
  table_.Follow(second, Id(9));
  EXPECT_THAT(table_.Followers(Id(9)), UnorderedElementsAre(first, second));
  table_.Unfollow(first, Id(9));
  table_.Unfollow(first, Id(8));
  EXPECT_THAT(table_.Followers(Id(9)), ElementsAre(second));
  table_.Unfollow(second, Id(9));
  EXPECT_THAT(table_.Followers(Id(9)), IsEmpty());
}

TEST_F(DraftTableTest, PageWhoseInodeIsAWritersNeedsAnAlias) {
  const auto file = Added(1);
  EXPECT_TRUE(table_.NeedsAlias(Id(1)));
  EXPECT_FALSE(table_.NeedsAlias(Id(2)));
  EXPECT_EQ(table_.PublicNode(Id(2), Id(50)), Id(2).value);
  EXPECT_EQ(table_.PublicNode(Id(1), Id(50)), Id(50).value);
  EXPECT_EQ(table_.PublicNode(Id(1), Id(51)), Id(50).value) << "one alias";
  EXPECT_EQ(table_.PageOf(Id(50).value), Id(1));
  EXPECT_EQ(table_.PageOf(Id(51).value), Id(51));
  EXPECT_EQ(table_.PageOf(Id(1).value), Id(1));
}

TEST_F(DraftTableTest, AliasLastsAsLongAsTheKernelKnowsIt) {
  const auto file = Added(1);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(table_.PublicNode(Id(1), Id(50)), Id(50).value);
  table_.Remove(file);
  EXPECT_TRUE(table_.NeedsAlias(Id(1)));
  table_.Forget(Id(50).value, 2);
  EXPECT_EQ(table_.PublicNode(Id(1), PageId{}), Id(50).value);
  table_.Forget(Id(7).value, 5);
  table_.Forget(Id(1).value, 5);
  EXPECT_EQ(table_.PageOf(Id(50).value), Id(1));
  table_.Forget(Id(50).value, 2);
  EXPECT_EQ(table_.PageOf(Id(50).value), Id(50));
  EXPECT_FALSE(table_.NeedsAlias(Id(1)));
  EXPECT_EQ(table_.PublicNode(Id(1), Id(60)), Id(1).value);
}

TEST_F(DraftTableTest, MoreForgetsThanLookUpsAreABug) {
  const auto file = Added(1);
  ASSERT_EQ(table_.PublicNode(Id(1), Id(50)), Id(50).value);
  EXPECT_DEATH(table_.Forget(Id(50).value, 2), "references");
}

}  // namespace
}  // namespace kvpagefs
