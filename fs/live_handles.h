// The handles that the kernel has and has not given back: what is left of them at the end of a session is closed by us.
// Any thread.
#pragma once

#include <utility>
#include <vector>

#include <absl/container/flat_hash_set.h>

#include "base/mutex.h"

namespace kvpagefs {

template <class Handle>
class LiveHandles {
 public:
  void Add(Handle* handle) {
    MutexLock lock(mutex_);
    handles_.insert(handle);
  }
  void Remove(Handle* handle) {
    MutexLock lock(mutex_);
    handles_.erase(handle);
  }
  // Empties the set.
  std::vector<Handle*> TakeAll() {
    MutexLock lock(mutex_);
    std::vector<Handle*> all(handles_.begin(), handles_.end());
    handles_.clear();
    return all;
  }

 private:
  Mutex mutex_;
  absl::flat_hash_set<Handle*> handles_ KVP_GUARDED_BY(mutex_);
};

}  // namespace kvpagefs
