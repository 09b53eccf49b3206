#include "fs/virtual_xattrs.h"

#include <fmt/format.h>

namespace kvpagefs {
namespace {

// A page and what this node knows of it; `use` is empty when its bytes are not in memory.
struct Facts {
  const Node::State& node;
  const PageInfo& page;
  std::optional<PageUse> use;
  bool on_ssd = false;
};

struct Row {
  std::string_view name;
  std::string (*value)(const Facts& facts);
};

// The quickest one.
std::string Tier(const Facts& facts) { return facts.use ? "memory" : facts.on_ssd ? "ssd" : "none"; }
std::string Replicas(const Facts& facts) {
  const std::string& node = facts.node.options.node_name;
  std::string replicas = facts.use ? node + ":memory" : std::string();
  if (facts.on_ssd) replicas += fmt::format("{}{}:ssd", replicas.empty() ? "" : ",", node);
  return replicas;
}
std::string ChecksumText(const Facts& facts) { return fmt::format("xxh3:{:016x}", facts.page.checksum); }
std::string PageIdText(const Facts& facts) { return fmt::format("{:016x}", facts.page.id.value); }
std::string PinText(const Facts& facts) { return std::string(ToString(facts.page.pin)); }
std::string Reads(const Facts& facts) { return fmt::format("{}", facts.use ? facts.use->reads : 0); }
std::string LastReader(const Facts& facts) {
  if (!facts.use || facts.use->last_reader == 0) return "none";
  return fmt::format("{}:{}", facts.node.options.node_name, facts.use->last_reader);
}

constexpr Row kRows[] = {
    {"user.kvpagefs.tier", Tier},
    {"user.kvpagefs.replicas", Replicas},
    {"user.kvpagefs.checksum", ChecksumText},
    {"user.kvpagefs.page_id", PageIdText},
    {kPinXattr, PinText},
    {"user.kvpagefs.reads", Reads},
    {"user.kvpagefs.last_reader", LastReader},
};

}  // namespace

std::vector<std::string_view> VirtualXattrNames() {
  std::vector<std::string_view> names;
  for (const Row& row : kRows) names.push_back(row.name);
  return names;
}

std::optional<std::string> VirtualXattr(const Node::State& node, const PageInfo& page, std::string_view key) {
  for (const Row& row : kRows) {
    if (row.name != key) continue;
    const Result<PageUse> use = node.tier->Use(page.id);
    return row.value(
        Facts{node, page, use.ok() ? std::optional<PageUse>(*use) : std::nullopt, node.tiering->OnSsd(page.id)});
  }
  return std::nullopt;
}

}  // namespace kvpagefs
