// In which order pages leave the memory tier. Pure: works on links that somebody else stores; the caller locks.
//
// Segmented LRU. A page enters on *probation*; a read moves it to the hot end of *protected*, whose size is limited:
// what falls off its cold end goes back to the hot end of probation. The coldest page of probation goes first, so pages
// that were never read (a flood of writes) push out each other and not the pages that are read again and again.
// Softly pinned pages have a least-recently-used order of their own that is touched when the other two are empty.
// Every operation is O(1), except that one entry may demote several small pages in exchange for one large one.
#pragma once

#include <cstdint>

namespace kvpagefs {

inline constexpr uint32_t kNoItem = UINT32_MAX;

enum class OrderList : uint8_t { kNone, kProbation, kProtected, kSoft };
inline constexpr int kOrderLists = 4;

// Part of every item. `blocks` is the owner's to set while the item is in no list.
struct OrderLink {
  uint32_t colder = kNoItem;
  uint32_t hotter = kNoItem;
  uint32_t blocks = 0;
  OrderList list = OrderList::kNone;
};
static_assert(sizeof(OrderLink) == 16);

// Where the links are.
class OrderLinks {
 public:
  virtual OrderLink& Link(uint32_t item) = 0;

 protected:
  ~OrderLinks() = default;
};

enum class OrderEntry : uint8_t {
  kFresh,  // was never read
  kRead,   // was just read
  kCold,   // goes next
};

class EvictionOrder {
 public:
  // `links` outlives the order.
  EvictionOrder(OrderLinks* links, uint64_t protected_limit_blocks);

  // The item must be in no list.
  void Enter(uint32_t item, OrderEntry entry, bool soft);
  // The item must be in a list.
  void Leave(uint32_t item);
  bool Contains(uint32_t item) const { return links_->Link(item).list != OrderList::kNone; }
  // What is to be evicted next; kNoItem when there is nothing.
  uint32_t Coldest() const;

  // For tests and checks.
  uint32_t ColdestOf(OrderList list) const { return ends_[static_cast<int>(list)].coldest; }
  uint32_t HottestOf(OrderList list) const { return ends_[static_cast<int>(list)].hottest; }
  uint64_t protected_blocks() const { return protected_blocks_; }
  uint64_t protected_limit_blocks() const { return protected_limit_blocks_; }

 private:
  struct Ends {
    uint32_t coldest = kNoItem;
    uint32_t hottest = kNoItem;
  };
  void PushHot(uint32_t item, OrderList list);
  void PushCold(uint32_t item, OrderList list);
  void LimitProtected();

  OrderLinks* links_;
  uint64_t protected_limit_blocks_;
  uint64_t protected_blocks_ = 0;
  Ends ends_[kOrderLists];
};

}  // namespace kvpagefs
