#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <thread>

namespace kvpagefs::net_test {

inline constexpr std::chrono::seconds kPatience{60};

// Polls a condition that nothing announces.
template <class Condition>
bool WaitFor(Condition condition) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

template <class T>
T Await(std::future<T> future) {
  if (future.wait_for(kPatience) != std::future_status::ready) {
    ADD_FAILURE() << "waited in vain";
    std::terminate();
  }
  return future.get();
}

}  // namespace kvpagefs::net_test
