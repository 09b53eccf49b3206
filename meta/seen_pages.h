// What the last look-ups said about where pages are: a bounded memory of the latest ones. Pure; the caller locks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include <absl/container/flat_hash_map.h>

#include "base/ids.h"
#include "meta/replica.h"

namespace kvpagefs {

class SeenPages {
 public:
  // Between this many and twice as many are remembered.
  explicit SeenPages(size_t generation = 32'768) : generation_(generation) {}

  void Put(PageId id, Replicas replicas) {
    if (now_.size() >= generation_) before_ = std::exchange(now_, {});
    before_.erase(id.value);
    now_[id.value] = std::move(replicas);
  }
  void Erase(PageId id) {
    now_.erase(id.value);
    before_.erase(id.value);
  }
  void Clear() {
    now_.clear();
    before_.clear();
  }
  const Replicas* Find(PageId id) const {
    for (const auto* table : {&now_, &before_}) {
      const auto found = table->find(id.value);
      if (found != table->end()) return &found->second;
    }
    return nullptr;
  }
  size_t size() const { return now_.size() + before_.size(); }

 private:
  size_t generation_;
  absl::flat_hash_map<uint64_t, Replicas> now_;
  absl::flat_hash_map<uint64_t, Replicas> before_;
};

}  // namespace kvpagefs
