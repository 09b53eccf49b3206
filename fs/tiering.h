// Where a page's bytes are on this node: memory, SSD or both, and how they come there, from each other or from other
// nodes.
//
// Without an SSD tier (no --ssd-dir) the same calls say that there is none: pages are clean when sealed and lost when
// evicted. Any thread; lock order: Spiller, Promoter, then the tiers.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <absl/container/flat_hash_map.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mutex.h"
#include "fs/counters.h"
#include "fs/options.h"
#include "fs/promoter.h"
#include "fs/read_history.h"
#include "fs/spiller.h"
#include "fs/ssd_tier.h"
#include "meta/cluster.h"
#include "meta/meta_client.h"
#include "meta/remote_meta.h"
#include "spill/memory_tier.h"

namespace kvpagefs {

class Tiering final : public SsdLog::Listener {
 public:
  // All outlive the tiering.
  struct Parts {
    const Clock* clock = nullptr;
    Counters* counters = nullptr;
    Log log = Log::Discard();
    // No tier has these pages any more. Called without locks.
    std::function<void(std::span<const PageId>)> on_lost;
  };

  // Opens the SSD directories of the options and reads what is in them; errors as SsdTier::Open.
  static Result<std::unique_ptr<Tiering>> Open(const Options& options, Parts parts);
  ~Tiering() override;
  // Between Open and Start: whether the page was found on SSD.
  bool Recovered(const PageInfo& page) const;
  // The rest of the node; all but `cluster` and `remote` are there in a standalone one. They outlive the tiering.
  struct Node {
    MemoryTier* tier = nullptr;
    MetaClient* meta = nullptr;  // Describe answers before it returns
    Cluster* cluster = nullptr;
    RemotePages* remote = nullptr;
  };
  // Begins to spill and to fetch. Standalone, it names what was found and is not known to the embedded service, which
  // answers before its calls return, and forgets what cannot be named; in a cluster the inventory does that.
  void Start(const Node& node);
  // The end of everything but reads of memory: writes what is dirty (for at most --stop-timeout), answers whoever
  // waits.
  void Stop();

  // The segment is touched throughout: transfers may rely on it.
  void RegisterMemory(const Segment& segment);

  bool has_ssd() const { return ssd_ != nullptr; }
  // A page that is not in memory may be had.
  bool fetches() const { return promoter_ != nullptr; }
  // Pages are written to SSD.
  bool spills() const { return ssd_ != nullptr && mode_ != SpillMode::kOff; }
  // How a page is to be sealed.
  MemoryTier::Copy SealCopy() const;
  void OnPublished(const PageInfo& page);
  // Of these pages, evicted from memory, the ones that no tier has.
  std::vector<PageId> LostOf(std::span<const PageId> evicted) const;
  void Remove(PageId id);
  // Tells the cluster where the page is now.
  void NoteTiers(PageId id);
  // In a cluster: what was found on SSD at the start, and what its record says of a page.
  std::vector<HeldPage> Inventory() const;
  bool DescribeRecovered(PageId id, PageDescription* described) const;
  // Which node's pages are in the first SSD directory; 0 without.
  uint64_t identity() const { return ssd_ != nullptr ? ssd_->identity() : 0; }
  void SetPin(PageId id, Pin pin);
  bool OnSsd(PageId id) const { return ssd_ != nullptr && ssd_->Has(id); }

  // Brings the page into memory. kNotFound when there is nowhere to bring it from.
  void Fetch(const Promoter::Page& page, const Promoter::Request& request, Promoter::Answer answer);
  void InterruptFetch(uint64_t ticket);
  // fsync of a page, and of all that was published or removed.
  void MakeDurable(PageId id, std::function<void(const Status&)> done);
  void Sync(const std::function<void(const Status&)>& done);

  // The keeper's part: fetches that wait for memory or are too late.
  void Retry(int64_t now_ns);
  int64_t NextDeadline() const;
  // Memory is wanted; `GiveUp`: and will not come in time.
  void RequestSpace();
  void GiveUp(uint64_t bytes);

  const SsdTier* ssd() const { return ssd_.get(); }  // null: no SSD tier
  Spiller::Stats spill_stats() const;
  size_t fetches_waiting() const;

  // SsdLog::Listener
  bool IsWanted(PageId id) override;
  void OnGone(std::span<const PageId> pages) override;
  bool Describe(PageId id, std::string* description) override;

 private:
  Tiering(const Options& options, Parts parts);
  void Restore();

  const Parts parts_;
  const SpillMode mode_;
  const int64_t stop_timeout_ms_;
  // Set in Start, before anything else is called.
  MemoryTier* tier_ = nullptr;
  MetaClient* meta_ = nullptr;
  Cluster* cluster_ = nullptr;
  std::atomic<bool> started_{false};
  ReadHistory history_;
  std::vector<SsdTier::Recovered> recovered_;           // until Start; in a cluster for good
  absl::flat_hash_map<uint64_t, size_t> recovered_at_;  // place in it by page id
  std::unique_ptr<SsdTier> ssd_;
  std::unique_ptr<Spiller> spiller_;
  std::unique_ptr<Promoter> promoter_;
  mutable Mutex mutex_;
  absl::flat_hash_map<uint64_t, Pin> pins_ KVP_GUARDED_BY(mutex_);  // of pages that are pinned
};

}  // namespace kvpagefs
