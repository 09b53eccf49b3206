#include "meta/node_table.h"

#include <algorithm>
#include <cassert>

namespace kvpagefs {
namespace {

constexpr size_t kMaxNodes = UINT16_MAX;
constexpr int64_t kNsPerMs = 1'000'000;

bool IsWord(std::string_view text) {
  return !text.empty() && text.size() <= NodeTable::kMaxTextBytes &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < '\x7f'; });
}

Error NotAWord(const char* what) {
  return {ErrorCode::kInvalid, std::string("the node's ") + what + " must be 1 to " +
                                   std::to_string(NodeTable::kMaxTextBytes) + " printable characters without blanks"};
}

}  // namespace

NodeTable::NodeTable(const Options& options, int64_t now_ns) : options_(options), ticked_ns_(now_ns) {}

bool NodeTable::Restore(const Known& known) {
  if (known.number == 0 || !IsWord(known.identity) || !IsWord(known.name)) return false;
  if (nodes_.contains(known.number) || numbers_.contains(known.identity)) return false;
  Node& node = nodes_[known.number];
  node.identity = known.identity;
  node.name = known.name;
  node.has_ssd = true;
  node.down_since_ns = ticked_ns_;
  numbers_[known.identity] = known.number;
  last_number_ = std::max(last_number_, known.number);
  return true;
}

std::vector<NodeTable::Known> NodeTable::Kept() const {
  std::vector<Known> kept;
  for (const auto& [number, node] : nodes_) {
    if (node.has_ssd) kept.push_back({number, node.identity, node.name});
  }
  return kept;
}

void NodeTable::KeepIfSsd(Node* node) {
  if (node->use.ssd_bytes == 0 || node->has_ssd) return;
  node->has_ssd = true;
  ++kept_version_;
}

bool NodeTable::Forgettable(const Node& node, int64_t now_ns) const {
  return !node.has_ssd && !IsUp(node) && now_ns - node.down_since_ns >= kForgetNs;
}

Result<uint16_t> NodeTable::NumberFor(const Joining& joining, int64_t now_ns) {
  if (const auto known = numbers_.find(joining.identity); known != numbers_.end()) return known->second;
  const auto is_free = [&](uint16_t number) {
    const auto at = nodes_.find(number);
    return number != 0 && (at == nodes_.end() || Forgettable(at->second, now_ns));
  };
  uint16_t number = joining.number;
  if (!is_free(number)) {
    // The next one in turn, so that a number that went free is another's only late.
    number = last_number_;
    for (size_t tried = 0; tried <= kMaxNodes && !is_free(number); ++tried) ++number;
    if (!is_free(number)) return Error(ErrorCode::kUnavailable, "all 65535 node numbers are taken");
    last_number_ = number;
  }
  if (const auto at = nodes_.find(number); at != nodes_.end()) {
    numbers_.erase(at->second.identity);
    nodes_.erase(at);
  }
  nodes_[number].identity = joining.identity;
  numbers_[joining.identity] = number;
  return number;
}

Result<NodeSlot> NodeTable::TakeSlot() {
  for (size_t tried = 0; tried < kMaxNodes; ++tried) {
    last_slot_ = static_cast<NodeSlot>(last_slot_ == UINT16_MAX ? 1 : last_slot_ + 1);
    if (!sessions_.contains(last_slot_)) return last_slot_;
  }
  return Error(ErrorCode::kUnavailable, "nodes join faster than what they had is cleared away; join again later");
}

Result<NodeTable::Joined> NodeTable::Join(const Joining& joining, int64_t now_ns) {
  if (!IsWord(joining.identity)) return NotAWord("identity");
  if (!IsWord(joining.name)) return NotAWord("name");
  if (!joining.address.empty() && !IsWord(joining.address)) return NotAWord("address");
  const Result<NodeSlot> slot = TakeSlot();
  if (!slot.ok()) return slot.error();
  const Result<uint16_t> number = NumberFor(joining, now_ns);
  if (!number.ok()) return number.error();
  Node& node = nodes_[*number];
  Joined joined{.number = *number, .slot = *slot, .ended = 0};
  if (IsUp(node)) {
    joined.ended = node.slot;
    sessions_[node.slot].state = State::kEnded;
  }
  if (node.has_ssd && node.name != joining.name) ++kept_version_;
  node.name = joining.name;
  node.address = joining.address;
  node.use = joining.use;
  node.slot = *slot;
  KeepIfSsd(&node);
  sessions_[*slot] = {.number = *number, .state = State::kJoining, .joined_ns = now_ns, .heard_ns = now_ns};
  ++members_version_;
  return joined;
}

