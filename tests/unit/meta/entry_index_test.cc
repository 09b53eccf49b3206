#include "meta/entry_index.h"

#include <gtest/gtest.h>

#include <memory>

namespace kvpagefs {
namespace {

using EntryPtr = std::unique_ptr<Entry, void (*)(Entry*)>;

EntryPtr Make(uint32_t parent, std::string_view name, uint64_t id) {
  return {NewEntry(parent, PackedName(name).view(), id), FreeEntry};
}

TEST(Entry, SplitFieldsKeepFortyEightBits) {
  const EntryPtr entry = Make(7, "name", 9);
  entry->set_cursor(kSplitMax - 1);
  entry->set_bytes(kSplitMax);
  EXPECT_EQ(entry->cursor(), kSplitMax - 1);
  EXPECT_EQ(entry->bytes(), kSplitMax);
  EXPECT_EQ(UnpackName(entry->packed_name()), "name");
  EXPECT_EQ(entry->parent, 7u);
  EXPECT_EQ(entry->id, 9u);
}

TEST(EntryIndex, NamesAreToldApartByDirectory) {
  NameIndex names;
  const EntryPtr a = Make(1, "same", 1);
  const EntryPtr b = Make(2, "same", 2);
  names.Insert(a.get());
  names.Insert(b.get());
  const PackedName same("same");
  EXPECT_EQ(names.Find(NameKey{1, same.view()}), a.get());
  EXPECT_EQ(names.Find(NameKey{2, same.view()}), b.get());
  EXPECT_EQ(names.Find(NameKey{3, same.view()}), nullptr);
  names.Erase(a.get());
  EXPECT_EQ(names.Find(NameKey{1, same.view()}), nullptr);
  EXPECT_EQ(names.Find(NameKey{2, same.view()}), b.get());
}

TEST(EntryIndex, IdsAreFoundAndVisitedOnce) {
  IdIndex ids;
  std::vector<EntryPtr> entries;
  for (uint64_t i = 0; i < 20'000; ++i) entries.push_back(Make(0, "", i << 20));
  for (const EntryPtr& entry : entries) ids.Insert(entry.get());
  for (const EntryPtr& entry : entries) ASSERT_EQ(ids.Find(entry->id), entry.get());
  EXPECT_EQ(ids.Find(uint64_t{1}), nullptr);
  size_t visited = 0;
  ids.ForEach([&visited](Entry* entry) {
    entry->pin = 1;
    ++visited;
  });
  EXPECT_EQ(visited, entries.size());
  for (const EntryPtr& entry : entries) ASSERT_EQ(entry->pin, 1);
}

TEST(CursorOrder, IsSearchedByCursor) {
  CursorOrder order;
  std::vector<EntryPtr> entries;
  for (uint64_t i = 0; i < 100; ++i) {
    entries.push_back(Make(0, "", i));
    entries.back()->set_cursor(10 * (i + 1));
    order.insert(order.end(), entries.back().get());
  }
  EXPECT_EQ((*order.upper_bound(uint64_t{50}))->cursor(), 60u);
  EXPECT_EQ(order.erase(uint64_t{60}), 1u);
  EXPECT_EQ((*order.upper_bound(uint64_t{50}))->cursor(), 70u);
  EXPECT_EQ(order.erase(uint64_t{60}), 0u);
}

}  // namespace
}  // namespace kvpagefs
