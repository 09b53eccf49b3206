#include "spill/extent_allocator.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace kvpagefs {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif
#else
constexpr bool kSanitized = false;
#endif

using Held = std::vector<ExtentList>;

ExtentList Take(ExtentAllocator* allocator, uint32_t count) {
  ExtentList extents;
  EXPECT_TRUE(allocator->Allocate(count, &extents));
  return extents;
}

void Give(ExtentAllocator* allocator, const ExtentList& extents) {
  for (const Extent& extent : extents) allocator->Free(extent);
}

bool Consistent(const ExtentAllocator& allocator) {
  return allocator.ForEachFree([](Extent) {});
}

TEST(ExtentAllocator, AllOrNothing) {
  ExtentAllocator allocator(10);
  ExtentList extents;
  EXPECT_FALSE(allocator.Allocate(11, &extents));
  EXPECT_TRUE(extents.empty());
  EXPECT_TRUE(allocator.Allocate(10, &extents));
  EXPECT_EQ(extents, (ExtentList{{.first = 0, .count = 10}}));
  EXPECT_FALSE(allocator.Allocate(1, &extents));
  EXPECT_EQ(extents.size(), 1u);
  EXPECT_EQ(allocator.free_blocks(), 0u);
  EXPECT_EQ(allocator.longest_free_extent(), 0u);
  EXPECT_TRUE(allocator.Allocate(0, &extents));
}

// [0, 4) free, 4 used, [5, 7) free, 7 used, [8, 20) free.
ExtentAllocator WithHoles() {
  ExtentAllocator allocator(20);
  const ExtentList all = Take(&allocator, 20);
  EXPECT_EQ(all.size(), 1u);
  allocator.Free({.first = 0, .count = 4});
  allocator.Free({.first = 5, .count = 2});
  allocator.Free({.first = 8, .count = 12});
  return allocator;
}

TEST(ExtentAllocator, TakesTheTightestFit) {
  ExtentAllocator allocator = WithHoles();
  EXPECT_EQ(Take(&allocator, 2), (ExtentList{{.first = 5, .count = 2}}));
  EXPECT_EQ(Take(&allocator, 3), (ExtentList{{.first = 0, .count = 3}}));
  EXPECT_EQ(Take(&allocator, 12), (ExtentList{{.first = 8, .count = 12}}));
  EXPECT_TRUE(Consistent(allocator));
}

TEST(ExtentAllocator, TakesTheLargestWhenNothingFits) {
  ExtentAllocator allocator = WithHoles();
  EXPECT_EQ(Take(&allocator, 14), (ExtentList{{.first = 8, .count = 12}, {.first = 5, .count = 2}}));
  EXPECT_EQ(Take(&allocator, 4), (ExtentList{{.first = 0, .count = 4}}));
}

TEST(ExtentAllocator, GoesOnBehindTheLastExtent) {
  ExtentAllocator allocator = WithHoles();
  ExtentList extents = {{.first = 7, .count = 1}};
  EXPECT_TRUE(allocator.Allocate(2, &extents));
  EXPECT_EQ(extents, (ExtentList{{.first = 7, .count = 3}}));
  extents = {{.first = 4, .count = 1}};
  EXPECT_TRUE(allocator.Allocate(6, &extents));
  EXPECT_EQ(extents, (ExtentList{{.first = 4, .count = 3}, {.first = 0, .count = 4}}));
}

TEST(ExtentAllocator, JoinsNeighbours) {
  ExtentAllocator allocator(30);
  Take(&allocator, 30);
  allocator.Free({.first = 0, .count = 10});
  allocator.Free({.first = 20, .count = 10});
  EXPECT_EQ(allocator.free_extents(), 2u);
  allocator.Free({.first = 10, .count = 10});
  EXPECT_EQ(allocator.free_extents(), 1u);
  EXPECT_EQ(allocator.longest_free_extent(), 30u);
  EXPECT_TRUE(Consistent(allocator));
}

