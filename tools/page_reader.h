// The reading half of an engine: looks up a request's pages in order, stops at the first miss, loads and checks the
// hits with the system calls of SGLang (stat; then open, fstat, one read, close).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "tools/aligned_buffer.h"
#include "tools/workload.h"

namespace kvpagefs {

struct ReaderStats {
  std::vector<uint32_t> hits_per_request;
  uint64_t loaded_pages = 0;
  uint64_t loaded_bytes = 0;
  std::vector<int64_t> lookup_ns;
  std::vector<int64_t> load_ns;  // without the check of the bytes
};

// Where a run's hits come from: this process or another one. One thread.
class HitSource {
 public:
  virtual ~HitSource() = default;
  // Requests in order, each once. The number of leading prompt pages that were there and right. A wrong byte, a wrong
  // size, a short read and every error but "not found" end the run; the text names the page.
  virtual Result<uint32_t> Serve(size_t request_index) = 0;
  // After the last Serve.
  virtual Result<ReaderStats> Finish() = 0;
  // The process that reads.
  virtual int ProcessId() const = 0;
};

class PageReader final : public HitSource {
 public:
  // `workload` outlives the reader.
  PageReader(const Workload& workload, std::string directory);

  Result<uint32_t> Serve(size_t request_index) override;
  Result<ReaderStats> Finish() override { return std::move(stats_); }
  int ProcessId() const override;

 private:
  Result<bool> Lookup(const std::string& path);
  // False when the page vanished since its lookup.
  Result<bool> Load(uint32_t page);
  Result<bool> ReadTimed(const std::string& path);
  std::string PathOf(uint32_t page) const;

  const Workload& workload_;
  const std::string directory_;
  SystemClock clock_;
  AlignedBuffer buffer_;
  ReaderStats stats_;
};

}  // namespace kvpagefs
