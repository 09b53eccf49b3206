// The node: the memory tier, the names, the pages being written, and the counters, without FUSE. What the FUSE
// operations (fs/ops_*.cc) and the virtual files (fs/virtual_files.cc) work on.
#pragma once

#include <memory>

#include "base/log.h"
#include "base/result.h"
#include "fs/options.h"

namespace kvpagefs {

class Node {
 public:
  // Maps the segment, opens the state directory. Errors are those of Segment::Map and EmbeddedMeta::Open.
  static Result<std::unique_ptr<Node>> Create(const Options& options, Log log);
  ~Node();
  // No request comes any more: leaves the cluster, and closes what the kernel still had open. Called by the session.
  void EndSession();

  struct State;
  State& state() { return *state_; }

 private:
  explicit Node(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace kvpagefs
