// One thread of NetThreads and what runs on it. Private to net/, as every header that knows Asio.
#pragma once

#include <atomic>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/post.hpp>

#include "base/mutex.h"
#include "net/net_threads.h"

namespace kvpagefs {

using Socket = asio::ip::tcp::socket;

// Objects that may outlive NetThreads (a closed link that somebody keeps) share the loop, so that they can still ask.
class EventLoop {
 public:
  explicit EventLoop(size_t number);
  // Only while what uses the loop is within the life of NetThreads.
  asio::io_context& io() { return *io_; }
  // Runs `work` on the thread; after Stop it is destroyed unused.
  template <class Work>
  void PostIfAlive(Work&& work) KVP_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    if (alive_) asio::post(*io_, std::forward<Work>(work));
  }
  bool InThread() const { return std::this_thread::get_id() == thread_.get_id(); }
  // Joins the thread; what is still queued is destroyed.
  void Stop() KVP_EXCLUDES(mutex_);

 private:
  std::unique_ptr<asio::io_context> io_;
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  Mutex mutex_;
  bool alive_ KVP_GUARDED_BY(mutex_) = true;
  std::thread thread_;
};

struct NetThreads::State {
  std::vector<std::shared_ptr<EventLoop>> loops;
  std::atomic<size_t> turn{0};

  const std::shared_ptr<EventLoop>& Next() { return loops[turn.fetch_add(1) % loops.size()]; }
};

}  // namespace kvpagefs
