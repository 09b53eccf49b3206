#include "spill/ssd_recovery.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace kvpagefs {
namespace {

constexpr auto kRead = SsdDisk::IoKind::kRead;
constexpr auto kWrite = SsdDisk::IoKind::kWrite;
constexpr size_t kMaxHeaderReads = 64;
constexpr size_t kMaxRegionLoads = 8;
// Less than this part of the newest region is not worth going on with.
constexpr uint64_t kContinuePart = 8;

}  // namespace

Status SsdRecovery::Run() {
  std::vector<std::unique_ptr<RegionFile>> files;
  if (const Status status = LoadRemovals(); !status.ok()) return status;
  if (const Status status = OpenFiles(&files); !status.ok()) return status;
  if (const Status status = ReadHeaders(&files); !status.ok()) return status;
  for (const auto& file : files) Classify(file.get());
  if (const Status status = FreeDamaged(files); !status.ok()) return status;
  SyncFree();
  if (const Status status = CheckCapacity(); !status.ok()) return status;
  if (const Status status = FitCapacity(); !status.ok()) return status;
  if (const Status status = LoadRegions(); !status.ok()) return status;
  if (const Status status = Continue(); !status.ok()) return status;
  MutexLock lock(state_->mutex);
  state_->recovering = false;
  return {};
}

Status SsdRecovery::LoadRemovals() {
  const Result<DecodedRemovals> removals = state_->removals.Load();
  if (!removals.ok()) return removals.error();
  for (const RemovalMark& mark : removals->marks) removed_.Add(mark);
  return {};
}

Status SsdRecovery::OpenFiles(std::vector<std::unique_ptr<RegionFile>>* files) {
  const Result<std::vector<SsdDisk::FileInfo>> listed = state_->disk->List();
  if (!listed.ok()) return listed.error();
  for (const SsdDisk::FileInfo& info : *listed) {
    const std::optional<uint64_t> number = RegionFileNumber(info.name);
    if (!number) continue;
    const Result<SsdDisk::FileId> file = state_->disk->Open(info.name, info.bytes);
    MutexLock lock(state_->mutex);
    state_->next_file = std::max(state_->next_file, *number + 1);
    Region& region = state_->regions.Add(info.name, info.bytes);
    if (!file.ok()) {
      region.state = Region::State::kForeign;
      ++counts_->foreign_regions;
      NoteLoss(fmt::format("{}: {}", info.name, file.error().Describe()));
      continue;
    }
    region.file = *file;
    files->push_back(std::make_unique<RegionFile>());
    files->back()->slot = region.slot;
  }
  return {};
}

IoTask SsdRecovery::ReadHeader(RegionFile* file) {
  SsdDisk::FileId id = 0;
  {
    MutexLock lock(state_->mutex);
    id = state_->regions.At(file->slot).file;
  }
  file->read = co_await state_->loop.Transfer(kRead, id, 0, file->block.piece());
  // A whole region depends on it.
  if (!file->read.ok()) file->read = co_await state_->loop.Transfer(kRead, id, 0, file->block.piece());
  if (file->read.ok()) file->header = DecodeRegionHeader(file->block.bytes());
  file->block = AlignedBuffer();
  file->done = true;
}

Status SsdRecovery::ReadHeaders(std::vector<std::unique_ptr<RegionFile>>* files) {
  size_t started = 0;
  for (size_t finished = 0; finished < files->size(); ++finished) {
    while (started < files->size() && started < finished + kMaxHeaderReads) {
      state_->loop.Start(ReadHeader((*files)[started++].get()));
    }
    const RegionFile& file = *(*files)[finished];
    if (!state_->RunUntil([&file] { return file.done; })) {
      return Error(ErrorCode::kUnavailable, "the SSD does not answer");
    }
  }
  return {};
}

void SsdRecovery::Classify(RegionFile* file) {
  using enum Region::State;
  MutexLock lock(state_->mutex);
  Region& region = state_->regions.At(file->slot);
  const bool other_version = !file->header.ok() && file->header.code() == ErrorCode::kNotSupported;
  if (other_version || (file->header.ok() && file->header->node_identity != state_->options.node_identity)) {
    region.state = kForeign;
    ++counts_->foreign_regions;
    return;
  }
  if (!file->header.ok()) {
    region.state = kUnreadable;
    file->damaged = true;
    ++counts_->damaged_regions;
    const std::string why = file->read.ok() ? "damaged region header" : file->read.error().Describe();
    NoteLoss(fmt::format("{}: {}", region.name, why));
    return;
  }
  region.key = KeyOf(*file->header);
  region.state = file->header->in_use != 0 ? kSealed : kFree;
  state_->next_sequence = std::max(state_->next_sequence, region.key.sequence + 1);
}