NodeTable::Session* NodeTable::Alive(NodeSlot slot) {
  const auto found = sessions_.find(slot);
  return found == sessions_.end() || found->second.state == State::kEnded ? nullptr : &found->second;
}

void NodeTable::Heard(NodeSlot slot, int64_t now_ns) {
  if (Session* session = Alive(slot)) session->heard_ns = std::max(session->heard_ns, now_ns);
}

void NodeTable::SetUse(NodeSlot slot, const NodeUse& use) {
  const Session* session = Alive(slot);
  if (session == nullptr) return;
  Node& node = nodes_.at(session->number);
  node.use = use;
  KeepIfSsd(&node);
}

void NodeTable::SetComplete(NodeSlot slot) {
  Session* session = Alive(slot);
  if (session == nullptr || session->state == State::kUp) return;
  session->state = State::kUp;
  ++members_version_;
}

void NodeTable::End(NodeSlot slot, int64_t now_ns) {
  Session* session = Alive(slot);
  if (session == nullptr) return;
  session->state = State::kEnded;
  nodes_.at(session->number).down_since_ns = now_ns;
  ++members_version_;
}

NodeTable::Ticked NodeTable::Tick(int64_t now_ns) {
  Ticked ticked;
  const int64_t gap_ns = now_ns - ticked_ns_;
  ticked_ns_ = now_ns;
  if (gap_ns > options_.max_gap_ns) ticked.paused_ns = gap_ns;
  for (auto& [slot, session] : sessions_) {
    session.heard_ns = std::min(session.heard_ns + ticked.paused_ns, now_ns);
    if (session.state == State::kEnded) continue;
    if (now_ns - session.heard_ns >= options_.timeout_ns) ticked.ended.push_back(slot);
  }
  for (const NodeSlot slot : ticked.ended) End(slot, now_ns);
  return ticked;
}

bool NodeTable::IsAlive(NodeSlot slot) const {
  const auto found = sessions_.find(slot);
  return found != sessions_.end() && found->second.state != State::kEnded;
}

bool NodeTable::IsComplete(NodeSlot slot) const {
  const auto found = sessions_.find(slot);
  return found != sessions_.end() && found->second.state == State::kUp;
}

uint16_t NodeTable::NumberOf(NodeSlot slot) const {
  const auto found = sessions_.find(slot);
  return found == sessions_.end() ? uint16_t{0} : found->second.number;
}

bool NodeTable::AnyJoining(int64_t now_ns, int64_t limit_ns) const {
  return std::any_of(sessions_.begin(), sessions_.end(), [&](const auto& one) {
    return one.second.state == State::kJoining && now_ns - one.second.joined_ns < limit_ns;
  });
}

std::vector<NodeSlot> NodeTable::Sweepable(int64_t now_ns) const {
  const auto can_go = [&](const Session& last) {
    if (last.state == State::kEnded) return now_ns - last.heard_ns >= options_.timeout_ns;
    return last.state == State::kUp;
  };
  std::vector<NodeSlot> slots;
  for (const auto& [slot, session] : sessions_) {
    if (session.state != State::kEnded) continue;
    const auto node = nodes_.find(session.number);
    const auto last = node == nodes_.end() ? sessions_.end() : sessions_.find(node->second.slot);
    if (can_go(last == sessions_.end() ? session : last->second)) slots.push_back(slot);
  }
  return slots;
}

void NodeTable::Free(NodeSlot slot) {
  assert(!IsAlive(slot));
  sessions_.erase(slot);
}

std::vector<Member> NodeTable::Members(int64_t now_ns) const {
  std::vector<Member> members;
  for (const auto& [number, node] : nodes_) {
    const bool up = IsUp(node);
    if (!up && !node.has_ssd) continue;
    Member member{.number = number, .name = node.name, .address = node.address, .state = "down", .use = node.use};
    const int64_t since_ns = up ? sessions_.at(node.slot).heard_ns : node.down_since_ns;
    member.heard_ms_ago = static_cast<uint64_t>(std::max<int64_t>(now_ns - since_ns, 0) / kNsPerMs);
    if (up) member.state = IsComplete(node.slot) ? "up" : "joining";
    members.push_back(std::move(member));
  }
  return members;
}

void NodeTable::SawPage(PageId page) {
  uint64_t& last = last_counters_[page.node()];
  last = std::max(last, page.value & kIdCounterMask);
}

uint64_t NodeTable::FirstCounter(uint16_t number) const {
  const auto found = last_counters_.find(number);
  return found == last_counters_.end() ? 1 : found->second + 1;
}

}  // namespace kvpagefs
