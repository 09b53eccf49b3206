#include "fs/virtual_xattrs.h"

#include <algorithm>

#include <fmt/format.h>

namespace kvpagefs {
namespace {

// A page and what this node knows of it; `use` is empty when its bytes are not in memory.
struct Facts {
  const Node::State& node;
  const PageInfo& page;
  std::optional<PageUse> use;
  bool on_ssd = false;
  const Replicas& elsewhere;  // on other nodes
};

struct Row {
  std::string_view name;
  std::string (*value)(const Facts& facts);
};

// The quickest one.
std::string Tier(const Facts& facts) {
  if (facts.use) return "memory";
  if (facts.on_ssd) return "ssd";
  return facts.elsewhere.empty() ? "none" : "remote";
}
void AddReplica(std::string* text, const std::string& node, uint8_t tiers) {
  for (const auto& [tier, word] : {std::pair(kMemoryTier, "memory"), std::pair(kSsdTier, "ssd")}) {
    if ((tiers & tier) != 0) *text += fmt::format("{}{}:{}", text->empty() ? "" : ",", node, word);
  }
}
// This node's own copies first.
std::string ReplicasText(const Facts& facts) {
  std::string text;
  const int own = (facts.use ? kMemoryTier : kNoTier) | (facts.on_ssd ? kSsdTier : kNoTier);
  AddReplica(&text, facts.node.options.node_name, static_cast<uint8_t>(own));
  if (facts.elsewhere.empty()) return text;
  const std::vector<Member> members = facts.node.cluster->Members();
  for (const Replica& replica : facts.elsewhere) {
    const auto member =
        std::find_if(members.begin(), members.end(), [&](const Member& one) { return one.number == replica.node; });
    AddReplica(&text, member != members.end() ? member->name : fmt::format("node-{}", replica.node), replica.tiers);
  }
  return text;
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
    {"user.kvpagefs.replicas", ReplicasText},
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

std::optional<std::string> VirtualXattr(const Node::State& node, const PageInfo& page, const Replicas& elsewhere,
                                        std::string_view key) {
  for (const Row& row : kRows) {
    if (row.name != key) continue;
    const Result<PageUse> use = node.tier->Use(page.id);
    return row.value(Facts{node, page, use.ok() ? std::optional<PageUse>(*use) : std::nullopt,
                           node.tiering->OnSsd(page.id), elsewhere});
  }
  return std::nullopt;
}

}  // namespace kvpagefs
