#include "meta/replica_table.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <set>

namespace kvpagefs {
namespace {

using Copy = ReplicaTable::Copy;

PageId Id(uint64_t counter) { return PageId::Make(7, counter); }

std::map<NodeSlot, uint8_t> Sorted(const ReplicaTable& table, PageId page) {
  std::map<NodeSlot, uint8_t> copies;
  for (const Copy& copy : table.Of(page)) copies[copy.slot] = copy.tiers;
  return copies;
}

TEST(ReplicaTable, KeepsWhatEachSessionHas) {
  ReplicaTable table;
  EXPECT_FALSE(table.HasAny(Id(1)));
  EXPECT_EQ(table.Set(Id(1), 3, kMemoryTier), kNoTier);
  EXPECT_EQ(table.Set(Id(1), 3, kBothTiers), kMemoryTier);
  EXPECT_EQ(table.Set(Id(1), 65535, kSsdTier), kNoTier);
  EXPECT_EQ(Sorted(table, Id(1)), (std::map<NodeSlot, uint8_t>{{3, kBothTiers}, {65535, kSsdTier}}));
  EXPECT_TRUE(table.HasAny(Id(1), [](NodeSlot slot) { return slot == 3; }));
  EXPECT_FALSE(table.HasAny(Id(1), [](NodeSlot slot) { return slot == 4; }));
  EXPECT_EQ(table.Set(Id(1), 3, kNoTier), kBothTiers);
  EXPECT_EQ(table.Set(Id(1), 65535, kNoTier), kSsdTier);
  EXPECT_EQ(table.Set(Id(1), 65535, kNoTier), kNoTier);
  EXPECT_FALSE(table.HasAny(Id(1)));
  EXPECT_EQ(table.pages(), 0u);
}

TEST(ReplicaTable, ManyCopiesAndBack) {
  ReplicaTable table;
  for (NodeSlot slot = 1; slot <= 10; ++slot) table.Set(Id(1), slot, kSsdTier);
  EXPECT_EQ(table.Of(Id(1)).size(), 10u);
  for (NodeSlot slot = 1; slot <= 8; ++slot) table.Set(Id(1), slot, kNoTier);
  EXPECT_EQ(Sorted(table, Id(1)), (std::map<NodeSlot, uint8_t>{{9, kSsdTier}, {10, kSsdTier}}));
  for (NodeSlot slot = 1; slot <= 8; ++slot) table.Set(Id(1), slot, kSsdTier);
  table.Remove(Id(1));
  table.Remove(Id(1));
  EXPECT_FALSE(table.HasAny(Id(1)));
  table.Set(Id(1), 5, kMemoryTier);
  EXPECT_EQ(table.Of(Id(1)).size(), 1u);
}

TEST(ReplicaTable, ASweepTakesTheDeadAndTellsOrphans) {
  ReplicaTable table;
  for (uint64_t i = 1; i <= 10'000; ++i) {
    table.Set(Id(i), 1, kMemoryTier);
    if (i % 2 == 0) table.Set(Id(i), 2, kMemoryTier);
    if (i % 8 == 0) {
      for (NodeSlot slot = 3; slot <= 6; ++slot) table.Set(Id(i), slot, kMemoryTier);
    }
  }
  std::set<PageId> orphans;
  ReplicaTable::SweepPosition position;
  const ReplicaTable::Sweeping sweeping{[](NodeSlot slot) { return slot == 1 || slot >= 3; },
                                        [&](PageId page) { orphans.insert(page); }};
  int steps = 0;
  uint64_t added = 20'000;
  while (!table.Sweep(&position, 500, sweeping)) {
    ++steps;
    table.Set(Id(added++), 2, kSsdTier);  // the table changes meanwhile
  }
  EXPECT_GT(steps, 10);
  EXPECT_EQ(orphans.size(), 5000u);
  for (uint64_t i = 1; i <= 10'000; ++i) {
    EXPECT_EQ(table.Of(Id(i)).size(), i % 2 == 0 ? 1u : 0u);
    EXPECT_EQ(orphans.contains(Id(i)), i % 2 == 1);
  }
}

TEST(ReplicaTable, AgreesWithAModel) {
  ReplicaTable table;
  std::map<uint64_t, std::map<NodeSlot, uint8_t>> model;
  std::mt19937 random(42);
  for (int i = 0; i < 200'000; ++i) {
    const uint64_t page = random() % 500;
    const auto slot = static_cast<NodeSlot>(1 + random() % 6);
    const auto tiers = static_cast<uint8_t>(random() % 4);
    if (random() % 50 == 0) {
      table.Remove(Id(page));
      model.erase(page);
      continue;
    }
    table.Set(Id(page), slot, tiers);
    if (tiers != kNoTier) {
      model[page][slot] = tiers;
    } else if (model.contains(page)) {
      model[page].erase(slot);
      if (model[page].empty()) model.erase(page);
    }
  }
  EXPECT_EQ(table.pages(), model.size());
  for (uint64_t page = 0; page < 500; ++page) {
    EXPECT_EQ(Sorted(table, Id(page)), model.contains(page) ? model[page] : (std::map<NodeSlot, uint8_t>{}));
  }
}

TEST(ReplicaTable, AMillionPagesTakeAtMost40BytesEach) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's allocator does not count as malloc does";
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  GTEST_SKIP() << "a sanitizer's allocator does not count as malloc does";
#endif
#endif
  const auto in_use = [] {
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
  };
  const size_t before = in_use();
  auto table = std::make_unique<ReplicaTable>();
  double worst = 0;
  for (uint64_t i = 1; i <= 1'200'000; ++i) {
    table->Set(Id(i), static_cast<NodeSlot>(1 + i % 30), kBothTiers);
    if (i >= 300'000 && i % 50'000 == 0) {
      worst = std::max(worst, static_cast<double>(in_use() - before) / static_cast<double>(i));
    }
  }
  EXPECT_LE(worst, 40.0);
  EXPECT_EQ(table->pages(), 1'200'000u);
}

}  // namespace
}  // namespace kvpagefs
