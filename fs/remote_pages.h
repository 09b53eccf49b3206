// Brings pages from other nodes' tiers: finds out who has a copy, asks one after the other, verifies what comes.
//
// Copies in memory come before those on SSD, nodes that are asked for less before others. A copy that is wrong, gone or
// late is passed over; when none is left, the service is asked once more, because copies move. Any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <sys/uio.h>

#include "base/clock.h"
#include "base/log.h"
#include "fs/counters.h"
#include "fs/fetched_page.h"
#include "fs/peers.h"
#include "meta/cluster.h"

namespace kvpagefs {

class RemotePages {
 public:
  // All outlive this.
  struct Parts {
    Cluster* cluster = nullptr;
    Peers* peers = nullptr;
    const Clock* clock = nullptr;
    Counters* counters = nullptr;
    Log log = Log::Discard();
  };
  explicit RemotePages(Parts parts) : parts_(std::move(parts)) {}

  struct Read {
    FetchedPage page;
    std::vector<iovec> blocks;  // whole 4 KiB blocks for all of it
    std::shared_ptr<const void> keep;
    int64_t deadline_ns = 0;  // monotonic
  };
  // kNotFound: no copy could be had in time.
  void Start(Read read, std::function<void(const Status&)> done);

 private:
  struct Search;
  void Find(const std::shared_ptr<Search>& search);
  void TryNext(const std::shared_ptr<Search>& search);
  void Arrived(const std::shared_ptr<Search>& search, uint16_t node, const Status& status);

  const Parts parts_;
};

}  // namespace kvpagefs
