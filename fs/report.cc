#include "fs/report.h"

#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include "fs/gauge.h"
#include "fs/report_ssd.h"

namespace kvpagefs {
namespace {

// capacity = free + headers + drafts + held + pinned + dirty + evictable, from one snapshot.
std::vector<Gauge> MemoryGauges(const MemoryTier::Stats& stats) {
  const auto as = [](uint64_t value) { return static_cast<double>(value); };
  return {
      {"memory_capacity_bytes", as(stats.capacity_bytes), "Bytes of the memory segment."},
      {"memory_free_bytes", as(stats.free_bytes), "Bytes that nothing uses."},
      {"memory_used_bytes", as(stats.capacity_bytes - stats.free_bytes), "Capacity less free."},
      {"memory_header_bytes", as(stats.header_bytes), "Bytes of page headers."},
      {"memory_draft_bytes", as(stats.draft_bytes), "Bytes of pages that are being written."},
      {"memory_held_bytes", as(stats.held_bytes), "Bytes of pages that are open or mapped."},
      {"memory_pinned_bytes", as(stats.pinned_bytes), "Bytes of pages that are pinned hard and not held."},
      {"memory_dirty_bytes", as(stats.dirty_bytes),
       "Bytes of pages that are to be written to SSD before they may be evicted."},
      {"memory_evictable_bytes", as(stats.evictable_bytes), "Bytes of pages that may be evicted."},
      {"memory_free_extents", as(stats.free_extents), "Separate runs of free blocks."},
      {"memory_longest_free_bytes", as(stats.longest_free_bytes), "The longest run of free blocks."},
      {"memory_pages", as(stats.pages), "Sealed pages in memory."},
      {"memory_drafts", as(stats.drafts), "Pages that are being written."},
      {"memory_holds", as(stats.holds), "In-use references to pages."},
  };
}

std::vector<Gauge> NodeGauges(Node::State& node) {
  const NamespaceStats names = node.meta->GetStats();
  const auto as = [](uint64_t value) { return static_cast<double>(value); };
  return {
      {"names_pages", as(names.pages), "Published page names."},
      {"names_page_bytes", as(names.page_bytes), "Sum of the sizes of published pages."},
      {"names_directories", as(names.directories), "Directories, with the root."},
      {"open_pages", as(node.open_pages.size()), "Published pages that are open for reading."},
      {"open_drafts", as(node.drafts.size()), "Files that are open for writing."},
      {"waiting_for_space", as(node.space.size()), "Writes that wait for held pages to be let go."},
      {"prefaulted_bytes", as(node.prefaulted_bytes.load()), "Bytes of the segment touched at start so far."},
  };
}

std::vector<Gauge> EvictionCounts(const MemoryTier::Stats& stats) {
  const auto as = [](uint64_t value) { return static_cast<double>(value); };
  return {
      {"evicted_pages", as(stats.evicted_pages), "Pages evicted from memory."},
      {"evicted_bytes", as(stats.evicted_bytes), "Bytes evicted from memory."},
      {"no_space_errors", as(stats.no_space_errors), "Requests for space that could not be met at once."},
  };
}

void AppendLines(std::string* text, std::string_view heading, const std::vector<Gauge>& gauges) {
  *text += fmt::format("\n# {}\n", heading);
  for (const Gauge& gauge : gauges) *text += fmt::format("{} {:.0f}\n", gauge.name, gauge.value);
}

void AppendFamily(std::vector<prometheus::MetricFamily>* families, const Gauge& gauge, prometheus::MetricType type) {
  prometheus::MetricFamily family;
  const bool counter = type == prometheus::MetricType::Counter;
  family.name = fmt::format("kvpagefs_{}{}", gauge.name, counter ? "_total" : "");
  family.help = std::string(gauge.help);
  family.type = type;
  prometheus::ClientMetric metric;
  (counter ? metric.counter.value : metric.gauge.value) = gauge.value;
  family.metric.push_back(metric);
  families->push_back(std::move(family));
}

std::string MembersText(const std::vector<Member>& members) {
  std::string text =
      "name state memory_used_bytes memory_capacity_bytes ssd_used_bytes ssd_capacity_bytes pages number address\n";
  for (const Member& member : members) {
    text += fmt::format("{} {} {} {} {} {} {} {} {}\n", member.name, member.state, member.use.memory_used_bytes,
                        member.use.memory_bytes, member.use.ssd_used_bytes, member.use.ssd_bytes, member.use.pages,
                        member.number, member.address);
  }
  return text;
}

std::string_view StateWord(const Node::State& node) {
  if (node.stopping.load()) return "stopping";
  const bool healthy =
      node.meta->Problem().empty() && (!node.tiering->has_ssd() || node.tiering->ssd()->GetStats().problem.empty());
  return healthy ? "serving" : "degraded";
}

}  // namespace

std::string StatusText(Node::State& node) {
  const MemoryTier::Stats stats = node.tier->GetStats();
  const std::string problem = node.meta->Problem();
  std::string text = fmt::format(
      "version {}\nstate {}\nrole {}\nnode {}\nmount_point {}\nuptime_seconds {}\nread_path {}\n"
      "memory_source {}\nfsync_without_ssd {}\nstate_dir {}\nnames_problem {}\n",
      KVPAGEFS_VERSION, StateWord(node), node.cluster == nullptr ? "standalone" : "cluster", node.options.node_name,
      node.options.mount_point, (node.clock.MonotonicNs() - node.start_monotonic_ns) / 1'000'000'000,
      node.read_path.Describe(), node.tier->segment().description(), node.options.fsync_refuses ? "eio" : "success",
      node.options.state_dir.empty() ? "none" : node.options.state_dir, problem.empty() ? "none" : problem);
  if (node.cluster != nullptr) {
    text += fmt::format("node_number {}\nmetadata_daemon {}\nmetadata_connected {}\npeer_address {}\n",
                        node.cluster->number(), node.options.source, node.cluster->connected() ? "yes" : "no",
                        node.cluster->AddressOf(node.cluster->number()));
  }
  AppendLines(&text, "memory tier: capacity = free + header + draft + held + pinned + dirty + evictable",
              MemoryGauges(stats));
  AppendLines(&text, "names and files now", NodeGauges(node));
  AppendLines(&text, "evictions since start", EvictionCounts(stats));
  if (node.tiering->has_ssd()) {
    AppendLines(&text, "SSD tier now", SsdGauges(*node.tiering));
    text += SsdDirLines(*node.tiering);
    AppendLines(&text, "SSD tier since start", SsdCounts(*node.tiering));
  }
  text += "\n# requests since start\n";
  for (const CounterName& row : kCounterNames) {
    text += fmt::format("{} {}\n", row.name, node.counters.Get(row.counter));
  }
  return text;
}

std::string NodesText(Node::State& node) {
  if (node.cluster != nullptr) return MembersText(node.cluster->Members());
  const MemoryTier::Stats stats = node.tier->GetStats();
  return fmt::format("name state memory_used_bytes memory_capacity_bytes\n{} {} {} {}\n", node.options.node_name,
                     StateWord(node), stats.capacity_bytes - stats.free_bytes, stats.capacity_bytes);
}

std::string MetricsText(Node::State& node) {
  const MemoryTier::Stats stats = node.tier->GetStats();
  std::vector<prometheus::MetricFamily> families;
  for (const Gauge& gauge : MemoryGauges(stats)) AppendFamily(&families, gauge, prometheus::MetricType::Gauge);
  for (const Gauge& gauge : NodeGauges(node)) AppendFamily(&families, gauge, prometheus::MetricType::Gauge);
  for (const Gauge& gauge : EvictionCounts(stats)) AppendFamily(&families, gauge, prometheus::MetricType::Counter);
  for (const Gauge& gauge : SsdGauges(*node.tiering)) AppendFamily(&families, gauge, prometheus::MetricType::Gauge);
  for (const Gauge& gauge : SsdCounts(*node.tiering)) AppendFamily(&families, gauge, prometheus::MetricType::Counter);
  for (const CounterName& row : kCounterNames) {
    const Gauge gauge{row.name, static_cast<double>(node.counters.Get(row.counter)), row.help};
    AppendFamily(&families, gauge, prometheus::MetricType::Counter);
  }
  return prometheus::TextSerializer().Serialize(families);
}

std::string NodeConfigText(Node::State& node) { return ConfigText(node.options); }

std::string EventsText(Node::State& node) { return node.events.Text(); }

}  // namespace kvpagefs
