// The links to other nodes' page servers: a few to each, made when they are first wanted and kept open. Any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <sys/uio.h>

#include <absl/container/flat_hash_map.h>

#include "base/log.h"
#include "base/mutex.h"
#include "base/result.h"
#include "fs/fetched_page.h"
#include "meta/cluster.h"
#include "net/rpc.h"

namespace kvpagefs {

class Peers {
 public:
  static constexpr size_t kStreams = 4;  // to each node

  struct Read {
    FetchedPage page;
    std::vector<iovec> into;           // page.bytes exactly
    std::shared_ptr<const void> keep;  // what `into` lies in, until `done`
    int64_t timeout_ms = 0;            // all in all, connecting included
    std::function<void(const Status&)> done;
  };

  // `threads` and `cluster` outlive the peers.
  Peers(NetThreads* threads, const Cluster* cluster, std::string secret, Log log);
  ~Peers() { Stop(); }
  // Ends what is under way, and everything that is started later: kUnavailable. Not from a network thread.
  void Stop();

  // `done` runs once, on a network thread or in the caller: kNotFound (the node has it no longer), kUnavailable. The
  // bytes are not verified.
  void Start(uint16_t node, Read read);
  // Reads under way from that node.
  size_t load(uint16_t node) const;
  // Lets go of nodes that are no members any more. Not from a network thread: it waits for their links to end.
  void Prune();

 private:
  class Stream;
  struct Peer;
  std::shared_ptr<Peer> PeerOf(uint16_t node);

  NetThreads* const threads_;
  const Cluster* const cluster_;
  const std::string secret_;
  const Log log_;
  mutable Mutex mutex_;
  absl::flat_hash_map<uint16_t, std::shared_ptr<Peer>> peers_ KVP_GUARDED_BY(mutex_);
  bool stopped_ KVP_GUARDED_BY(mutex_) = false;
  std::vector<std::shared_ptr<Peer>> retired_ KVP_GUARDED_BY(mutex_);  // until Prune
};

}  // namespace kvpagefs
