// One answer for an operation in several parts. Any thread.
#pragma once

#include <cstddef>
#include <functional>
#include <utility>

#include "base/mutex.h"
#include "base/result.h"

namespace kvpagefs {

// The answer is the first error, or success.
class Joined {
 public:
  Joined(size_t parts, std::function<void(const Status&)> done) : left_(parts), done_(std::move(done)) {}
  void Add(const Status& status) {
    Status result;
    {
      MutexLock lock(mutex_);
      if (result_.ok() && !status.ok()) result_ = status;
      if (--left_ > 0) return;
      result = result_;
    }
    done_(result);
  }

 private:
  Mutex mutex_;
  size_t left_ KVP_GUARDED_BY(mutex_);
  Status result_ KVP_GUARDED_BY(mutex_);
  const std::function<void(const Status&)> done_;
};

}  // namespace kvpagefs
