#include "spill/eviction_order.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kvpagefs {
namespace {

using testing::ElementsAre;

class EvictionOrderTest : public testing::Test, public OrderLinks {
 public:
  EvictionOrderTest() : links_(100), order_(this, 20) {
    for (OrderLink& link : links_) link.blocks = 10;
  }
  OrderLink& Link(uint32_t item) override { return links_[item]; }

 protected:
  void Fresh(uint32_t item) { order_.Enter(item, OrderEntry::kFresh, false); }
  void Read(uint32_t item) {
    if (order_.Contains(item)) order_.Leave(item);
    order_.Enter(item, OrderEntry::kRead, false);
  }
  std::vector<uint32_t> Drain() {
    std::vector<uint32_t> items;
    for (uint32_t item = order_.Coldest(); item != kNoItem; item = order_.Coldest()) {
      items.push_back(item);
      order_.Leave(item);
    }
    return items;
  }

  std::vector<OrderLink> links_;
  EvictionOrder order_;  // protects 20 blocks: two items
};

TEST_F(EvictionOrderTest, EmptyHasNoColdest) { EXPECT_EQ(order_.Coldest(), kNoItem); }

TEST_F(EvictionOrderTest, UnreadGoInTheOrderTheyCame) {
  for (uint32_t item : {3, 1, 2}) Fresh(item);
  EXPECT_THAT(Drain(), ElementsAre(3, 1, 2));
}

TEST_F(EvictionOrderTest, ReadGoInTheOrderOfTheirLastRead) {
  for (uint32_t item = 0; item < 6; ++item) Fresh(item);
  for (uint32_t item : {4, 0, 5, 2, 1, 3, 4}) Read(item);
  EXPECT_THAT(Drain(), ElementsAre(0, 5, 2, 1, 3, 4));
}

TEST_F(EvictionOrderTest, AFloodOfUnreadPagesDoesNotPushOutReadOnes) {
  Fresh(1);
  Fresh(2);
  Read(1);
  Read(2);
  for (uint32_t item = 10; item < 90; ++item) {
    Fresh(item);
    if (item >= 13) order_.Leave(order_.Coldest());
  }
  EXPECT_THAT(Drain(), ElementsAre(87, 88, 89, 1, 2));
}

TEST_F(EvictionOrderTest, WhatFallsOffProtectedIsTheHottestOnProbation) {
  for (uint32_t item = 0; item < 4; ++item) Fresh(item);
  for (uint32_t item = 0; item < 3; ++item) Read(item);
  EXPECT_EQ(order_.protected_blocks(), 20u);
  EXPECT_THAT(Drain(), ElementsAre(3, 0, 1, 2));
}

TEST_F(EvictionOrderTest, AnItemLargerThanTheProtectedShareIsOrdinary) {
  links_[1].blocks = 21;
  Fresh(2);
  Read(1);
  EXPECT_EQ(order_.protected_blocks(), 0u);
  EXPECT_THAT(Drain(), ElementsAre(2, 1));
}

TEST_F(EvictionOrderTest, ColdGoesNext) {
  for (uint32_t item : {1, 2}) Fresh(item);
  order_.Enter(3, OrderEntry::kCold, false);
  EXPECT_THAT(Drain(), ElementsAre(3, 1, 2));
  order_.Enter(4, OrderEntry::kCold, false);
  Fresh(5);
  EXPECT_THAT(Drain(), ElementsAre(4, 5));
}

TEST_F(EvictionOrderTest, SoftOnesGoLastAndInTheirOwnOrder) {
  order_.Enter(1, OrderEntry::kFresh, true);
  order_.Enter(2, OrderEntry::kRead, true);
  order_.Enter(3, OrderEntry::kFresh, true);
  order_.Enter(4, OrderEntry::kCold, true);
  Fresh(5);
  Read(6);
  EXPECT_THAT(Drain(), ElementsAre(5, 6, 4, 1, 2, 3));
}

TEST_F(EvictionOrderTest, LeavesFromAnyPlace) {
  for (uint32_t item = 0; item < 5; ++item) Fresh(item);
  for (uint32_t item : {0, 2, 4}) order_.Leave(item);
  EXPECT_FALSE(order_.Contains(2));
  EXPECT_THAT(Drain(), ElementsAre(1, 3));
}

}  // namespace
}  // namespace kvpagefs
