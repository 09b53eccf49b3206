#include "spill/ssd_index.h"

#include <map>
#include <random>

#include <gtest/gtest.h>

namespace kvpagefs {
namespace {

SsdPage Page(uint64_t counter, uint32_t region) {
  return {.id = PageId::Make(1, counter),
          .bytes = counter * 3,
          .checksum = counter * 5,
          .region = region,
          .block = static_cast<uint32_t>(counter),
          .header_blocks = 1};
}

TEST(SsdIndex, FindsWhatWasInserted) {
  SsdIndex index;
  EXPECT_TRUE(index.Insert(Page(1, 2)));
  EXPECT_FALSE(index.Insert(Page(1, 3)));
  EXPECT_EQ(index.Find(PageId::Make(1, 1))->region, 2u);
  EXPECT_EQ(index.Find(PageId::Make(1, 1))->bytes, 3u);
  EXPECT_FALSE(index.Find(PageId::Make(1, 2)).has_value());
  EXPECT_TRUE(index.Erase(PageId::Make(1, 1)));
  EXPECT_FALSE(index.Erase(PageId::Make(1, 1)));
  EXPECT_EQ(index.size(), 0u);
}

TEST(SsdIndex, CountsFailures) {
  SsdIndex index;
  index.Insert(Page(1, 2));
  EXPECT_EQ(index.AddFailure(PageId::Make(1, 1)), 1u);
  for (int i = 0; i < 20; ++i) index.AddFailure(PageId::Make(1, 1));
  EXPECT_EQ(index.AddFailure(PageId::Make(1, 1)), 7u);
  EXPECT_EQ(index.AddFailure(PageId::Make(1, 2)), 0u);
}

TEST(SsdIndex, RandomChurnMatchesAMap) {
  SsdIndex index;
  std::map<uint64_t, uint32_t> model;
  std::mt19937_64 random(1);
  for (int round = 0; round < 100'000; ++round) {
    const uint64_t counter = 1 + random() % 3000;
    const auto region = static_cast<uint32_t>(random() % 7);
    if (random() % 2 == 0) {
      EXPECT_EQ(index.Insert(Page(counter, region)), model.try_emplace(counter, region).second);
    } else {
      EXPECT_EQ(index.Erase(PageId::Make(1, counter)), model.erase(counter) == 1);
    }
  }
  EXPECT_EQ(index.size(), model.size());
  size_t listed = 0;
  for (uint32_t region = 0; region < 9; ++region) {
    for (const SsdPage& page : index.InRegion(region)) {
      ++listed;
      EXPECT_EQ(model.at(page.id.value & kIdCounterMask), region);
    }
  }
  EXPECT_EQ(listed, model.size());
}

// At its worst, right after the sets have grown, too.
TEST(SsdIndex, TakesAtMost56BytesAPage) {
  SsdIndex index;
  double worst = 0;
  constexpr uint64_t kPages = 1'000'000;
  for (uint64_t i = 1; i <= kPages; ++i) {
    index.Insert(Page(i, static_cast<uint32_t>(i / 4000)));
    if (i >= 100'000 && i % 5000 == 0) {
      worst = std::max(worst, static_cast<double>(index.memory_bytes()) / static_cast<double>(i));
    }
  }
  std::printf("%.1f bytes a page with a million, %.1f at most\n", static_cast<double>(index.memory_bytes()) / kPages,
              worst);
  EXPECT_LE(worst, 56);
}

}  // namespace
}  // namespace kvpagefs
