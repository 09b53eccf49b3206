// The command line of `kvpagebench conversation`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "tools/conversation_workload.h"
#include "tools/option_reader.h"
#include "tools/workload_run.h"

namespace kvpagefs {

struct ConversationOptions {
  WorkloadRunOptions run;
  ConversationShape shape;
  std::optional<std::string> trace;  // replayed instead of the generated conversation
  uint64_t trace_requests = ~uint64_t{0};
  uint64_t trace_page_bytes = uint64_t{64} * 1024;
  bool json = false;
  bool help = false;
};

std::string ConversationHelp();

// Errors are kInvalid, or what the directory answered.
Result<ConversationOptions> ParseConversationOptions(Arguments arguments);

}  // namespace kvpagefs
