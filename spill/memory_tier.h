// The memory tier: the pages whose bytes are in this node's segment.
//
// Life of a page here: Draft (being written, private) --Seal--> sealed (immutable, findable by id) --Remove or
// eviction--> gone from the table; its bytes are freed when the last PageHold lets go.
//
// Accounting, at every moment (all multiples of 4 KiB, all in Stats):
//   capacity = free + headers + drafts + held + pinned + dirty + evictable
// A sealed page counts in exactly one of: held (some PageHold exists, also of a removed page), else pinned (hard), else
// dirty (to be copied elsewhere before it may go), else evictable (soft pins included).
//
// Threads: every method may be called from any thread. No lock is held while a Listener runs. Draft methods lock that
// draft; different drafts are written in parallel.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <sys/uio.h>

#include "base/clock.h"
#include "base/ids.h"
#include "base/pin.h"
#include "base/result.h"
#include "spill/segment.h"

namespace kvpagefs {

class MemoryTier;
struct MemoryTierState;
struct DraftState;
struct PageSlot;

// A page that is being written. Dense: growing it takes the blocks at once and zeroes what is not written, so no hole
// survives and no old byte shows. Destroying it gives the blocks back.
class Draft {
 public:
  ~Draft();
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;

  // All of `bytes` at `offset`, or nothing and kNoSpace / kTooLarge. Evicts what it must.
  Status Write(uint64_t offset, std::span<const std::byte> bytes);
  // Cuts off, or grows with zeros.
  Status Truncate(uint64_t bytes);
  // Takes blocks for a page of `bytes` without changing its size (fallocate with KEEP_SIZE). kNoSpace takes nothing.
  Status Reserve(uint64_t bytes);
  // Makes it `bytes` long with contents that the caller fills in through `blocks`: whole 4 KiB blocks, valid until the
  // next change or Seal. What is behind the end in the last one is zeroed when it is sealed.
  Status Prepare(uint64_t bytes, std::vector<iovec>* blocks);
  // Pieces of the segment for [offset, offset + bytes) cut at the end of the draft, appended to `out`. They stay valid
  // until the next Truncate or Seal of this draft. Returns the bytes covered.
  uint64_t Read(uint64_t offset, uint64_t bytes, std::vector<iovec>* out) const;

  uint64_t bytes() const;
  uint64_t allocated_bytes() const;

 private:
  friend class MemoryTier;
  explicit Draft(std::unique_ptr<DraftState> state);
  std::unique_ptr<DraftState> state_;
};

// In-use reference to a sealed page: no eviction and no move while it lasts; its bytes stay readable even after Remove.
// Move-only; empty after a move. Must not outlive the tier.
class PageHold {
 public:
  PageHold() = default;
  ~PageHold();
  PageHold(PageHold&& other) noexcept;
  PageHold& operator=(PageHold&& other) noexcept;

  explicit operator bool() const { return tier_ != nullptr; }
  PageId id() const;
  uint64_t bytes() const;
  uint64_t checksum() const;
  // Pieces of the segment for [offset, offset + bytes) cut at the end of the page, appended to `out`; valid while the
  // hold lasts. Returns the bytes covered: 0 at or behind the end.
  uint64_t Read(uint64_t offset, uint64_t bytes, std::vector<iovec>* out) const;
  // All of it as whole 4 KiB blocks, appended to `out`: zeros behind the end.
  void Blocks(std::vector<iovec>* out) const;
  // A second hold on the same page.
  PageHold Clone() const;

 private:
  friend class MemoryTier;
  PageHold(MemoryTierState* tier, PageSlot* page) : tier_(tier), page_(page) {}
  MemoryTierState* tier_ = nullptr;
  PageSlot* page_ = nullptr;
};

// What this node knows of one sealed page beyond its bytes.
struct PageUse {
  uint64_t bytes = 0;
  uint64_t checksum = 0;
  uint64_t resident_bytes = 0;  // whole blocks in the segment
  int64_t last_read_ns = 0;     // wall clock; 0: never
  uint32_t reads = 0;           // opens for reading since it was sealed here; stays at its maximum
  uint32_t last_reader = 0;     // process id of the last reader; 0: none
  uint32_t holds = 0;
  Pin pin = Pin::kNone;
  bool dirty = false;
};

class MemoryTier {
 public:
  class Listener {
   public:
    virtual ~Listener() = default;
    // These pages are gone from this tier because their space was needed.
    virtual void OnEvicted(std::span<const PageId> pages) = 0;
    // More than the high watermark is in use: somebody should call EvictToLow soon. Called by the thread whose
    // allocation went above it; not again before a call of EvictToLow or an allocation that ended below.
    virtual void OnHighWatermark() = 0;
    // Space came back while somebody waited for it (see WaitForSpace).
    virtual void OnSpaceFreed() = 0;
  };

