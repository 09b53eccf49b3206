#include "tools/micro_report.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tools/text_table.h"

namespace kvpagefs {
namespace {

using nlohmann::ordered_json;

// Marks at a figure; the notes under the table explain them.
constexpr const char* kNeverCold = "w";
constexpr const char* kNotDirect = "b";

bool NeverCold(const MicroSide& side, const MicroResult& result) {
  return result.spec.cache == CacheState::kCold && !side.can_be_cold;
}
bool NotDirect(const MicroSide& side, const MicroResult& result) { return result.spec.direct && !side.direct; }

std::string Marks(const MicroSide& side, const MicroResult& result) {
  std::string marks;
  if (NeverCold(side, result)) marks += kNeverCold;
  if (NotDirect(side, result)) marks += kNotDirect;
  return marks;
}

std::string Median(const MicroReport& report, const MicroResult& result, size_t side) {
  const std::string number = ShortNumber(result.sides[side].median_us);
  // A blank where the others have a mark keeps the numbers in line.
  const std::string marks = Marks(report.sides[side], result);
  return number + (marks.empty() ? " " : marks);
}

std::string TargetCell(const MicroResult& result) {
  if (!result.target.has_value()) return "-";
  return fmt::format("<= {:.2f} {}", *result.target, result.missed() ? "MISS" : "  ok");
}

std::vector<std::string> Row(const MicroReport& report, const MicroResult& result) {
  if (!result.ratio.has_value()) {
    const std::string word = result.skipped ? "skipped" : "FAILED";
    return {result.spec.label, result.spec.size_label, word, "", "", "", "", ""};
  }
  const auto& [dir, against] = result.sides;
  return {result.spec.label,
          result.spec.size_label,
          Median(report, result, kDirSide),
          ShortNumber(dir.p99_us),
          Median(report, result, kAgainstSide),
          ShortNumber(against.p99_us),
          fmt::format("{:.2f}", *result.ratio),
          TargetCell(result)};
}

std::string Notes(const MicroReport& report) {
  std::string notes;
  const auto any = [&report](bool (*holds)(const MicroSide&, const MicroResult&)) {
    return std::any_of(report.results.begin(), report.results.end(), [&](const MicroResult& result) {
      return holds(report.sides[kDirSide], result) || holds(report.sides[kAgainstSide], result);
    });
  };
  if (any(NeverCold)) notes += "  w  tmpfs cannot be cold: its figure is a warm one\n";
  if (any(NotDirect)) notes += "  b  O_DIRECT is refused there: opened without it\n";
  if (report.sides[kAgainstSide].filesystem != "tmpfs") notes += "  targets are ratios to tmpfs: none apply here\n";
  for (const MicroResult& result : report.results) {
    if (result.error.empty()) continue;
    notes += fmt::format("  {} {} {}: {}\n", result.spec.label, result.spec.size_label,
                         result.skipped ? "skipped" : "FAILED", result.error);
  }
  return notes;
}

ordered_json SideJson(const MicroReport& report, const MicroResult& result, size_t side) {
  const LatencySummary& summary = result.sides[side];
  ordered_json json = {{"median_us", summary.median_us}, {"p99_us", summary.p99_us}, {"mean_us", summary.mean_us},
                       {"min_us", summary.min_us},       {"max_us", summary.max_us}, {"samples", summary.count}};
  json["cold"] = result.spec.cache == CacheState::kCold && report.sides[side].can_be_cold;
  json["o_direct"] = result.spec.direct && report.sides[side].direct;
  return json;
}

ordered_json CaseJson(const MicroReport& report, const MicroResult& result) {
  ordered_json json = {
      {"name", result.spec.name}, {"label", result.spec.label}, {"size_bytes", result.spec.size_bytes}};
  if (!result.error.empty()) json[result.skipped ? "skipped" : "error"] = result.error;
  if (!result.ratio.has_value()) return json;
  json["dir"] = SideJson(report, result, kDirSide);
  json["against"] = SideJson(report, result, kAgainstSide);
  json["ratio"] = *result.ratio;
  if (result.target.has_value()) {
    json["target_ratio"] = *result.target;
    json["target_met"] = !result.missed();
  }
  return json;
}

ordered_json ConfigurationJson(const MicroReport& report) {
  const MicroOptions& options = report.options;
  const auto side = [&report](size_t index) -> ordered_json {
    const MicroSide& of = report.sides[index];
    return {{"path", of.given}, {"filesystem", of.filesystem}, {"o_direct", of.direct}};
  };
  return {{"dir", side(kDirSide)},
          {"against", side(kAgainstSide)},
          {"runs", options.runs},
          {"files", options.files},
          {"sizes_bytes", options.sizes_bytes},
          {"only", options.only},
          {"list_entries", options.list_entries},
          {"list_bytes", options.list_bytes},
          {"batch_files", options.batch_files},
          {"batch_bytes", options.batch_bytes},
          {"seed", options.seed}};
}

}  // namespace

std::string FormatMicroTable(const MicroReport& report) {
  const MicroSide& dir = report.sides[kDirSide];
  const MicroSide& against = report.sides[kAgainstSide];
  std::string text = fmt::format(
      "kvpagebench {} micro: {} ({}) against {} ({})\n{}, {} CPUs, {} memory; {} runs, {} files of each size, seed {}; "
      "times in us, medians\n\n",
      KVPAGEFS_VERSION, dir.given, dir.filesystem, against.given, against.filesystem, report.host.kernel,
      report.host.cpus, ShortSize(report.host.memory_bytes), report.options.runs, report.options.files,
      report.options.seed);
  TextTable table({"case", "size", "dir us ", "p99", "against us ", "p99", "ratio", "target"});
  for (const MicroResult& result : report.results) table.AddRow(Row(report, result));
  text += table.Render();
  const std::string notes = Notes(report);
  if (!notes.empty()) text += '\n' + notes;
  const size_t missed = CountMissed(report.results);
  const auto with_target = std::count_if(report.results.begin(), report.results.end(),
                                         [](const MicroResult& result) { return result.target.has_value(); });
  if (with_target > 0)
    text += fmt::format("\n{} of {} targets met\n", with_target - static_cast<long>(missed), with_target);
  return text;
}

ordered_json MicroAsJson(const MicroReport& report) {
  ordered_json json = {{"command", "micro"}, {"version", KVPAGEFS_VERSION}};
  json["host"] = {
      {"kernel", report.host.kernel}, {"cpus", report.host.cpus}, {"memory_bytes", report.host.memory_bytes}};
  json["configuration"] = ConfigurationJson(report);
  json["cases"] = ordered_json::array();
  for (const MicroResult& result : report.results) json["cases"].push_back(CaseJson(report, result));
  json["targets_missed"] = CountMissed(report.results);
  json["cases_failed"] = CountFailed(report.results);
  return json;
}

size_t CountMissed(std::span<const MicroResult> results) {
  return static_cast<size_t>(
      std::count_if(results.begin(), results.end(), [](const MicroResult& result) { return result.missed(); }));
}

size_t CountFailed(std::span<const MicroResult> results) {
  return static_cast<size_t>(
      std::count_if(results.begin(), results.end(), [](const MicroResult& result) { return result.failed(); }));
}

}  // namespace kvpagefs
