// SIGINT and SIGTERM as a question that a loop asks, so that a measurement can clean up before it ends.
#pragma once

#include <csignal>

#include "tools/unique_fd.h"

namespace kvpagefs {

// Blocks both signals in the calling thread and in threads it starts while the object exists; make it before them, and
// destroy it in the same thread.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  // True once a signal came, and from then on. One thread.
  bool Requested();

 private:
  sigset_t old_mask_{};
  UniqueFd fd_;
  bool requested_ = false;
};

}  // namespace kvpagefs