TEST(ExtentAllocatorDeathTest, FreeingTwiceAborts) {
  ExtentAllocator allocator = WithHoles();
  EXPECT_DEATH(allocator.Free({.first = 1, .count = 1}), "");
  EXPECT_DEATH(allocator.Free({.first = 4, .count = 2}), "");
  EXPECT_DEATH(allocator.Free({.first = 3, .count = 2}), "");
  EXPECT_DEATH(allocator.Free({.first = 7, .count = 14}), "");
  EXPECT_DEATH(allocator.Free({.first = 4, .count = 0}), "");
}

// Log-uniform from 4 KiB to 20 MiB, so that every order of magnitude is as frequent.
uint32_t RandomBlocks(std::mt19937_64* random) {
  const double exponent = std::uniform_real_distribution<double>(0, 1)(*random);
  return static_cast<uint32_t>(std::pow(5120.0, exponent));
}

// Fill, delete and refill with mixed sizes: no space is lost, and extents stay few.
TEST(ExtentAllocator, MixedSizesLoseNoSpace) {
  const uint64_t operations = kSanitized ? 500'000 : 10'000'000;
  if (kSanitized) std::printf("sanitizer build: %lu operations instead of 10 million\n", operations);
  constexpr uint32_t kBlocks = (uint64_t{8} << 30) / kBlockBytes;
  ExtentAllocator allocator(kBlocks);
  std::mt19937_64 random(20240611);
  Held held;
  uint64_t allocations = 0;
  uint64_t extents = 0;
  uint64_t done = 0;
  while (done < operations) {
    for (; done < operations; ++done) {
      ExtentList page;
      if (!allocator.Allocate(RandomBlocks(&random), &page)) break;
      ++allocations;
      extents += page.size();
      held.push_back(std::move(page));
    }
    // A random part of the pages goes, from single ones to nearly all.
    const double share = std::uniform_real_distribution<double>(0.001, 0.95)(random);
    for (auto left = static_cast<size_t>(share * static_cast<double>(held.size())); left > 0; --left, ++done) {
      std::swap(held[random() % held.size()], held.back());
      Give(&allocator, held.back());
      held.pop_back();
    }
  }
  EXPECT_TRUE(Consistent(allocator));

  uint64_t used = kBlocks - allocator.free_blocks();
  for (ExtentList page; allocator.Allocate(RandomBlocks(&random), &page); page.clear()) {
    for (const Extent& extent : page) used += extent.count;
  }
  EXPECT_GE(static_cast<double>(used), 0.95 * kBlocks);
  const double per_allocation = static_cast<double>(extents) / static_cast<double>(allocations);
  std::printf("%.2f extents an allocation, %.2f %% of the segment used at the end\n", per_allocation,
              100.0 * static_cast<double>(used) / kBlocks);
  EXPECT_LT(per_allocation, 2.0);
}

// The same against a bitmap: nothing is given out twice.
TEST(ExtentAllocator, GivesNothingOutTwice) {
  constexpr uint32_t kBlocks = 3000;
  ExtentAllocator allocator(kBlocks);
  std::vector<bool> used(kBlocks);
  std::mt19937_64 random(7);
  Held held;
  for (int step = 0; step < 20'000; ++step) {
    ExtentList page;
    const uint32_t count = 1 + static_cast<uint32_t>(random() % 40);
    if (random() % 2 == 0 && allocator.Allocate(count, &page)) {
      uint32_t got = 0;
      for (const Extent& extent : page) {
        for (uint32_t block = extent.first; block < extent.first + extent.count; ++block, ++got) {
          ASSERT_FALSE(used[block]);
          used[block] = true;
        }
      }
      ASSERT_EQ(got, count);
      held.push_back(std::move(page));
    } else if (!held.empty()) {
      std::swap(held[random() % held.size()], held.back());
      for (const Extent& extent : held.back()) std::fill_n(used.begin() + extent.first, extent.count, false);
      Give(&allocator, held.back());
      held.pop_back();
    }
    ASSERT_EQ(allocator.free_blocks(), static_cast<uint32_t>(std::count(used.begin(), used.end(), false)));
  }
  ASSERT_TRUE(Consistent(allocator));
}

}  // namespace
}  // namespace kvpagefs