Status SsdRecovery::FreeDamaged(const std::vector<std::unique_ptr<RegionFile>>& files) {
  for (const std::unique_ptr<RegionFile>& file : files) {
    if (!file->damaged) continue;
    SsdDisk::FileId id = 0;
    bool has_header = false;
    {
      MutexLock lock(state_->mutex);
      const Region& region = state_->regions.At(file->slot);
      id = region.file;
      has_header = region.file_bytes >= kBlockBytes;
    }
    Status freed;
    if (has_header) {
      const AlignedBuffer block(kBlockBytes);
      const RegionHeader header{.region_bytes = kMinRegionBytes, .node_identity = state_->options.node_identity};
      EncodeRegionHeader(header, block.bytes());
      freed = WriteBlockNow(id, 0, block);
    }
    MutexLock lock(state_->mutex);
    if (freed.ok()) state_->regions.At(file->slot).state = Region::State::kFree;
  }
  return {};
}

// The process before may have been killed between the write of a free header and its sync. What is known as free is
// reused, and its removal marks are dropped: nothing of it may come back.
void SsdRecovery::SyncFree() {
  std::vector<std::pair<uint32_t, SsdDisk::FileId>> free;
  {
    MutexLock lock(state_->mutex);
    state_->regions.ForEach([&](const Region& region) {
      if (region.state == Region::State::kFree) free.emplace_back(region.slot, region.file);
    });
  }
  for (const auto& [slot, file] : free) {
    std::optional<Status> result;
    state_->loop.Start(SyncFile(file, &result));
    const bool answered = state_->RunUntil([&result] { return result.has_value(); });
    if (answered && result->ok()) continue;
    MutexLock lock(state_->mutex);
    state_->regions.At(slot).state = Region::State::kUnreadable;
  }
}

IoTask SsdRecovery::SyncFile(SsdDisk::FileId file, std::optional<Status>* result) {
  const Status status = co_await state_->loop.Sync(file);
  *result = status;
}

Status SsdRecovery::CheckCapacity() const {
  MutexLock lock(state_->mutex);
  const RegionTable::Limits& limits = state_->regions.limits();
  bool unreadable = false;
  uint64_t kept = RegionTable::ReservedBytes(limits.capacity_bytes);
  state_->regions.ForEach([&](const Region& region) {
    const bool fixed = region.state == Region::State::kForeign || region.state == Region::State::kUnreadable;
    if (fixed) kept += region.file_bytes;
    unreadable = unreadable || region.state == Region::State::kUnreadable;
  });
  if (kept + 4 * limits.region_bytes <= limits.capacity_bytes) return {};
  if (unreadable) return Error(ErrorCode::kUnavailable, "the SSD cannot be read: " + counts_->first_loss);
  return Error(
      ErrorCode::kInvalid,
      fmt::format("{} bytes of SSD are too few: four regions of {} bytes and {} bytes that are taken otherwise",
                  limits.capacity_bytes, limits.region_bytes, kept));
}

Status SsdRecovery::FitCapacity() {
  for (;;) {
    std::optional<uint32_t> slot;
    {
      MutexLock lock(state_->mutex);
      if (!state_->regions.Over()) return {};
      Region* region = state_->regions.Find(Region::State::kFree);
      if (region == nullptr) region = state_->regions.ChooseReclaim();
      if (region == nullptr) return Error(ErrorCode::kUnavailable, "region files cannot be removed");
      if (region->state == Region::State::kSealed) ++state_->stats.reclaimed_regions;
      slot = region->slot;
    }
    state_->RemoveFile(*slot);
  }
}

Status SsdRecovery::LoadRegions() {
  struct Load {
    uint32_t slot;
    LoadedRegion region;
  };
  std::vector<Load> loads;
  {
    MutexLock lock(state_->mutex);
    state_->next_sequence = std::max(state_->next_sequence, removed_.max_sequence() + 1);
    state_->regions.ForEach([&](const Region& region) {
      if (region.state != Region::State::kSealed) return;
      loads.push_back({region.slot, {}});
      LoadedRegion& loaded = loads.back().region;
      loaded.name = region.name;
      loaded.file = region.file;
      loaded.file_bytes = region.file_bytes;
      loaded.key = region.key;
    });
  }
  std::ranges::sort(loads, std::ranges::greater(), [](const Load& load) { return load.region.key.sequence; });
  size_t started = 0;
  for (size_t finished = 0; finished < loads.size(); ++finished) {
    while (started < loads.size() && started < finished + kMaxRegionLoads) {
      state_->loop.Start(LoadRegion(&state_->loop, &loads[started++].region));
    }
    Load& load = loads[finished];
    if (!state_->RunUntil([&load] { return load.region.done; })) {
      return Error(ErrorCode::kUnavailable, "the SSD does not answer");
    }
    Take(load.slot, load.region);
    load.region = LoadedRegion();
  }
  return {};
}

