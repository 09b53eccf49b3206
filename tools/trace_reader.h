// Request traces in the format of Mooncake's FAST25 traces: one JSON object a line.
//
//   {"timestamp": 27482, "input_length": 6955, "output_length": 52, "hash_ids": [46, 47, 2354]}
//
// timestamp in ms, lengths in tokens, one hash id per 512-token block of the input; equal prefixes have equal ids.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace kvpagefs {

struct TraceRequest {
  uint64_t timestamp_ms = 0;
  uint64_t input_tokens = 0;
  uint64_t output_tokens = 0;
  std::vector<uint64_t> block_ids;
};

inline constexpr size_t kMaxTraceLineBytes = size_t{1} << 20;

// kInvalid says what is wrong with the line, without its number.
Result<TraceRequest> ParseTraceLine(std::string_view line);

// The first `max_requests` requests of the file; empty lines are skipped. Errors name the file, and the line.
Result<std::vector<TraceRequest>> ReadTrace(const std::string& path, uint64_t max_requests);

}  // namespace kvpagefs
