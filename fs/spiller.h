// Writes pages from memory to SSD: behind the writer's back, ahead of eviction, for fsync, and all of them at a stop.
//
// Life of a page here: Enqueue -> queued --> being written --> clean. It is dirty in the memory tier (not evictable)
// from its seal until it is clean, or until the SSD turned out not to take it: then it may be evicted and is lost with
// that.
//
// Invariants:
//  W1 every function given to MakeDurable runs exactly once.
//  W2 at most kMaxBytesInFlight are being written, kGentleBytes while pages are being read from SSD.
//  W3 a page that was removed while it was being written is removed from SSD when that ends.
//  W4 no page stays dirty for ever: written, refused by the SSD, or given up for want of space, it becomes clean.
// Any thread; completions arrive on the SSD's threads. One thread of its own starts the writes. Lock order: its mutex
// before those of the tiers.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include <absl/container/flat_hash_map.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mutex.h"
#include "fs/counters.h"
#include "fs/options.h"
#include "fs/ssd_tier.h"
#include "meta/meta_client.h"
#include "spill/memory_tier.h"

namespace kvpagefs {

class Spiller {
 public:
  static constexpr uint64_t kMaxBytesInFlight = uint64_t{32} << 20;
  static constexpr uint64_t kGentleBytes = uint64_t{1} << 20;

  // All outlive the spiller.
  struct Parts {
    MemoryTier* tier = nullptr;
    SsdTier* ssd = nullptr;
    MetaClient* meta = nullptr;
    const Clock* clock = nullptr;
    Counters* counters = nullptr;
    // The page is on SSD now; may be empty.
    std::function<void(PageId)> on_written;
    Log log = Log::Discard();
  };

  Spiller(Parts parts, SpillMode mode);
  ~Spiller();
  void Start();
  // Nothing is written any more; what waits in MakeDurable is answered with kUnavailable.
  void Stop();

  // A page was published that is dirty in memory.
  void Enqueue(PageId id);
  // Writes the page now if it is not on SSD yet, and answers when it is durable: kNotFound when it is neither in memory
  // nor on SSD, kNoSpace, kTooLarge, kUnavailable.
  void MakeDurable(PageId id, std::function<void(const Status&)> done);
  // The same for everything that is dirty now; pages that went meanwhile do not count.
  void MakeAllDurable(std::function<void(const Status&)> done);
  // The page is gone: nothing of it may stay on SSD.
  void Forget(PageId id);
  // Somebody waits for memory, or eviction has begun.
  void RequestSpace();
  // Memory is needed and the SSD is too slow: pages of at least `bytes` together become evictable unwritten.
  void GiveUp(uint64_t bytes);

  // A read from SSD begins or ends: writing makes room for it.
  void BeginRead();
  void EndRead();

  // Writes everything that is dirty, for at most `limit`; `progress` gets the pages left about once a second.
  // kUnavailable with the number of pages that were left.
  Status Drain(std::chrono::milliseconds limit, const std::function<void(size_t pages_left)>& progress);

  struct Stats {
    uint64_t queued_pages = 0;
    uint64_t pages_in_flight = 0;
    uint64_t bytes_in_flight = 0;
  };
  Stats GetStats() const;

 private:
  using Done = std::function<void(const Status&)>;
  struct Writing {
    uint64_t bytes = 0;
    bool removed = false;
    int64_t begin_ns = 0;
  };
  struct Queued {
    PageId id;
    int64_t since_ns = 0;
  };

  void Run();
  // The next page to write, if now is the time for one.
  bool TakeNextLocked(PageId* next, std::chrono::nanoseconds* wait) KVP_REQUIRES(mutex_);
  bool TakeQueuedLocked(PageId* next) KVP_REQUIRES(mutex_);
  bool UnderPressure() const;
  bool ReadsAreActive(int64_t now_ns) const;
  void Write(PageId id);
  void Append(PageId id, const std::shared_ptr<PageHold>& hold, const PageDescription& described);
  void Finish(PageId id, const Status& status);
  void PlanNextLocked(PageId id, const Writing& writing, const Status& status) KVP_REQUIRES(mutex_);
  void AnswerDurable(std::vector<Done> waiters, const Status& status);

  const Parts parts_;
  const SpillMode mode_;
  mutable Mutex mutex_;
  CondVar wake_;
  CondVar drained_;
  bool running_ KVP_GUARDED_BY(mutex_) = false;
  bool draining_ KVP_GUARDED_BY(mutex_) = false;
  bool space_wanted_ KVP_GUARDED_BY(mutex_) = false;
  std::deque<Queued> queue_ KVP_GUARDED_BY(mutex_);   // each page once
  std::deque<PageId> urgent_ KVP_GUARDED_BY(mutex_);  // for MakeDurable
  absl::flat_hash_map<uint64_t, Writing> writing_ KVP_GUARDED_BY(mutex_);
  absl::flat_hash_map<uint64_t, std::vector<Done>> waiting_ KVP_GUARDED_BY(mutex_);
  size_t finishing_ KVP_GUARDED_BY(mutex_) = 0;  // written, and not yet done with it
  uint64_t bytes_in_flight_ KVP_GUARDED_BY(mutex_) = 0;
  int64_t not_before_ns_ KVP_GUARDED_BY(mutex_) = 0;  // a gentle pause, or the SSD refused
  int64_t busy_until_ns_ KVP_GUARDED_BY(mutex_) = 0;  // the SSD's queue was full
  std::atomic<int> reads_{0};
  std::atomic<int64_t> last_read_ns_{0};
  std::thread thread_;
};

}  // namespace kvpagefs