void SsdRecovery::Take(uint32_t slot, const LoadedRegion& loaded) {
  ++counts_->regions;
  if (loaded.scanned) ++counts_->scanned_regions;
  counts_->damaged_records += loaded.damages.size();
  if (!loaded.damages.empty()) {
    const LoadedDamage& first = loaded.damages.front();
    NoteLoss(fmt::format("{} at {}: {}", loaded.name, first.offset, first.what));
  }
  for (auto it = loaded.records.rbegin(); it != loaded.records.rend(); ++it) {
    if (!TakeRecord(slot, loaded.key.sequence, it->record)) continue;
    if (!sink_) continue;
    sink_({.id = it->record.id,
           .bytes = it->record.page_bytes,
           .checksum = it->record.page_checksum,
           .description = loaded.description(*it)});
  }
  MutexLock lock(state_->mutex);
  Region& region = state_->regions.At(slot);
  // What the process before wrote and did not sync counts as stored now; the next Sync must cover it.
  region.dirty = true;
  region.data_end = std::max(loaded.data_end, removed_.EndIn(region.key.sequence));
  for (const RecordInfo& record : loaded.unread) {
    const auto block = static_cast<uint32_t>(record.offset / kBlockBytes);
    state_->marks.push_back({.id = record.id, .sequence = region.key.sequence, .block = block});
  }
  if (loaded.records.empty() && loaded.damages.empty()) {
    region.state = Region::State::kFree;
    return;
  }
  const bool newest = !newest_;
  if (newest) newest_ = slot;
  if (!loaded.scanned && !newest) return;
  for (const LoadedRecord& record : loaded.records) region.index.Add(record.record, loaded.description(record));
  region.index_bytes = region.index.bytes();
  if (loaded.scanned) state_->FullLocked(&region);
}

bool SsdRecovery::TakeRecord(uint32_t slot, uint64_t sequence, const RecordInfo& record) {
  if (removed_.Covers(record.id, sequence, record.offset)) {
    ++counts_->removed_pages;
    return false;
  }
  const uint64_t header_bytes = HeaderBytesFor(record.description_bytes);
  MutexLock lock(state_->mutex);
  const bool newest = state_->index.Insert({.id = record.id,
                                            .bytes = record.page_bytes,
                                            .checksum = record.page_checksum,
                                            .region = slot,
                                            .block = static_cast<uint32_t>(record.offset / kBlockBytes),
                                            .header_blocks = static_cast<uint32_t>(header_bytes / kBlockBytes)});
  if (!newest) return false;
  const uint64_t bytes = header_bytes + RoundUpToBlock(record.page_bytes);
  state_->regions.At(slot).live_bytes += bytes;
  state_->stats.live_bytes += bytes;
  ++counts_->pages;
  return true;
}

IoTask SsdRecovery::WriteBlock(SsdDisk::FileId file, uint64_t offset, const AlignedBuffer* block,
                               std::optional<Status>* result) {
  Status status = co_await state_->loop.Transfer(kWrite, file, offset, block->piece());
  if (status.ok()) status = co_await state_->loop.Sync(file);
  *result = status;
}

Status SsdRecovery::WriteBlockNow(SsdDisk::FileId file, uint64_t offset, const AlignedBuffer& block) {
  std::optional<Status> result;
  state_->loop.Start(WriteBlock(file, offset, &block, &result));
  if (!state_->RunUntil([&result] { return result.has_value(); })) return ErrorCode::kUnavailable;
  return *result;
}

Status SsdRecovery::Continue() {
  std::optional<uint32_t> slot;
  SsdDisk::FileId file = 0;
  uint64_t footer = 0;
  {
    MutexLock lock(state_->mutex);
    if (!newest_) return {};
    Region& newest = state_->regions.At(*newest_);
    if (!state_->regions.Reusable(newest) || newest.key.region_bytes != newest.file_bytes) return {};
    // A mark of a later region would remove what is stored here from now on.
    if (newest.key.sequence < removed_.max_sequence()) return {};
    if (!HasRoom(newest, newest.key.region_bytes / kContinuePart, 0)) return {};
    slot = newest.slot;
    file = newest.file;
    footer = newest.key.region_bytes - kBlockBytes;
    std::erase(state_->to_seal, *slot);
  }
  // An index that does not know the records to come must be gone before they come.
  const Status cleared = WriteBlockNow(file, footer, AlignedBuffer(kBlockBytes));
  MutexLock lock(state_->mutex);
  Region& region = state_->regions.At(*slot);
  region.state = cleared.ok() ? Region::State::kOpen : Region::State::kSealed;
  return {};
}

void SsdRecovery::NoteLoss(std::string what) {
  if (counts_->first_loss.empty()) counts_->first_loss = std::move(what);
}

}  // namespace kvpagefs
