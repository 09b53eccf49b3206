// Pages that were deleted or replaced lately: a node that was away, or had just fetched one, must not bring it back.
// Pure; the caller locks. The oldest are forgotten when there are too many.
#pragma once

#include <cstddef>
#include <deque>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "base/ids.h"

namespace kvpagefs {

class DeletedPages {
 public:
  explicit DeletedPages(size_t max_pages) : max_pages_(max_pages) {}

  void Add(PageId page) {
    if (Restore(page)) unsaved_.push_back(page);
  }
  // As Add, of what is on disk already. False when it is known.
  bool Restore(PageId page) {
    if (!pages_.insert(page.value).second) return false;
    order_.push_back(page);
    if (order_.size() > max_pages_) {
      pages_.erase(order_.front().value);
      order_.pop_front();
    }
    return true;
  }
  bool Contains(PageId page) const { return pages_.contains(page.value); }
  size_t size() const { return order_.size(); }
  // Added since the last call.
  std::vector<PageId> TakeUnsaved() { return std::exchange(unsaved_, {}); }

 private:
  const size_t max_pages_;
  absl::flat_hash_set<uint64_t> pages_;
  std::deque<PageId> order_;
  std::vector<PageId> unsaved_;
};

}  // namespace kvpagefs
