#include "meta/page_news.h"

#include <gtest/gtest.h>

namespace kvpagefs {
namespace {

using Since = PageNews::Since;

PageId Id(uint64_t counter) { return PageId::Make(1, counter); }

TEST(PageNews, TellsWhatIsNewer) {
  PageNews news;
  EXPECT_EQ(news.Ask(Id(1), news.now()), Since::kNothing);
  const uint64_t before = news.now();
  news.Changed(Id(1));
  const uint64_t between = news.now();
  EXPECT_EQ(news.Ask(Id(1), before), Since::kChanged);
  EXPECT_EQ(news.Ask(Id(1), between), Since::kNothing);
  EXPECT_EQ(news.Ask(Id(2), before), Since::kNothing);
  news.Gone(Id(1));
  news.Changed(Id(1));
  EXPECT_EQ(news.Ask(Id(1), between), Since::kGone);
  EXPECT_EQ(news.Ask(Id(1), news.now()), Since::kNothing);
}

TEST(PageNews, ForgetsOnTheSafeSide) {
  PageNews news(4);
  const uint64_t before = news.now();
  for (uint64_t i = 1; i <= 5; ++i) news.Gone(Id(i));
  EXPECT_EQ(news.Ask(Id(5), before), Since::kGone);
  EXPECT_EQ(news.Ask(Id(1), before), Since::kChanged);
  EXPECT_EQ(news.Ask(Id(99), before), Since::kChanged);
  EXPECT_EQ(news.Ask(Id(99), news.now()), Since::kNothing);
}

}  // namespace
}  // namespace kvpagefs
