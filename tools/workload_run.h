// Runs a workload against a directory, as a writer, as a reader, or as both in turns, and compares what the directory
// served with the ideal.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "tools/ideal_hits.h"
#include "tools/page_reader.h"
#include "tools/page_writer.h"
#include "tools/progress.h"
#include "tools/workload.h"

namespace kvpagefs {

enum class WorkloadRole {
  kWrite,  // stores every page once
  kRead,   // looks up, loads and checks, request by request; everything was written before
  kRun,    // per request: look up, load and check the hits, then store the rest
};

struct WorkloadRunOptions {
  WorkloadRole role = WorkloadRole::kRun;
  std::string directory;
  bool reader_process = true;  // kRun: the reader is another process than the writer
  bool remove_pages = false;   // at the end
};

struct WorkloadOutcome {
  WorkloadRole role = WorkloadRole::kRun;
  std::optional<ReaderStats> reader;
  std::optional<WriterStats> writer;
  std::optional<IdealHits> ideal;  // with a reader
  uint64_t hits = 0;
  uint64_t replaced_pages = 0;  // of an earlier run, deleted before this one
  int writer_pid = 0;
  int reader_pid = 0;
  int64_t elapsed_ns = 0;

  // The first request whose hits are not the ideal ones.
  std::optional<size_t> FirstDifference() const;
};

// kRun deletes pages of the same workload that an earlier run left, since they would be hits.
Result<WorkloadOutcome> RunWorkload(const Workload& workload, const WorkloadRunOptions& options, Progress& progress);

}  // namespace kvpagefs
