// What became known of pages, and when: tells whether the answer to a change, which may have waited for other nodes, is
// older than something that came in the meantime. Bounded. Pure; the caller locks.
#pragma once

#include <cstddef>
#include <cstdint>

#include <absl/container/flat_hash_map.h>

#include "base/ids.h"

namespace kvpagefs {

class PageNews {
 public:
  enum class Since : uint8_t { kNothing, kChanged, kGone };

  explicit PageNews(size_t limit = 4096) : limit_(limit) {}

  uint64_t now() const { return now_; }
  void Changed(PageId id) { Note(id, &Times::changed); }
  void Gone(PageId id) { Note(id, &Times::gone); }
  // Since now() was `then`; kChanged also when it is not known any more.
  Since Ask(PageId id, uint64_t then) const {
    const auto found = latest_.find(id.value);
    if (found != latest_.end() && found->second.gone > then) return Since::kGone;
    if (then < known_since_ || (found != latest_.end() && found->second.changed > then)) return Since::kChanged;
    return Since::kNothing;
  }

 private:
  struct Times {
    uint64_t changed = 0;
    uint64_t gone = 0;
  };
  void Note(PageId id, uint64_t Times::* what) {
    ++now_;
    if (latest_.size() >= limit_ && !latest_.contains(id.value)) {
      latest_.clear();
      known_since_ = now_;
    }
    latest_[id.value].*what = now_;
  }

  const size_t limit_;
  uint64_t now_ = 0;
  uint64_t known_since_ = 0;
  absl::flat_hash_map<uint64_t, Times> latest_;
};

}  // namespace kvpagefs
