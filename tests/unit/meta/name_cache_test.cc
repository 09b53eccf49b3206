#include "meta/name_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kvpagefs {
namespace {

using State = CachedPage::State;

CachedPage Page(uint64_t number, std::string name, State state = State::kPublished) {
  CachedPage cached;
  cached.page.id = PageId::Make(1, number);
  cached.page.bytes = number;
  cached.name = {kRootDir, std::move(name)};
  cached.state = state;
  return cached;
}
DirInfo Dir(uint64_t id) {
  DirInfo dir;
  dir.id = DirId{id};
  return dir;
}

TEST(NameCache, FindsByNameAndId) {
  NameCache cache;
  EXPECT_EQ(cache.Put(Page(1, "a")), std::nullopt);
  ASSERT_NE(cache.Find(NameView{kRootDir, "a"}), nullptr);
  EXPECT_EQ(cache.Find(NameView{kRootDir, "a"}), cache.Find(PageId::Make(1, 1)));
  EXPECT_EQ(cache.Find(NameView{DirId{70}, "a"}), nullptr);
  cache.Erase(PageId::Make(1, 1));
  EXPECT_EQ(cache.Find(NameView{kRootDir, "a"}), nullptr);
  EXPECT_EQ(cache.pages(), 0u);
  cache.Erase(PageId::Make(1, 1));
}

TEST(NameCache, ANameStandsForOnePage) {
  NameCache cache;
  cache.Put(Page(1, "a"));
  EXPECT_EQ(cache.Put(Page(2, "a")), std::nullopt) << "the service knows the first one: its bytes are its business";
  EXPECT_EQ(cache.Find(PageId::Make(1, 1)), nullptr);
  EXPECT_EQ(cache.Find(NameView{kRootDir, "a"})->page.bytes, 2u);
  cache.Put(Page(3, "t", State::kTemporary));
  EXPECT_EQ(cache.Put(Page(4, "t", State::kTemporary)), PageId::Make(1, 3));
  EXPECT_EQ(cache.pages(), 2u);
}

TEST(NameCache, APageHasOneName) {
  NameCache cache;
  cache.Put(Page(1, "a"));
  cache.Put(Page(1, "b"));
  EXPECT_EQ(cache.Find(NameView{kRootDir, "a"}), nullptr);
  EXPECT_EQ(cache.Find(NameView{kRootDir, "b"})->page.id, PageId::Make(1, 1));
  EXPECT_EQ(cache.pages(), 1u);
}

TEST(NameCache, UnsentInTheirOrder) {
  NameCache cache;
  for (const uint64_t number : {5, 3, 9, 4}) cache.Put(Page(number, std::to_string(number), State::kUnsent));
  cache.Put(Page(1, "published"));
  cache.Put(Page(2, "temporary", State::kTemporary));
  EXPECT_THAT(cache.Unsent(),
              testing::ElementsAre(PageId::Make(1, 3), PageId::Make(1, 4), PageId::Make(1, 5), PageId::Make(1, 9)));
}

TEST(NameCache, PathsThroughDirectories) {
  NameCache cache;
  EXPECT_THAT(*cache.PathOf({kRootDir, "x"}), testing::ElementsAre("x"));
  EXPECT_EQ(cache.PathOf({DirId{71}, "x"}), std::nullopt);
  cache.PutDir(Dir(70), {kRootDir, "a"}, 1);
  cache.PutDir(Dir(71), {DirId{70}, "b"}, 1);
  EXPECT_THAT(*cache.PathOf({DirId{71}, "x"}), testing::ElementsAre("a", "b", "x"));
  // Learnt anew without its name, it keeps the one it has.
  cache.PutDir(Dir(71), {}, 2);
  EXPECT_THAT(*cache.PathOf({DirId{71}, "x"}), testing::ElementsAre("a", "b", "x"));
  cache.PutDir(Dir(71), {kRootDir, "c"}, 3);
  EXPECT_THAT(*cache.PathOf({DirId{71}, "x"}), testing::ElementsAre("c", "x"));
  EXPECT_EQ(cache.FindDir(NameView{DirId{70}, "b"}), std::nullopt);
  EXPECT_EQ(cache.FindDir(NameView{kRootDir, "c"})->id, DirId{71});
  EXPECT_EQ(cache.FindFreshDir(DirId{71}, 4), std::nullopt);
  EXPECT_TRUE(cache.FindFreshDir(DirId{71}, 3));
  cache.EraseDir(DirId{71});
  EXPECT_EQ(cache.FindDir(DirId{71}), std::nullopt);
  EXPECT_EQ(cache.FindDir(NameView{kRootDir, "c"}), std::nullopt);
}

TEST(NameCache, DirectoriesThatLeadInACircleHaveNoPath) {
  NameCache cache;
  cache.PutDir(Dir(70), {DirId{71}, "a"}, 1);
  cache.PutDir(Dir(71), {DirId{70}, "b"}, 1);
  EXPECT_EQ(cache.PathOf({DirId{71}, "x"}), std::nullopt);
}

TEST(NameCache, DirectoriesAreBounded) {
  NameCache cache;
  for (uint64_t i = 0; i < NameCache::kMaxDirs + 10; ++i) cache.PutDir(Dir(100 + i), {kRootDir, std::to_string(i)}, 1);
  EXPECT_TRUE(cache.FindDir(DirId{100 + NameCache::kMaxDirs + 9}));
  EXPECT_FALSE(cache.FindDir(DirId{100}));
}

}  // namespace
}  // namespace kvpagefs
