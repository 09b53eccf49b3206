// A PageReader in a process of its own, so that nothing a page was written with is still in the reader's hands.
//
// Protocol over a socket pair, fixed-size records of the same program: the parent sends a request's index, the child
// answers a Reply; kEndOfRequests makes the child send its statistics and exit. End of file on either side ends the
// other one.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "tools/page_reader.h"
#include "tools/unique_fd.h"

namespace kvpagefs {

class ForkedReader final : public HitSource {
 public:
  // Forks: the calling process has one thread. `workload` outlives the reader.
  static Result<std::unique_ptr<ForkedReader>> Start(const Workload& workload, const std::string& directory);
  // Ends the child and waits for it.
  ~ForkedReader() override;

  Result<uint32_t> Serve(size_t request_index) override;
  Result<ReaderStats> Finish() override;
  int ProcessId() const override { return child_; }

 private:
  ForkedReader(pid_t child, UniqueFd channel) : child_(child), channel_(std::move(channel)) {}

  const pid_t child_;
  UniqueFd channel_;
};

}  // namespace kvpagefs