  struct Options {
    double high_watermark = 0.95;  // of the segment in use: background eviction starts
    double low_watermark = 0.90;   // and stops
    uint64_t max_page_bytes = uint64_t{256} << 20;
  };

  // A partition of the segment in bytes, and counts since creation.
  struct Stats {
    uint64_t capacity_bytes = 0;
    uint64_t free_bytes = 0;
    uint64_t header_bytes = 0;
    uint64_t draft_bytes = 0;
    uint64_t held_bytes = 0;
    uint64_t pinned_bytes = 0;
    uint64_t dirty_bytes = 0;
    uint64_t evictable_bytes = 0;
    uint64_t pages = 0;  // findable
    uint64_t drafts = 0;
    uint64_t holds = 0;
    uint64_t evicted_pages = 0;
    uint64_t evicted_bytes = 0;
    uint64_t sealed_pages = 0;
    uint64_t no_space_errors = 0;
    uint64_t free_extents = 0;
    uint64_t longest_free_bytes = 0;
  };

  // `clock` and `listener` outlive the tier; `listener` may be null. kInvalid for watermarks that are not
  // 0 < low <= high <= 1.
  static Result<std::unique_ptr<MemoryTier>> Create(Segment segment, const Options& options, const Clock* clock,
                                                    Listener* listener);
  // All holds and drafts must be gone.
  ~MemoryTier();

  std::unique_ptr<Draft> NewDraft();
  // A draft that starts with the bytes of a sealed page (copied). kNoSpace.
  Result<std::unique_ptr<Draft>> NewDraft(const PageHold& from);

  // The end of writing: checksums, writes the page header, makes the page findable and held. On error (kNoSpace for the
  // header's slot) the draft keeps its bytes and is still the caller's; on success it is consumed (null). An id that is
  // in the tier already is a bug and aborts. kDirty: the page stays until MarkClean.
  enum class Copy : uint8_t { kClean, kDirty };
  Result<PageHold> Seal(PageId id, std::unique_ptr<Draft>& draft, Pin pin, Copy copy = Copy::kClean);
  // As Seal, for a page that comes from another tier, with its checksum verified: clean. kFirstToGo: it is the next to
  // be evicted unless it is read again.
  enum class Welcome : uint8_t { kFresh, kFirstToGo };
  struct Arrival {
    PageId id;
    uint64_t checksum = 0;
    Pin pin = Pin::kNone;
    Welcome welcome = Welcome::kFresh;
  };
  Result<PageHold> Adopt(const Arrival& arrival, std::unique_ptr<Draft>& draft);
  // The page has another copy, or may be lost: it can be evicted from now on. Unknown ids are ignored.
  void MarkClean(PageId id);

  // What the hold is for.
  enum class Touch : uint8_t {
    kRead,   // an open for reading: counts, and protects from eviction for a while
    kCount,  // an open for reading that only counts: the first of a page that came from another tier
    kNone,   // everything else: changes nothing in the eviction order
  };
  // kNotFound. `reader`: process id, kept as last_reader for kRead and kCount.
  Result<PageHold> Hold(PageId id, Touch touch, uint32_t reader = 0);

  // kNotFound. Looks without touching: a stat of every page evicts and protects nothing.
  Result<PageUse> Use(PageId id) const;
  Status SetPin(PageId id, Pin pin);
  // utimensat: stores the access time. A time from the last read or seal on moves the page in the eviction order as a
  // read does; an earlier one makes it the next to go.
  Status SetLastRead(PageId id, int64_t last_read_ns);
  // kNotFound.
  Status Remove(PageId id);

  // Evicts in eviction order until the low watermark, at most `max_pages`; returns how many. For a background thread.
  size_t EvictToLow(size_t max_pages);
  // There is work for EvictToLow: more than the low watermark is in use, and some of it is evictable.
  bool AboveLow() const;

  // After kNoSpace: true when the missing space could come back soon, because pages are dirty, or held that could be
  // evicted when let go; the next release, cleaning, removal or unpinning calls Listener::OnSpaceFreed once (this very
  // call does when the space has come back already). False: everything is pinned or being written. `bytes`: what the
  // failed call asked for.
  bool WaitForSpace(uint64_t bytes);

  Stats GetStats() const;
  const Segment& segment() const;
  uint64_t max_page_bytes() const;
  // Recomputes the accounting and every link from scratch and compares: for tests. The text names the first difference.
  Status CheckInvariants() const;

 private:
  friend class PageHold;
  friend class Draft;
  explicit MemoryTier(std::unique_ptr<MemoryTierState> state);
  std::unique_ptr<MemoryTierState> state_;
};

}  // namespace kvpagefs
