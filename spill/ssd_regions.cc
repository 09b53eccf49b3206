// The tasks that make, seal, sync and lose regions, and what the log's thread does besides appending.
#include <algorithm>
#include <utility>

#include "spill/ssd_log_state.h"

namespace kvpagefs {
namespace {

constexpr auto kWrite = SsdDisk::IoKind::kWrite;
constexpr int64_t kSecondNs = 1'000'000'000;
// A full disk is asked again this often.
constexpr int64_t kFullRetryNs = 10 * kSecondNs;

// Names in a row that may be taken by what is not the log's.
constexpr int kForeignNames = 64;

}  // namespace

void SsdLogState::StartTasks(int64_t now_ns) {
  std::vector<uint32_t> seal;
  bool prepare = false;
  bool probe = false;
  bool sync = false;
  bool check = false;
  std::optional<uint32_t> reclaim;
  {
    MutexLock lock(mutex);
    seal.swap(to_seal);
    if (regions.disk_full() && now_ns >= full_until_ns) regions.set_disk_full(false);
    const bool next = preparing || regions.Find(Region::State::kReady) != nullptr;
    const bool open = regions.Find(Region::State::kOpen) != nullptr;
    if (!next && !closing && now_ns >= prepare_at_ns && (!stats.suspended || !open)) {
      prepare = preparing = regions.FindReusable() != nullptr || regions.Available() > 0;
    }
    if (stats.suspended && open && !probing && !closing && now_ns >= probe_at_ns) probe = probing = true;
    if (!reclaiming && !closing && !stats.suspended && now_ns >= reclaim_at_ns &&
        regions.Available() < RegionTable::kWantedFree) {
      if (Region* const oldest = regions.ChooseReclaim()) {
        oldest->state = Region::State::kReclaiming;
        reclaim = oldest->slot;
        reclaiming = true;
      }
    }
    sync = !syncing && !sync_waiters.empty();
    syncing = syncing || sync;
    check = files_suspect && !checking_files;
    checking_files = checking_files || check;
  }
  for (const uint32_t slot : seal) loop.Start(SealRegion(slot));
  if (prepare) loop.Start(PrepareRegion());
  if (probe) loop.Start(Probe());
  if (reclaim) loop.Start(ReclaimRegion(*reclaim));
  if (sync) loop.Start(RunSync());
  if (check) loop.Start(CheckFiles());
}

Result<uint32_t> SsdLogState::TakeFile() {
  std::string name;
  std::optional<uint32_t> unusable;
  {
    MutexLock lock(mutex);
    if (Region* const free = regions.FindReusable()) {
      free->state = Region::State::kPreparing;
      return free->slot;
    }
    Region* const free = regions.Find(Region::State::kFree);
    if (free != nullptr && free->users == 0) unusable = free->slot;
  }
  // Of another size, from earlier options.
  if (unusable && !RemoveFile(*unusable)) return Error(ErrorCode::kUnavailable, "a region file cannot be removed");
  uint64_t bytes = 0;
  Result<SsdDisk::FileId> file = ErrorCode::kInvalid;
  // Something foreign may have the name of the next file.
  for (int tries = 0; tries < kForeignNames && !file.ok() && file.code() == ErrorCode::kInvalid; ++tries) {
    {
      MutexLock lock(mutex);
      if (!regions.MayCreate()) return ErrorCode::kNotFound;
      bytes = regions.limits().region_bytes;
      name = RegionFileName(next_file++);
    }
    file = disk->Open(name, bytes);
  }
  if (!file.ok()) return file.error();
  const Status durable = disk->SyncDirectory();
  MutexLock lock(mutex);
  Region& region = regions.Add(name, bytes);
  region.file = *file;
  region.state = durable.ok() ? Region::State::kPreparing : Region::State::kFree;
  if (!durable.ok()) return durable.error();
  return region.slot;
}

IoTask SsdLogState::PrepareRegion() {
  const Result<uint32_t> slot = TakeFile();
  Status status;
  if (slot.ok()) {
    RegionHeader header{.in_use = 1, .node_identity = options.node_identity};
    SsdDisk::FileId file = 0;
    {
      MutexLock lock(mutex);
      Region& region = regions.At(*slot);
      header.region_bytes = region.file_bytes;
      header.sequence = next_sequence++;
      header.salt = hooks.random();
      region.key = KeyOf(header);
      region.data_end = kFirstRecordOffset;
      region.index_bytes = 0;
      region.index = IndexBuilder();
      file = region.file;
    }
    AlignedBuffer block(kBlockBytes);
    EncodeRegionHeader(header, block.bytes());
    status = co_await loop.Transfer(kWrite, file, 0, block.piece());
  } else {
    status = slot.error();
  }
  const int64_t now_ns = clock->MonotonicNs();
  MutexLock lock(mutex);
  preparing = false;
  if (slot.ok()) {
    Region& region = regions.At(*slot);
    region.state = status.ok() ? Region::State::kReady : Region::State::kFree;
    region.dirty = true;
    if (status.ok()) stats.written_bytes += kBlockBytes;
  }
  if (status.ok()) {
    NoteWriteLocked(status);
    co_return;
  }
  prepare_at_ns = now_ns + kSecondNs;
  if (status.code() == ErrorCode::kNotFound && !slot.ok()) co_return;
  if (status.code() == ErrorCode::kNoSpace) {
    // Works with the regions it has.
    ++stats.no_space_errors;
    stats.problem = status.error().Describe();
    regions.set_disk_full(true);
    full_until_ns = now_ns + kFullRetryNs;
    prepare_at_ns = 0;
    co_return;
  }
  // With no region to write to there is nothing to wait for: what is queued is answered now.
  if (regions.Find(Region::State::kOpen) == nullptr) {
    failures_in_a_row = std::max(failures_in_a_row, SsdLog::kFailuresToSuspend - 1);
  }
  NoteWriteLocked(status);
}

void SsdLogState::FullLocked(Region* region) {
  region->state = Region::State::kFull;
  to_seal.push_back(region->slot);
}

IoTask SsdLogState::SealRegion(uint32_t slot) {
  co_await loop.Until([this, slot] {
    MutexLock lock(mutex);
    return regions.At(slot).writes == 0;
  });
  SsdDisk::FileId file = 0;
  AlignedBuffer sealed;
  uint64_t offset = 0;
  bool fits = false;
  {
    MutexLock lock(mutex);
    Region& region = regions.At(slot);
    file = region.file;
    sealed = region.index.Finish(region.key, region.data_end);
    offset = region.key.region_bytes - sealed.size();
    fits = region.data_end <= offset && region.file_bytes >= region.key.region_bytes;
  }
  // Without an index the region is as good, but slower to recover; so no error here is worth more than counting.
  Status status;
  if (fits) {
    status = co_await loop.Sync(file);
    if (status.ok()) status = co_await loop.Transfer(kWrite, file, offset, sealed.piece());
    if (status.ok()) status = co_await loop.Sync(file);
  }
  MutexLock lock(mutex);
  Region& region = regions.At(slot);
  region.state = Region::State::kSealed;
  if (fits && status.ok()) {
    stats.written_bytes += sealed.size();
    region.dirty = false;
  } else if (fits) {
    NoteWriteLocked(status);
    files_suspect = files_suspect || status.code() == ErrorCode::kLost;
  }
}

IoTask SsdLogState::SyncRegion(uint32_t slot, Status* result, uint32_t* left) {
  SsdDisk::FileId file = 0;
  {
    MutexLock lock(mutex);
    file = regions.At(slot).file;
  }
  const Status status = co_await loop.Sync(file);
  MutexLock lock(mutex);
  Region& region = regions.At(slot);
  --region.users;
  --*left;
  if (status.ok()) co_return;
  region.dirty = true;
  *result = status;
  if (status.code() == ErrorCode::kLost) files_suspect = true;
}

// Everything whose write was done when this started. One at a time: a flag that an earlier one took down is not durable
// before that one ends.
IoTask SsdLogState::SyncDirty(Status* result) {
  co_await loop.Until([this] {
    MutexLock lock(mutex);
    return !syncing_dirty;
  });
  std::vector<uint32_t> slots;
  {
    MutexLock lock(mutex);
    syncing_dirty = true;
    regions.ForEach([&](Region& region) {
      if (!region.dirty || region.state == Region::State::kLost) return;
      region.dirty = false;
      ++region.users;
      slots.push_back(region.slot);
    });
  }
  auto left = static_cast<uint32_t>(slots.size());
  for (const uint32_t slot : slots) loop.Start(SyncRegion(slot, result, &left));
  co_await loop.Until([&left] { return left == 0; });
  MutexLock lock(mutex);
  syncing_dirty = false;
}

IoTask SsdLogState::RunSync() {
  std::vector<std::function<void(const Status&)>> waiters;
  {
    MutexLock lock(mutex);
    waiters.swap(sync_waiters);
  }
  Status status = FlushMarks();
  if (status.ok()) status = removals.Sync();
  Status synced;
  co_await SyncDirty(&synced);
  if (status.ok()) status = synced;
  if (!status.ok()) status = Error(ErrorCode::kUnavailable, status.error().Describe());
  {
    MutexLock lock(mutex);
    syncing = false;
  }
  for (const auto& done : waiters) done(status);
}

// Whether the disk takes writes again: where the next record will go, so nothing that counts is touched.
IoTask SsdLogState::Probe() {
  std::optional<uint32_t> slot;
  SsdDisk::FileId file = 0;
  uint64_t offset = 0;
  {
    MutexLock lock(mutex);
    Region* const open = regions.Find(Region::State::kOpen);
    if (open != nullptr && open->writes == 0) {
      slot = open->slot;
      file = open->file;
      offset = open->data_end;
      ++open->users;
    }
  }
  Status status;
  if (slot) {
    const AlignedBuffer block(kBlockBytes);
    status = co_await loop.Transfer(kWrite, file, offset, block.piece());
  }
  const int64_t now_ns = clock->MonotonicNs();
  MutexLock lock(mutex);
  probing = false;
  probe_at_ns = now_ns + kSecondNs;
  if (!slot) co_return;
  --regions.At(*slot).users;
  if (!status.ok() && status.code() == ErrorCode::kLost) files_suspect = true;
  NoteWriteLocked(status);
}

void SsdLogState::NoteWriteLocked(const Status& status) {
  if (status.ok()) {
    failures_in_a_row = 0;
    if (stats.suspended) log.Info("SSD: writing works again");
    stats.suspended = false;
    if (!regions.disk_full()) stats.problem.clear();
    return;
  }
  ++stats.write_errors;
  if (status.code() == ErrorCode::kNoSpace) ++stats.no_space_errors;
  stats.problem = status.error().Describe();
  if (++failures_in_a_row < SsdLog::kFailuresToSuspend || stats.suspended) return;
  stats.suspended = true;
  probe_at_ns = clock->MonotonicNs() + kSecondNs;
  log.Error("SSD: writing is suspended after {} failures: {}", failures_in_a_row, stats.problem);
}

bool SsdLogState::RemoveFile(uint32_t slot) {
  std::string name;
  SsdDisk::FileId file = 0;
  {
    MutexLock lock(mutex);
    name = regions.At(slot).name;
    file = regions.At(slot).file;
  }
  disk->Close(file);
  Status removed = disk->Remove(name);
  if (removed.ok()) removed = disk->SyncDirectory();
  MutexLock lock(mutex);
  if (removed.ok()) {
    regions.Erase(slot);
    return true;
  }
  log.Warning("SSD: {} cannot be removed: {}", name, removed.error().Describe());
  const Result<SsdDisk::FileId> again = disk->Open(name, 0);
  if (again.ok()) regions.At(slot).file = *again;
  regions.At(slot).state = Region::State::kForeign;
  return false;
}

void SsdLogState::KeepRemovals(int64_t now_ns) {
  uint64_t min_sequence = 0;
  bool flush = false;
  {
    MutexLock lock(mutex);
    flush = !marks.empty();
    if (now_ns < removals_at_ns) return;
    removals_at_ns = now_ns + kSecondNs;
    min_sequence = std::min(regions.MinSequence(), next_sequence);
  }
  // An error shows in the next Remove or Sync, whose caller can tell what it means.
  if (flush) (void)FlushMarks();
  (void)removals.Sync();
  (void)removals.CompactIfLarge(min_sequence, RegionTable::RemovalThreshold(options.capacity_bytes));
}

// Which region files are still there: a file that ended too early may have been deleted.
IoTask SsdLogState::CheckFiles() {
  Result<std::vector<SsdDisk::FileInfo>> files = disk->List();
  std::vector<uint32_t> lost;
  {
    MutexLock lock(mutex);
    checking_files = false;
    files_suspect = false;
    if (!files.ok()) co_return;
    regions.ForEach([&](Region& region) {
      using enum Region::State;
      if (region.state != kSealed && region.state != kOpen && region.state != kReady) return;
      if (std::ranges::find(*files, region.name, &SsdDisk::FileInfo::name) != files->end()) return;
      region.state = kLost;
      lost.push_back(region.slot);
    });
    stats.lost_files += lost.size();
  }
  for (const uint32_t slot : lost) loop.Start(LoseRegion(slot));
}

IoTask SsdLogState::LoseRegion(uint32_t slot) {
  std::vector<PageId> gone;
  std::string name;
  {
    MutexLock lock(mutex);
    for (const SsdPage& page : index.InRegion(slot)) {
      EraseLocked(page);
      gone.push_back(page.id);
    }
    name = regions.At(slot).name;
  }
  log.Warning("SSD: {} is gone, and {} pages with it", name, gone.size());
  TellGone(gone);
  co_await loop.Until([this, slot] {
    MutexLock lock(mutex);
    return regions.At(slot).users == 0 && regions.At(slot).writes == 0;
  });
  SsdDisk::FileId file = 0;
  {
    MutexLock lock(mutex);
    file = regions.At(slot).file;
    regions.Erase(slot);
  }
  disk->Close(file);
}

void SsdLogState::StepClosing() {
  MutexLock lock(mutex);
  if (!closing || writes_in_flight > 0) return;
  // A ready region gets an empty index, so that nobody searches it for records.
  for (const auto state : {Region::State::kOpen, Region::State::kReady}) {
    if (Region* const region = regions.Find(state)) FullLocked(region);
  }
}

}  // namespace kvpagefs
