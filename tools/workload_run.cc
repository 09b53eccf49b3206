#include "tools/workload_run.h"

#include <unistd.h>

#include <memory>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "tools/forked_reader.h"

namespace kvpagefs {
namespace {

struct Run {
  const Workload& workload;
  const WorkloadRunOptions& options;
  Progress& progress;
};

Status WriteEverything(const Run& run, PageWriter& writer) {
  const auto& [workload, options, progress] = run;
  for (uint32_t page = 0; page < workload.pages.size(); ++page) {
    if (page % 64 == 0) progress.Show(fmt::format("writing page {} of {}", page, workload.pages.size()));
    if (Status stored = writer.Store(page); !stored) return stored;
  }
  return {};
}

// `writer` is null for a run that only reads.
Status ServeRequests(const Run& run, HitSource& source, PageWriter* writer) {
  const auto& [workload, options, progress] = run;
  for (size_t i = 0; i < workload.requests.size(); ++i) {
    if (i % 16 == 0) progress.Show(fmt::format("request {} of {}", i, workload.requests.size()));
    const Result<uint32_t> hits = source.Serve(i);
    if (!hits) return hits.error();
    if (writer == nullptr) continue;
    if (Status stored = writer->StoreFrom(workload.requests[i], *hits); !stored) return stored;
  }
  return {};
}

Result<std::unique_ptr<HitSource>> MakeSource(const Run& run) {
  const auto& [workload, options, progress] = run;
  if (options.role == WorkloadRole::kRun && options.reader_process) {
    Result<std::unique_ptr<ForkedReader>> forked = ForkedReader::Start(workload, options.directory);
    if (!forked) return forked.error();
    return std::unique_ptr<HitSource>(std::move(*forked));
  }
  return std::unique_ptr<HitSource>(std::make_unique<PageReader>(workload, options.directory));
}

Status ReadSide(const Run& run, PageWriter* writer, WorkloadOutcome& outcome) {
  Result<std::unique_ptr<HitSource>> source = MakeSource(run);
  if (!source) return source.error();
  outcome.reader_pid = (*source)->ProcessId();
  if (Status served = ServeRequests(run, **source, writer); !served) return served;
  Result<ReaderStats> stats = (*source)->Finish();
  if (!stats) return stats.error();
  outcome.ideal =
      ComputeIdealHits(run.workload, writer == nullptr ? StoredBefore::kEverything : StoredBefore::kEarlierRequests);
  for (const uint32_t hits : stats->hits_per_request) outcome.hits += hits;
  outcome.reader = std::move(*stats);
  return {};
}

}  // namespace

std::optional<size_t> WorkloadOutcome::FirstDifference() const {
  if (!reader.has_value() || !ideal.has_value()) return std::nullopt;
  for (size_t i = 0; i < ideal->per_request.size(); ++i) {
    if (reader->hits_per_request[i] != ideal->per_request[i]) return i;
  }
  return std::nullopt;
}

Result<WorkloadOutcome> RunWorkload(const Workload& workload, const WorkloadRunOptions& options, Progress& progress) {
  WorkloadOutcome outcome;
  outcome.role = options.role;
  PageWriter writer(workload, options.directory);
  if (options.role == WorkloadRole::kRun) {
    const Result<uint64_t> removed = writer.RemovePages();
    if (!removed) return removed.error();
    outcome.replaced_pages = *removed;
  }
  const SystemClock clock;
  const int64_t start_ns = clock.MonotonicNs();
  PageWriter* const writing = options.role == WorkloadRole::kRead ? nullptr : &writer;
  const Run run{workload, options, progress};
  const Status done =
      options.role == WorkloadRole::kWrite ? WriteEverything(run, writer) : ReadSide(run, writing, outcome);
  if (!done) return done.error();
  outcome.elapsed_ns = clock.MonotonicNs() - start_ns;
  if (writing != nullptr) {
    outcome.writer = writer.stats();
    outcome.writer_pid = ::getpid();
  }
  if (options.remove_pages) {
    const Result<uint64_t> removed = writer.RemovePages();
    if (!removed) return removed.error();
  }
  progress.Clear();
  return outcome;
}

}  // namespace kvpagefs
