#include "meta/owner_table.h"

#include <gtest/gtest.h>

namespace kvpagefs {
namespace {

TEST(OwnerTable, EqualOwnersShareANumber) {
  OwnerTable table;
  const uint16_t a = table.Acquire({1, 2, 0644}, 10);
  const uint16_t b = table.Acquire({1, 2, 0644}, 11);
  const uint16_t c = table.Acquire({1, 2, 0600}, 12);
  EXPECT_EQ(a, b);
  EXPECT_NE(a, c);
  EXPECT_EQ(table.Get(a, 10), (Ownership{1, 2, 0644}));
  EXPECT_EQ(table.Get(c, 12), (Ownership{1, 2, 0600}));
}

TEST(OwnerTable, NumbersComeBackWhenNobodyUsesThem) {
  OwnerTable table(1);
  const uint16_t a = table.Acquire({1, 1, 1}, 10);
  EXPECT_EQ(table.Acquire({1, 1, 1}, 11), a);
  table.Release(a, 10);
  EXPECT_EQ(table.Acquire({2, 2, 2}, 12), OwnerTable::kPerObject);
  table.Release(a, 11);
  EXPECT_EQ(table.Acquire({3, 3, 3}, 13), a);
  EXPECT_EQ(table.Get(a, 13), (Ownership{3, 3, 3}));
}

TEST(OwnerTable, MoreOwnersThanNumbersAreKeptPerObject) {
  OwnerTable table(2);
  std::vector<uint16_t> numbers;
  for (uint32_t i = 0; i < 10; ++i) numbers.push_back(table.Acquire({i, i, 0}, 100 + i));
  for (uint32_t i = 0; i < 10; ++i) EXPECT_EQ(table.Get(numbers[i], 100 + i), (Ownership{i, i, 0}));
  EXPECT_EQ(numbers[9], OwnerTable::kPerObject);
  table.Release(numbers[9], 109);
  EXPECT_EQ(table.Get(numbers[8], 108), (Ownership{8, 8, 0}));
}

}  // namespace
}  // namespace kvpagefs
