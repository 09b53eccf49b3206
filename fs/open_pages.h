// The published pages that are open for reading, with their facts: what fstat answers when the name is gone.
// Any thread.
#pragma once

#include <cstdint>
#include <optional>

#include <absl/container/flat_hash_map.h>

#include "base/mutex.h"
#include "meta/types.h"

namespace kvpagefs {

class OpenPages {
 public:
  void Add(const PageInfo& page) {
    MutexLock lock(mutex_);
    Entry& entry = pages_[page.id.value];
    entry.page = page;
    ++entry.opens;
  }
  void Remove(PageId id) {
    MutexLock lock(mutex_);
    const auto found = pages_.find(id.value);
    if (found != pages_.end() && --found->second.opens == 0) pages_.erase(found);
  }
  std::optional<PageInfo> Find(PageId id) const {
    MutexLock lock(mutex_);
    const auto found = pages_.find(id.value);
    if (found == pages_.end()) return std::nullopt;
    return found->second.page;
  }
  size_t size() const {
    MutexLock lock(mutex_);
    return pages_.size();
  }

 private:
  struct Entry {
    PageInfo page;
    uint64_t opens = 0;
  };
  mutable Mutex mutex_;
  absl::flat_hash_map<uint64_t, Entry> pages_ KVP_GUARDED_BY(mutex_);
};

}  // namespace kvpagefs
