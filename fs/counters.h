// What this node counted since it started. One table names each counter once; status, metrics and tests walk it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

namespace kvpagefs {

enum class Counter : uint8_t {
  kLookups,
  kLookupHits,
  kOpens,
  kOpenMisses,
  kStaleRetries,
  kReads,
  kReadBytes,
  kCreates,
  kWrites,
  kWriteBytes,
  kSeals,
  kSealErrors,
  kAbandonedDrafts,
  kRenames,
  kUnlinks,
  kDirectoryReads,
  kSpaceWaits,
  kSpaceWaitTimeouts,
  kInterrupted,
  kNamesDropped,
  kFetches,
  kFetchedBytes,
  kFetchesJoined,
  kFetchFailures,
  kFetchTimeouts,
  kSpillFailures,
  kSpillsGivenUp,
  kRemoteFetches,
  kRemoteFetchedBytes,
  kRemoteFailures,
  kRemoteWrongBytes,
  kServedPages,
  kServedBytes,
  kCount,
};

struct CounterName {
  Counter counter;
  std::string_view name;  // in status; in metrics "kvpagefs_<name>_total"
  std::string_view help;
};

inline constexpr CounterName kCounterNames[] = {
    {Counter::kLookups, "lookups", "Names looked up by the kernel."},
    {Counter::kLookupHits, "lookup_hits", "Look-ups that found a page or directory."},
    {Counter::kOpens, "opens", "Opens of published pages for reading."},
    {Counter::kOpenMisses, "open_misses", "Opens of pages that were no longer here."},
    {Counter::kStaleRetries, "stale_retries",
     "Requests on inodes without a name that the kernel was told to look up again."},
    {Counter::kReads, "reads", "READ requests answered; reads from the kernel's page cache are not seen."},
    {Counter::kReadBytes, "read_bytes", "Bytes answered to READ requests."},
    {Counter::kCreates, "creates", "Files created."},
    {Counter::kWrites, "writes", "WRITE requests."},
    {Counter::kWriteBytes, "write_bytes", "Bytes of WRITE requests."},
    {Counter::kSeals, "seals", "Pages sealed and published."},
    {Counter::kSealErrors, "seal_errors", "Pages that could not be sealed or published."},
    {Counter::kAbandonedDrafts, "abandoned_drafts", "Unfinished pages thrown away because their writer was killed."},
    {Counter::kRenames, "renames", "Names renamed."},
    {Counter::kUnlinks, "unlinks", "Names removed by unlink."},
    {Counter::kDirectoryReads, "directory_reads", "READDIR and READDIRPLUS requests."},
    {Counter::kSpaceWaits, "space_waits", "Writes that waited for held pages to be let go."},
    {Counter::kSpaceWaitTimeouts, "space_wait_timeouts", "Writes that waited for space in vain."},
    {Counter::kInterrupted, "interrupted", "Waiting requests given up because their process was interrupted."},
    {Counter::kNamesDropped, "names_dropped", "Names removed because the last copy of their page was evicted."},
    {Counter::kFetches, "fetches", "Pages brought from SSD into memory."},
    {Counter::kFetchedBytes, "fetched_bytes", "Their bytes."},
    {Counter::kFetchesJoined, "fetches_joined", "Opens that waited for a page that was on its way for another one."},
    {Counter::kFetchFailures, "fetch_failures", "Pages that could not be read from SSD: misses."},
    {Counter::kFetchTimeouts, "fetch_timeouts", "Opens answered as misses because their page came too late."},
    {Counter::kSpillFailures, "spill_failures", "Pages that the SSD tier did not take."},
    {Counter::kSpillsGivenUp, "spills_given_up", "Pages made evictable unwritten because memory was wanted sooner."},
    {Counter::kRemoteFetches, "remote_fetches", "Pages brought from other nodes."},
    {Counter::kRemoteFetchedBytes, "remote_fetched_bytes", "Their bytes."},
    {Counter::kRemoteFailures, "remote_failures",
     "Copies on other nodes that could not be had; another one was tried."},
    {Counter::kRemoteWrongBytes, "remote_wrong_bytes", "Copies from other nodes whose checksum was wrong."},
    {Counter::kServedPages, "served_pages", "Pages sent to other nodes."},
    {Counter::kServedBytes, "served_bytes", "Their bytes."},
};

class Counters {
 public:
  void Add(Counter counter, uint64_t amount = 1) {
    values_[static_cast<size_t>(counter)].fetch_add(amount, std::memory_order_relaxed);
  }
  uint64_t Get(Counter counter) const { return values_[static_cast<size_t>(counter)].load(std::memory_order_relaxed); }

 private:
  std::array<std::atomic<uint64_t>, static_cast<size_t>(Counter::kCount)> values_{};
};

}  // namespace kvpagefs
