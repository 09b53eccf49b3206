#include "spill/header_slots.h"

#include <memory>
#include <set>

#include <gtest/gtest.h>

namespace kvpagefs {
namespace {

class HeaderSlotsTest : public testing::Test {
 protected:
  struct alignas(kBlockBytes) Block {
    std::byte bytes[kBlockBytes];
  };
  std::unique_ptr<Block[]> memory_ = std::make_unique<Block[]>(8);
  HeaderSlots slots_{memory_[0].bytes};
};

TEST_F(HeaderSlotsTest, ABlockHas32Slots) {
  EXPECT_FALSE(slots_.HasFree());
  slots_.AddBlock(3);
  std::set<uint32_t> numbers;
  for (int i = 0; i < 32; ++i) {
    ASSERT_TRUE(slots_.HasFree());
    PageSlot& slot = slots_.Take();
    EXPECT_EQ(&slots_.At(slot.state.slot), &slot);
    EXPECT_EQ(&slots_.Link(slot.state.slot), &slot.state.link);
    EXPECT_GE(reinterpret_cast<std::byte*>(&slot), memory_[3].bytes);
    EXPECT_LT(reinterpret_cast<std::byte*>(&slot), memory_[4].bytes);
    numbers.insert(slot.state.slot);
  }
  EXPECT_EQ(numbers.size(), 32u);
  EXPECT_FALSE(slots_.HasFree());
  EXPECT_EQ(slots_.blocks(), 1u);
}

TEST_F(HeaderSlotsTest, OneEmptyBlockIsKeptAndTheNextGoesBack) {
  slots_.AddBlock(3);
  std::vector<PageSlot*> taken;
  for (int i = 0; i < 32; ++i) taken.push_back(&slots_.Take());
  slots_.AddBlock(5);
  PageSlot& second = slots_.Take();
  EXPECT_FALSE(slots_.Give(second).has_value());
  EXPECT_EQ(slots_.spare_blocks(), 1u);
  std::optional<uint32_t> surplus;
  for (PageSlot* slot : taken) {
    EXPECT_FALSE(surplus.has_value());
    surplus = slots_.Give(*slot);
  }
  EXPECT_EQ(surplus, 3u);
  EXPECT_EQ(slots_.blocks(), 1u);
  EXPECT_EQ(slots_.TakeSpare(), 5u);
  EXPECT_EQ(slots_.TakeSpare(), std::nullopt);
  EXPECT_EQ(slots_.blocks(), 0u);
  EXPECT_FALSE(slots_.HasFree());
  slots_.AddBlock(1);
  EXPECT_EQ(reinterpret_cast<std::byte*>(&slots_.Take()), memory_[1].bytes);
}

TEST_F(HeaderSlotsTest, AGivenSlotIsClean) {
  slots_.AddBlock(0);
  PageSlot& slot = slots_.Take();
  slot.header.magic = kPageHeaderMagic;
  slot.header.page_id = 9;
  slot.state.more_extents = new Extent[3];
  slot.state.holds = 2;
  EXPECT_FALSE(slots_.Give(slot).has_value());
  EXPECT_EQ(slot.header.magic, 0u);
  PageSlot& again = slots_.Take();
  EXPECT_EQ(again.header.page_id, 0u);
  EXPECT_EQ(again.state.more_extents, nullptr);
  EXPECT_EQ(again.state.holds, 0u);
}

TEST_F(HeaderSlotsTest, VisitsUsedSlotsOnly) {
  slots_.AddBlock(2);
  PageSlot& a = slots_.Take();
  PageSlot& b = slots_.Take();
  EXPECT_FALSE(slots_.Give(a).has_value());
  std::vector<const PageSlot*> seen;
  std::vector<uint32_t> blocks;
  slots_.ForEach([&](const PageSlot& slot) { seen.push_back(&slot); },
                 [&](uint32_t block) { blocks.push_back(block); });
  EXPECT_EQ(seen, (std::vector<const PageSlot*>{&b}));
  EXPECT_EQ(blocks, (std::vector<uint32_t>{2}));
}

TEST_F(HeaderSlotsTest, ExtentsContinueBehindTheHeader) {
  slots_.AddBlock(0);
  PageSlot& slot = slots_.Take();
  slot.header.extents[1] = {.first = 4, .count = 5};
  slot.state.more_extents = new Extent[1]{{.first = 6, .count = 7}};
  EXPECT_EQ(slot.extent(1), (Extent{.first = 4, .count = 5}));
  EXPECT_EQ(slot.extent(2), (Extent{.first = 6, .count = 7}));
  EXPECT_FALSE(slots_.Give(slot).has_value());
}

}  // namespace
}  // namespace kvpagefs
