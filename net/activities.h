// What is under way for one server or client, so that its destructor can end all of it and wait.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>

#include "base/mutex.h"

namespace kvpagefs {

// Any thread.
class Activities {
 public:
  // `stop` asks for the end, from any thread, also when it has come already. 0 after StopAndWait: do not begin.
  uint64_t Begin(std::function<void()> stop) KVP_EXCLUDES(mutex_);
  void End(uint64_t id) KVP_EXCLUDES(mutex_);
  // A single callback, which is not stopped.
  void Enter() KVP_EXCLUDES(mutex_);
  void Leave() KVP_EXCLUDES(mutex_);
  size_t Count() const KVP_EXCLUDES(mutex_);
  // Stops all and returns when there is nothing. Not from within an activity.
  void StopAndWait() KVP_EXCLUDES(mutex_);

 private:
  mutable Mutex mutex_;
  CondVar changed_;
  bool stopping_ KVP_GUARDED_BY(mutex_) = false;
  uint64_t last_id_ KVP_GUARDED_BY(mutex_) = 0;
  size_t callbacks_ KVP_GUARDED_BY(mutex_) = 0;
  std::map<uint64_t, std::function<void()>> stops_ KVP_GUARDED_BY(mutex_);
};

}  // namespace kvpagefs
