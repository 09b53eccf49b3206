// Where a page's bytes are on this node: memory, SSD or both, and how they move between the two.
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
#include "meta/meta_client.h"
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
  // Names what was found and is not known to `meta`, forgets what cannot be named, and begins to spill. `meta` answers
  // before its calls return, as the embedded service does.
  void Start(MemoryTier* tier, MetaClient* meta);
  // The end of everything but reads of memory: writes what is dirty (for at most --stop-timeout), answers whoever
  // waits.
  void Stop();

  // The segment is touched throughout: transfers may rely on it.
  void RegisterMemory(const Segment& segment);

  bool has_ssd() const { return ssd_ != nullptr; }
  // Pages are written to SSD.
  bool spills() const { return ssd_ != nullptr && mode_ != SpillMode::kOff; }
  // How a page is to be sealed.
  MemoryTier::Copy SealCopy() const;
  void OnPublished(const PageInfo& page);
  // Of these pages, evicted from memory, the ones that no tier has.
  std::vector<PageId> LostOf(std::span<const PageId> evicted) const;
  void Remove(PageId id);
  void SetPin(PageId id, Pin pin);
  bool OnSsd(PageId id) const { return ssd_ != nullptr && ssd_->Has(id); }

  // Brings the page into memory. kNotFound without an SSD tier.
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
  std::atomic<bool> started_{false};
  ReadHistory history_;
  std::vector<SsdTier::Recovered> recovered_;           // until Start
  absl::flat_hash_map<uint64_t, size_t> recovered_at_;  // place in it by page id
  std::unique_ptr<SsdTier> ssd_;
  std::unique_ptr<Spiller> spiller_;
  std::unique_ptr<Promoter> promoter_;
  mutable Mutex mutex_;
  absl::flat_hash_map<uint64_t, Pin> pins_ KVP_GUARDED_BY(mutex_);  // of pages that are pinned
};

}  // namespace kvpagefs
