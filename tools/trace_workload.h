// A recorded trace as a workload: one page per block id, all of a request's blocks are looked up.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "tools/trace_reader.h"
#include "tools/workload.h"

namespace kvpagefs {

// The key of a block is the SHA-256 of its id as 8 bytes, little-endian.
PageKey BlockKey(uint64_t block_id);

Workload MakeTraceWorkload(std::span<const TraceRequest> requests, const std::string& model, uint64_t page_bytes);

}  // namespace kvpagefs
