#include "net/net_threads.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <string>

#include <asio/steady_timer.hpp>

#include "net/event_loop.h"

namespace kvpagefs {

// One thread runs the context: Asio needs no locks among its handlers, only towards other threads.
EventLoop::EventLoop(size_t number) : io_(std::make_unique<asio::io_context>(1)), work_(io_->get_executor()) {
  // Asio opens its descriptors with the first object of a kind; later there may be none left.
  const Socket socket(*io_);
  const asio::steady_timer timer(*io_);
  thread_ = std::thread([this] { io_->run(); });
  pthread_setname_np(thread_.native_handle(), ("net-" + std::to_string(number)).c_str());
}

void EventLoop::Stop() {
  work_.reset();
  io_->stop();
  thread_.join();
  {
    MutexLock lock(mutex_);
    alive_ = false;
  }
  io_.reset();
}

NetThreads::NetThreads(size_t threads) : state_(std::make_unique<State>()) {
  for (size_t i = 0; i < std::max<size_t>(threads, 1); ++i) state_->loops.push_back(std::make_shared<EventLoop>(i));
}

NetThreads::~NetThreads() {
  for (const auto& loop : state_->loops) loop->Stop();
}

void NetThreads::After(int64_t delay_ms, std::function<void()> work) {
  asio::io_context& io = state_->Next()->io();
  if (delay_ms <= 0) {
    asio::post(io, std::move(work));
    return;
  }
  auto timer = std::make_shared<asio::steady_timer>(io, std::chrono::milliseconds(delay_ms));
  timer->async_wait([timer, work = std::move(work)](const std::error_code& error) {
    if (!error) work();
  });
}

}  // namespace kvpagefs
