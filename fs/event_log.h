// The last things that happened on this node, for /.kvpagefs/events. Any thread; bounded.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "meta/types.h"

namespace kvpagefs {

class EventLog {
 public:
  static constexpr size_t kCapacity = 1024;

  // `what`: one word such as "publish", "unlink", "evict", "abandon".
  void Add(int64_t wall_ns, std::string_view what, const NameRef& name, uint64_t bytes);

  // A line each, oldest first: sequence number, time (UTC, ISO 8601), word, bytes, directory id, name with bytes
  // outside of printable ASCII and '\' written as \ooo.
  std::string Text() const;

 private:
  struct Event {
    uint64_t number = 0;
    int64_t wall_ns = 0;
    std::string what;
    NameRef name;
    uint64_t bytes = 0;
  };
  mutable Mutex mutex_;
  uint64_t next_ KVP_GUARDED_BY(mutex_) = 1;
  std::deque<Event> events_ KVP_GUARDED_BY(mutex_);
};

}  // namespace kvpagefs
