// The threads on which all network input and output of a process runs. Callbacks of net/ run here and must not block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

namespace kvpagefs {

class NetThreads {
 public:
  // At least one thread; each has an event loop of its own, named "net-N".
  explicit NetThreads(size_t threads);
  // Everything that uses the threads must be gone.
  ~NetThreads();

  // Runs `work` on one of the threads after `delay_ms`; cannot be taken back. Not later than the destruction.
  void After(int64_t delay_ms, std::function<void()> work);

  struct State;
  State& state() { return *state_; }  // for the files of net/

 private:
  std::unique_ptr<State> state_;
};

}  // namespace kvpagefs
