#include <string>
#include <vector>

#include <fmt/format.h>

#include "spill/memory_tier.h"
#include "spill/memory_tier_state.h"

namespace kvpagefs {
namespace {

// Looks at everything once and keeps the first difference. The caller holds the tier's lock.
class TierCheck {
 public:
  explicit TierCheck(uint64_t blocks) : owned_(blocks) {}

  template <class... Args>
  void Expect(bool condition, fmt::format_string<Args...> format, Args&&... args) {
    if (!condition && difference_.empty()) difference_ = fmt::format(format, std::forward<Args>(args)...);
  }
  void Own(Extent extent, const char* owner) {
    Expect(uint64_t{extent.first} + extent.count <= owned_.size(), "{}: extent outside of the segment", owner);
    if (!difference_.empty()) return;
    for (uint32_t block = extent.first; block < extent.first + extent.count; ++block) {
      Expect(!owned_[block], "{}: block {} has two owners", owner, block);
      owned_[block] = true;
    }
    owned_blocks_ += extent.count;
  }
  void Page(const PageSlot& page, const PageTable& table) {
    const PageState& state = page.state;
    const uint64_t id = page.header.page_id;
    Expect(ValidateHeader(page.header), "page {}: invalid header", id);
    if (!difference_.empty()) return;
    uint64_t blocks = 0;
    for (uint32_t i = 0; i < page.extent_count(); ++i) {
      Own(page.extent(i), "page");
      blocks += page.extent(i).count;
    }
    Expect(blocks == state.link.blocks && blocks == BlocksFor(page.header.bytes), "page {}: wrong blocks", id);
    Expect((table.Find(page.id()) == &page) == !state.removed, "page {}: wrong in the table", id);
    Expect(!state.removed || state.holds > 0, "page {}: removed, not held, not freed", id);
    const bool listed = state.link.list != OrderList::kNone;
    const PageClass page_class = MemoryTierState::ClassOf(page);
    Expect(listed || page_class != PageClass::kEvictable, "page {}: evictable, but in no order", id);
    Expect(!listed || (state.pin != Pin::kHard && !state.removed && !state.dirty),
           "page {}: in the order, but may not go", id);
    Expect(!listed || (state.link.list == OrderList::kSoft) == (state.pin == Pin::kSoft), "page {}: wrong order", id);
    class_blocks_[static_cast<int>(page_class)] += blocks;
    holds_ += state.holds;
    listed_ += listed ? 1 : 0;
    found_ += state.removed ? 0 : 1;
  }
  void Order(const EvictionOrder& order, HeaderSlots* slots) {
    uint64_t seen = 0;
    uint64_t protected_blocks = 0;
    for (const OrderList list : {OrderList::kProbation, OrderList::kProtected, OrderList::kSoft}) {
      uint32_t colder = kNoItem;
      for (uint32_t item = order.ColdestOf(list); item != kNoItem && difference_.empty(); ++seen) {
        const OrderLink& link = slots->Link(item);
        Expect(link.list == list && link.colder == colder, "slot {}: broken order links", item);
        if (list == OrderList::kProtected) protected_blocks += link.blocks;
        colder = item;
        item = link.hotter;
      }
      Expect(order.HottestOf(list) == colder, "order {}: wrong hot end", static_cast<int>(list));
    }
    Expect(seen == listed_, "{} pages in the order, {} linked", listed_, seen);
    Expect(protected_blocks == order.protected_blocks(), "protected blocks: {} counted, {} found",
           order.protected_blocks(), protected_blocks);
  }

  const std::string& difference() const { return difference_; }
  uint64_t owned_blocks() const { return owned_blocks_; }
  uint64_t class_blocks(int i) const { return class_blocks_[i]; }
  uint64_t holds() const { return holds_; }
  uint64_t found() const { return found_; }

 private:
  std::string difference_;
  std::vector<bool> owned_;
  uint64_t owned_blocks_ = 0;
  uint64_t class_blocks_[kPageClasses] = {};
  uint64_t holds_ = 0;
  uint64_t listed_ = 0;
  uint64_t found_ = 0;
};

}  // namespace

Status MemoryTier::CheckInvariants() const {
  MemoryTierState& state = *state_;
  MutexLock lock(state.mutex);
  TierCheck check(state.capacity_blocks);
  const PageTable* const table = &state.table;
  const bool allocator_ok = state.allocator.ForEachFree([&check](Extent extent) { check.Own(extent, "free"); });
  check.Expect(allocator_ok, "free extents: the indexes disagree");
  state.slots.ForEach([&](const PageSlot& page) { check.Page(page, *table); },
                      [&](uint32_t block) { check.Own({.first = block, .count = 1}, "header"); });
  check.Order(state.order, &state.slots);
  check.Expect(check.owned_blocks() + state.draft_blocks == state.capacity_blocks, "{} blocks + {} of drafts of {}",
               check.owned_blocks(), state.draft_blocks, state.capacity_blocks);
  for (int i = 0; i < kPageClasses; ++i) {
    check.Expect(check.class_blocks(i) == state.class_blocks[i], "class {}: {} blocks counted, {} found", i,
                 state.class_blocks[i], check.class_blocks(i));
  }
  check.Expect(check.holds() == state.holds, "{} holds counted, {} found", state.holds, check.holds());
  check.Expect(check.found() == state.table.size(), "{} pages in the table, {} found", state.table.size(),
               check.found());
  if (check.difference().empty()) return {};
  return Error(ErrorCode::kInvalid, check.difference());
}

}  // namespace kvpagefs
