// Brings pages into memory for those who open them: from this node's SSD, or from another node.
//
// Single-flight: concurrent fetches of one page are one read. Admission: a page that comes back for the first time in a
// while is counted as read but protects nothing and is the next to be evicted; one that the history of reads knows
// enters as if it had been read in memory. So a scan of the SSD tier pushes out at most itself.
//
// Invariants:
//  F1 every fetch is answered exactly once: with a hold, kNotFound (no copy, wrong bytes, no room or too slow until its
//     deadline), or kInterrupted.
//  F2 a page is in memory once: it is adopted only by the fetch that the table of fetches names.
//  F3 a page that was removed meanwhile is not findable afterwards.
//  F4 a fetch for another node never waits for another node.
// Any thread; answers come from the caller's thread, the SSD's or the keeper's, without locks. Lock order: its mutex
// before those of the tiers.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <absl/container/flat_hash_map.h>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/result.h"
#include "fs/counters.h"
#include "fs/fetched_page.h"
#include "fs/read_history.h"
#include "fs/remote_pages.h"
#include "fs/spiller.h"
#include "fs/ssd_tier.h"
#include "spill/memory_tier.h"

namespace kvpagefs {

class Promoter {
 public:
  // All outlive the promoter.
  struct Parts {
    MemoryTier* tier = nullptr;
    SsdTier* ssd = nullptr;  // null: no SSD tier; then there is no spiller either
    Spiller* spiller = nullptr;
    RemotePages* remote = nullptr;  // null: standalone
    // A page has come into memory.
    std::function<void(PageId)> on_arrived;
    const Clock* clock = nullptr;
    Counters* counters = nullptr;
    ReadHistory* history = nullptr;
  };
  using Answer = std::function<void(Result<PageHold>)>;

  // Who wants a page.
  struct Request {
    uint64_t ticket = 0;      // for Interrupt; unique; 0: cannot be interrupted
    int64_t deadline_ns = 0;  // monotonic
    MemoryTier::Touch touch = MemoryTier::Touch::kNone;
    uint32_t reader = 0;
    bool for_peer = false;  // another node asks
  };
  using Page = FetchedPage;

  explicit Promoter(Parts parts) : parts_(std::move(parts)) {}

  void Fetch(const Page& page, const Request& request, Answer answer);
  // Answers the request now; one whose Fetch is still to come, then.
  void Interrupt(uint64_t ticket);
  void Forget(PageId id);
  // Starts what waited for memory, and answers what is too late.
  void Retry(int64_t now_ns);
  // The nearest deadline, 0: nobody waits.
  int64_t NextDeadline() const;
  // Answers everything; fetches that are under way end by themselves.
  void AnswerAll(ErrorCode code);
  size_t waiting() const;

 private:
  struct Waiter {
    Request request;
    Answer answer;
  };
  // One page on its way.
  struct Flight {
    Page page;
    std::vector<Waiter> waiters;
    // Who takes it out of kWaiting owns it until it is answered, or waits again.
    enum class State : uint8_t { kReading, kWaiting };
    State state = State::kReading;
    bool removed = false;
    bool remote = false;  // it comes, or will come, from another node
    int64_t deadline_ns = 0;
  };
  // The memory that a page is read into.
  struct Arriving;

  bool OnSsd(PageId id) const { return parts_.ssd != nullptr && parts_.ssd->Has(id); }
  // A fetch begins with the waiter, it has joined one, or is to be answered with `hold`.
  enum class Placed : uint8_t { kStart, kJoined, kAnswer };
  Placed Place(const Page& page, Waiter* waiter, Result<PageHold>* hold);
  void Start(const Page& page);
  void WaitForMemory(const Page& page, const Status& refused);
  void ReadFromSsd(const Page& page, const std::shared_ptr<Arriving>& arriving);
  void ReadFromPeer(const Page& page, const std::shared_ptr<Arriving>& arriving);
  void Finish(const Page& page, const std::shared_ptr<Arriving>& arriving);
  void Serve(const Page& page, const PageHold& hold, bool admitted, std::vector<Waiter> waiters);
  // Ends a flight that the caller owns.
  void Fail(PageId id, ErrorCode code);

  const Parts parts_;
  mutable Mutex mutex_;
  absl::flat_hash_map<uint64_t, Flight> flights_ KVP_GUARDED_BY(mutex_);
  std::vector<uint64_t> early_interrupts_ KVP_GUARDED_BY(mutex_);  // of requests whose Fetch is still to come
};

}  // namespace kvpagefs
