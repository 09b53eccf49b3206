// The inside of SsdLog. Private to spill/.
//
// One thread, the log's own, calls Step in a loop: it gathers writes, runs the tasks (prepare, seal, reclaim, sync a
// region) and keeps the removal file. A test calls Step itself, with a disk whose completions it delivers, so that a
// run depends on its seed alone.
//
// Lock order: flush_mutex, then the removal file's, then `mutex`. Callbacks and disk calls are made without `mutex`.
//
// Order of what reaches the disk, which recovery relies on:
//  O1 a region's new header is written before its records, and its sequence is above all that were ever used
//  O2 a region is sealed (index) only after a sync of its records
//  O3 reclaim: the moved records are synced, then the header is written as free and synced, then the pages are told as
//     gone, then the file is reused
//  O4 a record whose write failed, or whose page was quarantined or removed, is marked in the removal file before any
//     later Remove or Sync returns
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <absl/container/flat_hash_map.h>

#include "base/mutex.h"
#include "spill/io_loop.h"
#include "spill/region_loader.h"
#include "spill/region_table.h"
#include "spill/removal_file.h"
#include "spill/ssd_append.h"
#include "spill/ssd_index.h"
#include "spill/ssd_log.h"

namespace kvpagefs {

// What tests replace.
struct SsdLogHooks {
  std::function<void()> drive;       // called instead of waiting for the disk; empty: wait
  std::function<uint64_t()> random;  // for salts; empty: the system's
};

struct SsdLogSetup {
  std::unique_ptr<SsdDisk> disk;
  SsdLog::Options options;
  SsdLog::Listener* listener = nullptr;
  const Clock* clock = nullptr;
  Log log = Log::Discard();
  SsdLogHooks hooks;
};

// Answers that are given when no lock is held.
using Answers = std::vector<std::pair<std::function<void(const Status&)>, Status>>;
void Give(Answers* answers);

struct ReclaimRun;

struct SsdLogState {
  explicit SsdLogState(SsdLogSetup setup);
  // Without Close: as a killed process.
  ~SsdLogState();

  // The interface of SsdLog: any thread.
  void Append(SsdLog::AppendRequest request);
  void Read(PageId id, std::vector<iovec> pieces, std::function<void(const Status&)> done);
  void Sync(std::function<void(const Status&)> done);
  Status Remove(std::span<const PageId> ids, size_t* found);
  Result<SsdLog::PageLocation> Find(PageId id) const;
  SsdLog::Stats GetStats() const;

  // The log's thread. True: there may be more to do at once.
  bool Step();
  void WaitForWork();
  // Any thread.
  void Wake();
  // Step ends everything, then Closed is true.
  void Close();
  bool Closed();
  // Steps until the condition holds. False: the disk answered nothing for too long.
  bool RunUntil(const std::function<bool()>& condition);

  // --- ssd_append.cc
  // An answer that needs no write; none: queue it.
  std::optional<Status> AdmitLocked(const SsdLog::AppendRequest& request) const KVP_REQUIRES(mutex);
  bool PumpAppends();
  bool GatherLocked(SsdWrite* write, Answers* answers) KVP_REQUIRES(mutex);
  bool TakeNextLocked(SsdWrite* write, Region* open, Answers* answers) KVP_REQUIRES(mutex);
  void Submit(std::shared_ptr<SsdWrite> write);
  void OnWritten(const std::shared_ptr<SsdWrite>& write, const Status& status);
  void StoreLocked(SsdWrite* write, Answers* answers) KVP_REQUIRES(mutex);
  void FailLocked(SsdWrite* write, const Status& status, Answers* answers) KVP_REQUIRES(mutex);
  void AnswerLocked(std::unique_ptr<PendingAppend> item, const Status& status, Answers* answers) KVP_REQUIRES(mutex);
  void FailQueuedLocked(const Status& status, Answers* answers) KVP_REQUIRES(mutex);
  void FailMovesLocked(const Status& status, Answers* answers) KVP_REQUIRES(mutex);
  void FailStalledLocked(Answers* answers) KVP_REQUIRES(mutex);
  // Of any write: counts, suspends, resumes.
  void NoteWriteLocked(const Status& status) KVP_REQUIRES(mutex);

  // --- ssd_read.cc
  struct ReadRun;
  void OnRead(const std::shared_ptr<ReadRun>& run, const Status& status);
  // True when the page is gone by it.
  bool QuarantineLocked(const SsdPage& page) KVP_REQUIRES(mutex);
  void EraseLocked(const SsdPage& page) KVP_REQUIRES(mutex);
  // Erases the page, and marks every record of it.
  void MarkLocked(const SsdPage& page) KVP_REQUIRES(mutex);
  Status FlushMarks() KVP_EXCLUDES(mutex);

