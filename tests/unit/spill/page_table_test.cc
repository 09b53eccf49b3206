#include "spill/page_table.h"

#include <memory>
#include <vector>

#include <gtest/gtest.h>

namespace kvpagefs {
namespace {

TEST(PageTable, FindsAmongThousands) {
  constexpr uint32_t kPages = 20'000;
  constexpr uint32_t kHeaderBlocks = kPages / kSlotsPerBlock;
  struct alignas(kBlockBytes) Block {
    std::byte bytes[kBlockBytes];
  };
  const auto memory = std::make_unique<Block[]>(kHeaderBlocks);
  HeaderSlots slots(memory[0].bytes);
  PageTable table(&slots);
  std::vector<PageSlot*> pages;
  for (uint32_t i = 0; i < kPages; ++i) {
    if (!slots.HasFree()) slots.AddBlock(i / kSlotsPerBlock);
    pages.push_back(&slots.Take());
    pages.back()->header.page_id = PageId::Make(static_cast<uint16_t>(1 + i % 3), i / 3).value;
    ASSERT_TRUE(table.Insert(*pages.back()));
  }
  EXPECT_EQ(table.size(), kPages);
  EXPECT_FALSE(table.Insert(*pages[5]));
  for (uint32_t i = 0; i < kPages; i += 2) ASSERT_TRUE(table.Erase(pages[i]->id()));
  EXPECT_FALSE(table.Erase(pages[0]->id()));
  EXPECT_EQ(table.size(), kPages / 2);
  for (uint32_t i = 0; i < kPages; ++i) {
    ASSERT_EQ(table.Find(pages[i]->id()), i % 2 == 0 ? nullptr : pages[i]) << i;
  }
  EXPECT_EQ(table.Find(PageId::Make(9, 1)), nullptr);
}

// The same id in another slot is the same page for the table.
TEST(PageTable, OneSlotAnId) {
  struct alignas(kBlockBytes) Block {
    std::byte bytes[kBlockBytes];
  };
  const auto memory = std::make_unique<Block>();
  HeaderSlots slots(memory->bytes);
  PageTable table(&slots);
  slots.AddBlock(0);
  PageSlot& a = slots.Take();
  PageSlot& b = slots.Take();
  a.header.page_id = b.header.page_id = PageId::Make(1, 1).value;
  EXPECT_TRUE(table.Insert(a));
  EXPECT_FALSE(table.Insert(b));
  EXPECT_EQ(table.Find(a.id()), &a);
}

}  // namespace
}  // namespace kvpagefs
