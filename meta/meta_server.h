// The metadata daemon's service "meta": names, copies and nodes of the cluster. Messages: meta/wire.h.
//
// Every answer and every request to a node leaves under one lock, in the order in which the state changed, so that a
// node that handles them in their order never learns something older behind something newer.
//
// Invariants:
//  D1 a name is visible only while its page has a copy: the writer's is known before the name is, and a page that loses
//     its last copy loses its name. After a start with a store this holds when the grace period is over.
//  D2 when a deletion, replacement or renaming has been answered, no other node serves or remembers the old page: all
//     that had it have acknowledged, or their session has ended.
//  D3 what was deleted or replaced does not come back with a node that was away (meta/deleted_pages.h).
//  D4 nothing waits longer than revoke_limit_ms for a node; a node that is silent then has to join again.
//  D5 a link that has not joined changes nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "meta/types.h"
#include "net/rpc.h"

namespace kvpagefs {

class MetaServer final : public RpcHandler {
 public:
  struct Options {
    std::string state_dir;  // empty: nothing is persisted
    Ownership root_owner;   // of a new root
    int64_t heartbeat_ms = 1'000;
    int64_t timeout_ms = 5'000;  // without a word for so long a node is gone
    int64_t revoke_limit_ms = 1'000;
  };

  // Errors of EmbeddedMeta::Open. `clock` outlives the server.
  static Result<std::unique_ptr<MetaServer>> Open(const Options& options, const Clock* clock, Log log);
  // Writes what is still behind. No call of the handler may be under way.
  ~MetaServer() override;

  void OnUp(const std::shared_ptr<RpcLink>& link) override;
  void OnRequest(const std::shared_ptr<RpcLink>& link, uint16_t method, std::string body, RpcReply reply) override;
  void OnDown(const std::shared_ptr<RpcLink>& link, const Error& why) override;

  // To be called all the time, by one thread at a time; returns after how many milliseconds again. Does a bounded piece
  // of what is due: silent nodes, waits that are over, names without a copy, files.
  int64_t Tick();

  struct Stats {
    NamespaceStats names;
    uint64_t pages_with_copies = 0;
    uint64_t nodes = 0;  // that are there
    std::string problem;
  };
  Stats GetStats() const;

 private:
  struct State;
  explicit MetaServer(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

}  // namespace kvpagefs