  // --- ssd_regions.cc
  void StartTasks(int64_t now_ns);
  IoTask PrepareRegion();
  // A file for a new region, its state kPreparing.
  Result<uint32_t> TakeFile();
  void FullLocked(Region* region) KVP_REQUIRES(mutex);
  IoTask SealRegion(uint32_t slot);
  IoTask SyncDirty(Status* result);
  IoTask SyncRegion(uint32_t slot, Status* result, uint32_t* left);
  IoTask RunSync();
  IoTask Probe();
  IoTask CheckFiles();
  IoTask LoseRegion(uint32_t slot);
  void KeepRemovals(int64_t now_ns);
  // False: it stays, and takes space.
  bool RemoveFile(uint32_t slot);
  void StepClosing();

  // --- ssd_reclaim.cc
  IoTask ReclaimRegion(uint32_t slot);
  IoTask MovePages(ReclaimRun* run, std::vector<PageId>* dropped);
  IoTask MovePage(ReclaimRun* run, SsdPage page);
  IoTask FreeRegion(ReclaimRun* run, bool* freed);
  void TellGone(std::span<const PageId> pages);

  std::unique_ptr<SsdDisk> disk;  // destroyed before everything below
  const SsdLog::Options options;
  SsdLog::Listener* const listener;
  const Clock* const clock;
  const Log log;
  const SsdLogHooks hooks;
  RemovalFile removals;
  IoLoop loop;

  Mutex wake_mutex;
  CondVar wake_condition;
  bool woken KVP_GUARDED_BY(wake_mutex) = false;

  Mutex flush_mutex;

  mutable Mutex mutex;
  SsdIndex index KVP_GUARDED_BY(mutex);
  RegionTable regions KVP_GUARDED_BY(mutex);
  uint64_t next_sequence KVP_GUARDED_BY(mutex) = 1;
  uint64_t next_file KVP_GUARDED_BY(mutex) = 1;
  std::deque<std::unique_ptr<PendingAppend>> queue KVP_GUARDED_BY(mutex);
  std::deque<std::unique_ptr<PendingAppend>> moves KVP_GUARDED_BY(mutex);
  absl::flat_hash_map<uint64_t, PendingAppend*> pending KVP_GUARDED_BY(mutex);    // by Append, until answered
  absl::flat_hash_map<uint64_t, PendingAppend*> moving KVP_GUARDED_BY(mutex);     // by reclaim
  std::vector<RemovalMark> marks KVP_GUARDED_BY(mutex);                           // still to be written
  absl::flat_hash_map<uint64_t, RemovalMark> failed_moves KVP_GUARDED_BY(mutex);  // newer records than the index knows
  std::vector<std::function<void(const Status&)>> sync_waiters KVP_GUARDED_BY(mutex);
  std::vector<uint32_t> to_seal KVP_GUARDED_BY(mutex);
  std::vector<AlignedBuffer> header_buffers KVP_GUARDED_BY(mutex);  // of writes that are not in flight
  uint32_t writes_in_flight KVP_GUARDED_BY(mutex) = 0;
  uint32_t reads_in_flight KVP_GUARDED_BY(mutex) = 0;
  bool preparing KVP_GUARDED_BY(mutex) = false;
  bool reclaiming KVP_GUARDED_BY(mutex) = false;
  bool syncing KVP_GUARDED_BY(mutex) = false;        // RunSync
  bool syncing_dirty KVP_GUARDED_BY(mutex) = false;  // SyncDirty
  bool probing KVP_GUARDED_BY(mutex) = false;
  bool checking_files KVP_GUARDED_BY(mutex) = false;
  bool files_suspect KVP_GUARDED_BY(mutex) = false;  // a file ended too early
  bool recovering KVP_GUARDED_BY(mutex) = true;      // Step runs the tasks of recovery and nothing else
  bool closing KVP_GUARDED_BY(mutex) = false;
  int failures_in_a_row KVP_GUARDED_BY(mutex) = 0;
  int64_t prepare_at_ns KVP_GUARDED_BY(mutex) = 0;
  int64_t reclaim_at_ns KVP_GUARDED_BY(mutex) = 0;
  int64_t probe_at_ns KVP_GUARDED_BY(mutex) = 0;
  int64_t full_until_ns KVP_GUARDED_BY(mutex) = 0;  // the disk was full a moment ago
  int64_t removals_at_ns KVP_GUARDED_BY(mutex) = 0;
  SsdLog::Stats stats KVP_GUARDED_BY(mutex);
};

}  // namespace kvpagefs
