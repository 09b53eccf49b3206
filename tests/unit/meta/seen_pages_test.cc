#include "meta/seen_pages.h"

#include <gtest/gtest.h>

namespace kvpagefs {
namespace {

PageId Id(uint64_t number) { return PageId::Make(1, number); }

TEST(SeenPages, RemembersTheLatest) {
  SeenPages seen(10);
  for (uint16_t i = 1; i <= 100; ++i) seen.Put(Id(i), {{i, kMemoryTier}});
  EXPECT_LE(seen.size(), 20u);
  for (uint16_t i = 91; i <= 100; ++i) {
    ASSERT_NE(seen.Find(Id(i)), nullptr) << i;
    EXPECT_EQ(seen.Find(Id(i))->front().node, i);
  }
  EXPECT_EQ(seen.Find(Id(1)), nullptr);
}

TEST(SeenPages, TheLastWordCounts) {
  SeenPages seen(2);
  seen.Put(Id(1), {{1, kMemoryTier}});
  seen.Put(Id(2), {});
  seen.Put(Id(3), {});
  seen.Put(Id(1), {{2, kSsdTier}});
  EXPECT_EQ(seen.Find(Id(1))->front().node, 2);
  seen.Erase(Id(1));
  EXPECT_EQ(seen.Find(Id(1)), nullptr);
  seen.Clear();
  EXPECT_EQ(seen.size(), 0u);
}

}  // namespace
}  // namespace kvpagefs
