// Waiting for a condition with a deadline.
#pragma once

#include <chrono>
#include <thread>

namespace kvpagefs::mount_test {

using Seconds = std::chrono::duration<double>;

// Polls until `condition` holds; false when it did not in time.
template <class Condition>
bool WaitUntil(Condition condition, Seconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

class Stopwatch {
 public:
  double seconds() const { return Seconds(std::chrono::steady_clock::now() - start_).count(); }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace kvpagefs::mount_test
