#include "spill/eviction_order.h"

#include <cassert>
#include <initializer_list>

namespace kvpagefs {

EvictionOrder::EvictionOrder(OrderLinks* links, uint64_t protected_limit_blocks)
    : links_(links), protected_limit_blocks_(protected_limit_blocks) {}

void EvictionOrder::Enter(uint32_t item, OrderEntry entry, bool soft) {
  assert(!Contains(item));
  if (entry == OrderEntry::kCold) {
    PushCold(item, soft ? OrderList::kSoft : OrderList::kProbation);
  } else if (soft) {
    PushHot(item, OrderList::kSoft);
  } else if (entry == OrderEntry::kFresh) {
    PushHot(item, OrderList::kProbation);
  } else {
    PushHot(item, OrderList::kProtected);
    LimitProtected();
  }
}

void EvictionOrder::Leave(uint32_t item) {
  OrderLink& link = links_->Link(item);
  assert(link.list != OrderList::kNone);
  Ends& ends = ends_[static_cast<int>(link.list)];
  (link.colder == kNoItem ? ends.coldest : links_->Link(link.colder).hotter) = link.hotter;
  (link.hotter == kNoItem ? ends.hottest : links_->Link(link.hotter).colder) = link.colder;
  if (link.list == OrderList::kProtected) protected_blocks_ -= link.blocks;
  link.colder = link.hotter = kNoItem;
  link.list = OrderList::kNone;
}

uint32_t EvictionOrder::Coldest() const {
  for (const OrderList list : {OrderList::kProbation, OrderList::kProtected, OrderList::kSoft}) {
    if (ColdestOf(list) != kNoItem) return ColdestOf(list);
  }
  return kNoItem;
}

void EvictionOrder::PushHot(uint32_t item, OrderList list) {
  OrderLink& link = links_->Link(item);
  Ends& ends = ends_[static_cast<int>(list)];
  link.list = list;
  link.colder = ends.hottest;
  link.hotter = kNoItem;
  (ends.hottest == kNoItem ? ends.coldest : links_->Link(ends.hottest).hotter) = item;
  ends.hottest = item;
  if (list == OrderList::kProtected) protected_blocks_ += link.blocks;
}

void EvictionOrder::PushCold(uint32_t item, OrderList list) {
  OrderLink& link = links_->Link(item);
  Ends& ends = ends_[static_cast<int>(list)];
  link.list = list;
  link.hotter = ends.coldest;
  link.colder = kNoItem;
  (ends.coldest == kNoItem ? ends.hottest : links_->Link(ends.coldest).colder) = item;
  ends.coldest = item;
}

void EvictionOrder::LimitProtected() {
  while (protected_blocks_ > protected_limit_blocks_) {
    const uint32_t item = ColdestOf(OrderList::kProtected);
    Leave(item);
    PushHot(item, OrderList::kProbation);
  }
}

}  // namespace kvpagefs
