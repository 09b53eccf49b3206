// Who the nodes are, and which of them are there. Pure: no I/O, no clock, no thread (the caller locks); time is handed
// in.
//
// A node is known by its identity and has a number, which is part of the ids of its pages. Each join makes a session
// with a slot, under which its copies are recorded (meta/replica_table.h).
//
// Session:  none -> joining -> up -> ended -> none     (joining and ended also straight from any of the others)
//
//  S1 a node has at most one session that has not ended; a slot belongs to one session until Free.
//  S2 a session that has ended is swept only when its node has joined again and has told all it has, or when nothing
//  was
//     heard of the node for the time-out: until then the copies are likely to be there.
//  S3 only Tick finds out that a node is silent. When Tick itself comes late, everybody's deadline moves by as much: a
//     pause of this process is nobody's death.
//  S4 a number is another identity's only when the node that had it is forgotten: it is down, has no SSD, and has been
//     so for kForgetNs.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "meta/replica.h"
#include "meta/replica_table.h"

namespace kvpagefs {

class NodeTable {
 public:
  struct Options {
    int64_t timeout_ns = 5'000'000'000;
    // Between two calls of Tick; what is above it was a pause.
    int64_t max_gap_ns = 1'000'000'000;
  };
  static constexpr int64_t kForgetNs = int64_t{600} * 1'000'000'000;
  static constexpr size_t kMaxTextBytes = 255;

  NodeTable(const Options& options, int64_t now_ns);

  struct Known {
    uint16_t number = 0;
    std::string identity;
    std::string name;
    bool operator==(const Known&) const = default;
  };
  // Before anything else. False when number or identity is known already, or is none.
  bool Restore(const Known& known);
  // What has to be there after a restart: nodes with an SSD. `KeptVersion` changes when this does.
  std::vector<Known> Kept() const;
  uint64_t kept_version() const { return kept_version_; }

  struct Joining {
    std::string identity;
    std::string name;
    std::string address;
    uint16_t number = 0;  // that it had, 0: none
    NodeUse use;
  };
  struct Joined {
    uint16_t number = 0;
    NodeSlot slot = 0;
    NodeSlot ended = 0;  // the session that this one replaces; 0: none
  };
  // kInvalid (identity, name or address are none), kUnavailable (no number or slot is free).
  Result<Joined> Join(const Joining& joining, int64_t now_ns);

  // All of these do nothing for a session that has ended.
  void Heard(NodeSlot slot, int64_t now_ns);
  void SetUse(NodeSlot slot, const NodeUse& use);
  void SetComplete(NodeSlot slot);  // it has told all it has
  void End(NodeSlot slot, int64_t now_ns);

  // The sessions that have ended now because nothing was heard. `paused_ns`: by how much deadlines have moved.
  struct Ticked {
    std::vector<NodeSlot> ended;
    int64_t paused_ns = 0;
  };
  Ticked Tick(int64_t now_ns);

  bool IsAlive(NodeSlot slot) const;
  bool IsComplete(NodeSlot slot) const;
  uint16_t NumberOf(NodeSlot slot) const;  // 0 when it is no session's
  // Some node has joined within `limit_ns` and has not told all it has.
  bool AnyJoining(int64_t now_ns, int64_t limit_ns) const;
  // Sessions that have ended and whose copies can go (S2).
  std::vector<NodeSlot> Sweepable(int64_t now_ns) const;
  void Free(NodeSlot slot);

  // Of nodes that are there, and of those with an SSD that are not; by number.
  std::vector<Member> Members(int64_t now_ns) const;
  uint64_t members_version() const { return members_version_; }

  // Counters of page ids are remembered by number. The first one that was not seen yet.
  void SawPage(PageId page);
  uint64_t FirstCounter(uint16_t number) const;

 private:
  enum class State : uint8_t { kJoining, kUp, kEnded };
  struct Node {
    std::string identity;
    std::string name;
    std::string address;
    NodeUse use;
    bool has_ssd = false;
    NodeSlot slot = 0;  // of the latest session, 0: none since the start
    int64_t down_since_ns = 0;
  };
  struct Session {
    uint16_t number = 0;
    State state = State::kJoining;
    int64_t joined_ns = 0;
    int64_t heard_ns = 0;
  };

  Session* Alive(NodeSlot slot);
  Result<uint16_t> NumberFor(const Joining& joining, int64_t now_ns);
  bool Forgettable(const Node& node, int64_t now_ns) const;
  bool IsUp(const Node& node) const { return node.slot != 0 && IsAlive(node.slot); }
  Result<NodeSlot> TakeSlot();
  void KeepIfSsd(Node* node);

  const Options options_;
  int64_t ticked_ns_;
  std::map<uint16_t, Node> nodes_;
  std::unordered_map<std::string, uint16_t> numbers_;
  std::unordered_map<NodeSlot, Session> sessions_;
  std::unordered_map<uint16_t, uint64_t> last_counters_;
  uint16_t last_number_ = 0;
  NodeSlot last_slot_ = 0;
  uint64_t members_version_ = 1;
  uint64_t kept_version_ = 0;
};

}  // namespace kvpagefs
