// Answers those who want what they changed to be on disk, from a thread of its own: the waiting is done there.
// Everybody who asks while one flush is under way shares the next one. Any thread.
#pragma once

#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"

namespace kvpagefs {

class StoreSyncer {
 public:
  // Must return in bounded time.
  using Flush = std::function<Status()>;
  using Done = std::function<void(Result<void>)>;

  explicit StoreSyncer(Flush flush) : flush_(std::move(flush)) {}
  ~StoreSyncer() { Stop(); }

  void Start();
  // Answers those who wait, and returns when the thread is gone. Later requests are flushed by their callers.
  void Stop();
  // `done` runs in the syncer's thread, without locks.
  void Sync(Done done);

 private:
  void Run();
  bool TakeWaiting(std::vector<Done>* waiting);

  const Flush flush_;
  Mutex mutex_;
  CondVar wake_;
  std::vector<Done> waiting_ KVP_GUARDED_BY(mutex_);  // bounded by the callers: one a request of the kernel
  bool running_ KVP_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace kvpagefs
