#include "fs/open_pages.h"

#include <gtest/gtest.h>

namespace kvpagefs {
namespace {

PageInfo Page(uint64_t counter, uint64_t bytes) {
  PageInfo page;
  page.id = PageId::Make(1, counter);
  page.bytes = bytes;
  return page;
}

TEST(OpenPages, KnowsAPageUntilItsLastClose) {
  OpenPages pages;
  const PageInfo page = Page(1, 10);
  EXPECT_FALSE(pages.Find(page.id).has_value());
  pages.Add(page);
  pages.Add(page);
  pages.Add(Page(2, 20));
  EXPECT_EQ(pages.size(), 2u);
  pages.Remove(page.id);
  ASSERT_TRUE(pages.Find(page.id).has_value());
  EXPECT_EQ(pages.Find(page.id)->bytes, 10u);
  pages.Remove(page.id);
  EXPECT_FALSE(pages.Find(page.id).has_value());
  pages.Remove(page.id);
  EXPECT_EQ(pages.size(), 1u);
}

// Times and modes may change between two opens.
TEST(OpenPages, LatestFactsCount) {
  OpenPages pages;
  PageInfo page = Page(1, 10);
  pages.Add(page);
  page.mtime_ns = 77;
  pages.Add(page);
  EXPECT_EQ(pages.Find(page.id)->mtime_ns, 77);
}

}  // namespace
}  // namespace kvpagefs
