#include "tools/trace_workload.h"

#include <absl/container/flat_hash_map.h>
#include <fmt/format.h>

#include "tools/text_table.h"

namespace kvpagefs {

PageKey BlockKey(uint64_t block_id) {
  std::array<std::byte, 8> bytes{};
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(block_id >> (8 * i));
  return Sha256(bytes);
}

Workload MakeTraceWorkload(std::span<const TraceRequest> requests, const std::string& model, uint64_t page_bytes) {
  Workload workload;
  workload.model = model;
  workload.page_bytes = page_bytes;
  workload.description = fmt::format("trace, {} requests, {} a block", requests.size(), ShortSize(page_bytes));
  absl::flat_hash_map<uint64_t, uint32_t> index;
  for (const TraceRequest& traced : requests) {
    WorkloadRequest request;
    request.pages.reserve(traced.block_ids.size());
    for (const uint64_t id : traced.block_ids) {
      const auto [found, added] = index.try_emplace(id, static_cast<uint32_t>(workload.pages.size()));
      if (added) workload.pages.push_back(BlockKey(id));
      request.pages.push_back(found->second);
    }
    request.prompt_pages = static_cast<uint32_t>(request.pages.size());
    workload.requests.push_back(std::move(request));
  }
  return workload;
}

}  // namespace kvpagefs
