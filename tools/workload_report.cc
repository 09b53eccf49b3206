#include "tools/workload_report.h"

#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tools/latency.h"
#include "tools/text_table.h"

namespace kvpagefs {
namespace {

using nlohmann::ordered_json;

std::string_view RoleWord(WorkloadRole role) {
  return role == WorkloadRole::kWrite ? "write" : role == WorkloadRole::kRead ? "read" : "run";
}

double Percent(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

double MebibytesPerSecond(uint64_t bytes, const std::vector<int64_t>& durations_ns) {
  int64_t sum_ns = 0;
  for (const int64_t duration_ns : durations_ns) sum_ns += duration_ns;
  return sum_ns == 0 ? 0 : static_cast<double>(bytes) / (1 << 20) / (static_cast<double>(sum_ns) / 1e9);
}

std::string LatencyLine(std::string_view what, const std::vector<int64_t>& samples_ns) {
  const LatencySummary summary = Summarize(samples_ns);
  return fmt::format("  {:<8} p50 {:>8} us   p99 {:>8} us   ({} calls)\n", what, ShortNumber(summary.median_us),
                     ShortNumber(summary.p99_us), summary.count);
}

ordered_json LatencyJson(const std::vector<int64_t>& samples_ns) {
  const LatencySummary summary = Summarize(samples_ns);
  return {{"count", summary.count},
          {"p50_us", summary.median_us},
          {"p99_us", summary.p99_us},
          {"mean_us", summary.mean_us},
          {"max_us", summary.max_us}};
}

std::string ProcessLine(const WorkloadOutcome& outcome) {
  if (outcome.role == WorkloadRole::kWrite) return fmt::format("written by process {}", outcome.writer_pid);
  if (outcome.role == WorkloadRole::kRead) return fmt::format("read by process {}", outcome.reader_pid);
  return fmt::format("written by process {}, read by process {}", outcome.writer_pid, outcome.reader_pid);
}

}  // namespace

std::string FormatReport(const Workload& workload, const WorkloadRunOptions& options, const WorkloadOutcome& outcome) {
  std::string text =
      fmt::format("conversation {} in {}: {}\n", RoleWord(outcome.role), options.directory, workload.description);
  text += fmt::format("  {} requests, {} distinct pages, {}; {}; {:.2f} s\n", workload.requests.size(),
                      workload.pages.size(), ShortSize(workload.total_bytes()), ProcessLine(outcome),
                      static_cast<double>(outcome.elapsed_ns) / 1e9);
  if (outcome.replaced_pages > 0) {
    text += fmt::format("  removed   {} pages that an earlier run left\n", outcome.replaced_pages);
  }
  if (const auto& writer = outcome.writer; writer.has_value()) {
    text += fmt::format("  stored    {} pages, {}, {:.0f} MiB/s\n", writer->stored_pages,
                        ShortSize(writer->stored_bytes), MebibytesPerSecond(writer->stored_bytes, writer->store_ns));
  }
  if (const auto& reader = outcome.reader; reader.has_value()) {
    text += fmt::format("  loaded    {} pages, {}, {:.0f} MiB/s, every byte checked\n", reader->loaded_pages,
                        ShortSize(reader->loaded_bytes), MebibytesPerSecond(reader->loaded_bytes, reader->load_ns));
    const IdealHits& ideal = *outcome.ideal;
    text += fmt::format("  hits      {} of {} pages looked up ({:.2f} %); ideal {} ({:.2f} %): {}\n", outcome.hits,
                        ideal.lookups, Percent(outcome.hits, ideal.lookups), ideal.hits,
                        Percent(ideal.hits, ideal.lookups), outcome.FirstDifference() ? "DIFFERENT" : "equal");
    text += LatencyLine("lookup", reader->lookup_ns) + LatencyLine("load", reader->load_ns);
  }
  if (outcome.writer.has_value()) text += LatencyLine("store", outcome.writer->store_ns);
  return text;
}

ordered_json ReportAsJson(const Workload& workload, const WorkloadRunOptions& options, const WorkloadOutcome& outcome) {
  ordered_json report = {{"command", fmt::format("conversation {}", RoleWord(outcome.role))},
                         {"version", KVPAGEFS_VERSION},
                         {"dir", options.directory},
                         {"workload", workload.description},
                         {"requests", workload.requests.size()},
                         {"distinct_pages", workload.pages.size()},
                         {"page_bytes", workload.page_bytes},
                         {"replaced_pages", outcome.replaced_pages},
                         {"elapsed_s", static_cast<double>(outcome.elapsed_ns) / 1e9}};
  if (const auto& writer = outcome.writer; writer.has_value()) {
    report["writer"] = {{"pid", outcome.writer_pid},
                        {"pages", writer->stored_pages},
                        {"bytes", writer->stored_bytes},
                        {"mib_per_s", MebibytesPerSecond(writer->stored_bytes, writer->store_ns)},
                        {"store", LatencyJson(writer->store_ns)}};
  }
  if (const auto& reader = outcome.reader; reader.has_value()) {
    report["reader"] = {{"pid", outcome.reader_pid},
                        {"pages", reader->loaded_pages},
                        {"bytes", reader->loaded_bytes},
                        {"mib_per_s", MebibytesPerSecond(reader->loaded_bytes, reader->load_ns)},
                        {"lookup", LatencyJson(reader->lookup_ns)},
                        {"load", LatencyJson(reader->load_ns)}};
    report["lookups"] = outcome.ideal->lookups;
    report["hits"] = outcome.hits;
    report["ideal_hits"] = outcome.ideal->hits;
    report["hit_percent"] = Percent(outcome.hits, outcome.ideal->lookups);
    report["ideal_hit_percent"] = Percent(outcome.ideal->hits, outcome.ideal->lookups);
    report["equal"] = !outcome.FirstDifference().has_value();
  }
  return report;
}

Status CheckHits(const Workload& workload, const WorkloadOutcome& outcome) {
  const std::optional<size_t> request = outcome.FirstDifference();
  if (!request.has_value()) return {};
  const std::string_view hint =
      outcome.role == WorkloadRole::kRead ? "was it written with the same options" : "were pages evicted";
  return Error(ErrorCode::kLost,
               fmt::format("hits are not the ideal ones: {} instead of {}; first at request {}, {} instead of {} of "
                           "its {} pages; {}? All pages take {}",
                           outcome.hits, outcome.ideal->hits, *request, outcome.reader->hits_per_request[*request],
                           outcome.ideal->per_request[*request], workload.requests[*request].prompt_pages, hint,
                           ShortSize(workload.total_bytes())));
}

}  // namespace kvpagefs
