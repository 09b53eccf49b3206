#include "fs/counters.h"

#include <gtest/gtest.h>

#include <set>
#include <string_view>

namespace kvpagefs {
namespace {

TEST(Counters, TableNamesEachCounterOnce) {
  std::set<Counter> counters;
  std::set<std::string_view> names;
  for (const CounterName& row : kCounterNames) {
    EXPECT_TRUE(counters.insert(row.counter).second) << row.name;
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_EQ(row.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_"), std::string_view::npos) << row.name;
    EXPECT_TRUE(row.help.ends_with('.')) << row.name;
  }
  EXPECT_EQ(counters.size(), static_cast<size_t>(Counter::kCount));
}

TEST(Counters, Count) {
  Counters counters;
  counters.Add(Counter::kReads);
  counters.Add(Counter::kReadBytes, 4096);
  counters.Add(Counter::kReadBytes, 1);
  EXPECT_EQ(counters.Get(Counter::kReads), 1u);
  EXPECT_EQ(counters.Get(Counter::kReadBytes), 4097u);
  EXPECT_EQ(counters.Get(Counter::kWrites), 0u);
}

}  // namespace
}  // namespace kvpagefs
