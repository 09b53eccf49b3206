// The SSD tier: pages in one directory, as a log of regions (format: spill/FORMAT.md).
//
// A region is a preallocated file that is filled with records from front to back, then sealed with an index. A record
// is one page: header (page id, size, checksum, the caller's description) and payload, both multiples of 4 KiB.
// Records are never changed. Reclaim takes the oldest region whole; what is wanted still is appended again.
//
// Life of a page here: Append -> stored (readable by id) --Remove, reclaim, quarantine, lost file--> gone. An id that
// was removed never comes back, also not after a restart: removals are written to a file of their own before Remove
// returns, and page ids are never used twice.
//
// Invariants:
//  G1 every answer to Read is the page's own bytes (checksum verified) or an error; a page whose bytes are wrong is
//     quarantined: dropped, counted, told to the listener, and its id may be appended again.
//  G2 the files never take more than `capacity_bytes` of disk, also after a crash or when the capacity was lowered.
//  G3 a page is readable from the moment its Append is done, and after a crash once a Sync that began later is done.
//  G4 a region that is being read is not overwritten: its file is reused only when its last reader is gone.
//  G5 an error of the disk ends no operation but its own. After `kFailuresToSuspend` failed writes in a row the log is
//     suspended: appends answer kUnavailable at once, reads go on, and a probe write tries again every second.
//
// Threads: every method from any thread. `done` functions and the listener are called without locks, on the disk's
// threads or the log's own one, and must not wait. Nothing here waits for the disk except Open, Close and Remove.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <sys/uio.h>

#include "base/clock.h"
#include "base/ids.h"
#include "base/log.h"
#include "base/result.h"
#include "spill/ssd_disk.h"

namespace kvpagefs {

class SsdLog {
 public:
  static constexpr uint64_t kMaxDescriptionBytes = uint64_t{96} * 1024;
  static constexpr int kFailuresToSuspend = 3;

  struct Options {
    uint64_t capacity_bytes = 0;         // of disk, all files together
    uint64_t region_bytes = 0;           // of new regions, a multiple of 4 KiB; 0: RegionBytesFor
    uint64_t node_identity = 0;          // told by the caller; a region of another identity is refused as foreign
    uint32_t max_queued_appends = 1024;  // kWouldBlock beyond
  };
  // What fits into `capacity_bytes` at least four times and takes a page of `max_page_bytes` if at all possible.
  static uint64_t RegionBytesFor(uint64_t capacity_bytes, uint64_t max_page_bytes);

  // What the log asks and tells its owner.
  class Listener {
   public:
    virtual ~Listener() = default;
    // Reclaim: is this page worth being written again (pinned, or read recently)? Asked once for each. At most half of
    // a region is written again, what was stored last first; the rest goes, wanted or not.
    virtual bool IsWanted(PageId id) = 0;
    // These pages are not in this log any more, for another reason than Remove.
    virtual void OnGone(std::span<const PageId> pages) = 0;
    // The description to store when a page is written again by reclaim; false: as it is stored.
    virtual bool Describe(PageId id, std::string* description) = 0;
  };

  // What Open found; a page appears once, with its newest record.
  struct RecoveredPage {
    PageId id;
    uint64_t bytes = 0;
    uint64_t checksum = 0;
    std::string_view description;  // valid during the call
  };
  struct RecoveryCounts {
    uint64_t regions = 0;
    uint64_t scanned_regions = 0;  // without a usable index
    uint64_t pages = 0;
    uint64_t removed_pages = 0;  // kept out by the removal file
    uint64_t damaged_records = 0;
    uint64_t damaged_regions = 0;  // header unreadable: dropped whole
    uint64_t foreign_regions = 0;  // of another identity: left alone, counted in the capacity
    std::string first_loss;        // for the log: what and why
  };
  using RecoverySink = std::function<void(const RecoveredPage&)>;

  // Reads indexes, and headers where an index is missing, never payloads; then starts the log's thread. Errors:
  // kUnavailable / kNotPermitted of the disk; kInvalid: capacity below four regions (the text names the numbers).
  struct Setup {
    std::unique_ptr<SsdDisk> disk;
    Options options;
    Listener* listener = nullptr;  // outlives the log, as does the clock
    const Clock* clock = nullptr;
    Log log = Log::Discard();
  };
  static Result<std::unique_ptr<SsdLog>> Open(Setup setup, const RecoverySink& sink, RecoveryCounts* counts);
  // Ends what is queued (kUnavailable for appends that have not started), syncs, writes the open region's index.
  ~SsdLog();

  struct AppendRequest {
    PageId id;
    uint64_t bytes = 0;
    uint64_t checksum = 0;    // XXH3 of the page, as it was sealed
    std::string description;  // at most kMaxDescriptionBytes
    // The page's bytes: pieces aligned to 4 KiB, the last one padded to 4 KiB by the caller. Valid until `done`.
    std::vector<iovec> pieces;
    std::function<void(const Status&)> done;
  };
  // Queues. Consecutive requests are written together. Errors by `done`: kTooLarge (fits no region), kNoSpace (disk
  // full, or nothing can be reclaimed), kUnavailable (suspended, or the write failed), kWouldBlock, kNotFound (removed
  // on its way). An id that is stored already succeeds without a write; one that is on its way gets the same answer.
  void Append(AppendRequest request);

  // Reads the whole page into `pieces` (as above: 4 KiB aligned, padded) and verifies it. kNotFound; kLost: bytes were
  // wrong or unreadable, and the page is now gone; kUnavailable: the disk failed, the page stays.
  void Read(PageId id, std::vector<iovec> pieces, std::function<void(const Status&)> done);

  // Every page whose Append is done by now, and every removal, is durable when `done` runs.
  void Sync(std::function<void(const Status&)> done);
  // Durable against a killed process when it returns; against a machine's crash within a second or with Sync.
  // kNotFound. On any other error the page is gone all the same, but could be back after a restart; the log goes on
  // trying to make it durable.
  Status Remove(PageId id);
  // Many at once, unknown ids are ignored.
  Status Remove(std::span<const PageId> ids);

  struct PageLocation {
    uint64_t bytes = 0;
    uint64_t checksum = 0;
    uint64_t region = 0;  // sequence number
    uint64_t offset = 0;  // of the record in its region
  };
  Result<PageLocation> Find(PageId id) const;  // kNotFound. Cheap.

  struct Stats {
    uint64_t capacity_bytes = 0;
    uint64_t file_bytes = 0;  // of disk taken
    uint64_t live_bytes = 0;  // records of pages that are stored
    uint64_t pages = 0;
    uint64_t regions = 0;
    uint64_t appended_pages = 0;   // by Append
    uint64_t appended_bytes = 0;   // their page bytes
    uint64_t rewritten_bytes = 0;  // by reclaim
    uint64_t written_bytes = 0;    // everything, with headers, padding, indexes
    uint64_t read_pages = 0;
    uint64_t read_bytes = 0;
    uint64_t reclaimed_regions = 0;
    uint64_t dropped_pages = 0;      // by reclaim
    uint64_t quarantined_pages = 0;  // wrong bytes
    uint64_t read_errors = 0;
    uint64_t write_errors = 0;
    uint64_t no_space_errors = 0;
    uint64_t lost_files = 0;
    uint64_t queued_appends = 0;
    bool suspended = false;
    std::string problem;  // the last error while it lasts; empty: all is well
  };
  Stats GetStats() const;
  SsdDisk::Info disk_info() const;
  Status RegisterMemory(std::span<const iovec> memory);

 private:
  struct State;
  explicit SsdLog(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace kvpagefs
