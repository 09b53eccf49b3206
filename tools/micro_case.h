// One measured operation: what is timed, and what happens before and after it outside of the timed part.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "tools/micro_environment.h"

namespace kvpagefs {

enum class CacheState { kAny, kWarm, kCold };

// One thread calls, in this order: per run BeginRun for both sides; per item and side Prepare, Run, Verify (in the
// run that is not counted), Finish. An error ends the case; the destructor cleans up.
class MicroCase {
 public:
  virtual ~MicroCase() = default;
  virtual size_t ItemCount() const = 0;
  virtual Status BeginRun(size_t /*side*/) { return {}; }
  virtual Status Prepare(size_t /*side*/, size_t /*item*/) { return {}; }
  // The only timed part: no allocation, no formatting.
  virtual Status Run(size_t side, size_t item) = 0;
  virtual Status Verify(size_t /*side*/, size_t /*item*/) { return {}; }
  virtual Status Finish(size_t /*side*/, size_t /*item*/) { return {}; }
};

struct MicroCaseSpec {
  std::string name;         // for --only and JSON
  std::string label;        // for the table
  uint64_t size_bytes = 0;  // 0: the case has no file size
  std::string size_label;   // for the table
  CacheState cache = CacheState::kAny;
  bool direct = false;  // opens with O_DIRECT where the side takes it
  // The environment outlives the case. kNotSupported: this machine cannot run it.
  std::function<Result<std::unique_ptr<MicroCase>>(MicroEnvironment&)> make;
};

// Each family appends its cases.
using MicroCaseList = std::vector<MicroCaseSpec>;
void AddWriteCases(const MicroOptions& options, MicroCaseList& list);
void AddReadCases(const MicroOptions& options, MicroCaseList& list);
void AddMapCases(const MicroOptions& options, MicroCaseList& list);
void AddStatCases(const MicroOptions& options, MicroCaseList& list);
void AddBatchCases(const MicroOptions& options, MicroCaseList& list);
void AddListCases(const MicroOptions& options, MicroCaseList& list);

// All cases that `options.only` selects, in table order; kInvalid lists the names when a word selects none.
Result<MicroCaseList> SelectMicroCases(const MicroOptions& options);

// Steps that families share. Reading one file warms it.
Status ReadFilesOnce(const FileSet& files, std::span<std::byte> buffer);
Status DropFileCache(const std::string& path);

}  // namespace kvpagefs
