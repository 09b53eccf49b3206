// Which pages were read lately: the memory of the admission rule and of reclaim.
//
// The ids of the last `capacity` reads, each once, oldest forgotten first. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <absl/container/flat_hash_map.h>

#include "base/ids.h"
#include "base/mutex.h"

namespace kvpagefs {

class ReadHistory {
 public:
  explicit ReadHistory(size_t capacity) : ring_(capacity) {}

  // Notes the read; true when the page was in the history already.
  bool Note(PageId id) {
    MutexLock lock(mutex_);
    const auto [found, is_new] = place_.try_emplace(id.value, next_);
    if (!is_new) ring_[found->second] = 0;
    if (ring_[next_] != 0) place_.erase(ring_[next_]);
    ring_[next_] = id.value;
    place_[id.value] = next_;
    next_ = (next_ + 1) % ring_.size();
    return !is_new;
  }
  bool Contains(PageId id) const {
    MutexLock lock(mutex_);
    return place_.contains(id.value);
  }
  void Forget(PageId id) {
    MutexLock lock(mutex_);
    const auto found = place_.find(id.value);
    if (found == place_.end()) return;
    ring_[found->second] = 0;
    place_.erase(found);
  }

 private:
  mutable Mutex mutex_;
  std::vector<uint64_t> ring_ KVP_GUARDED_BY(mutex_);  // page ids, 0: free
  size_t next_ KVP_GUARDED_BY(mutex_) = 0;
  absl::flat_hash_map<uint64_t, size_t> place_ KVP_GUARDED_BY(mutex_);  // in the ring
};

}  // namespace kvpagefs
