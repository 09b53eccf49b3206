#include "spill/ssd_reclaim.h"

#include <algorithm>
#include <utility>

#include "base/checksum.h"
#include "spill/ssd_log_state.h"

namespace kvpagefs {
namespace {

constexpr auto kRead = SsdDisk::IoKind::kRead;
constexpr auto kWrite = SsdDisk::IoKind::kWrite;
constexpr int64_t kRetryNs = 1'000'000'000;
// Records that are read and written again at one time.
constexpr uint32_t kMaxMoves = 8;
constexpr uint64_t kMaxMoveBytes = uint64_t{8} << 20;

uint64_t RecordBytesOf(const SsdPage& page) {
  return uint64_t{page.header_blocks} * kBlockBytes + RoundUpToBlock(page.bytes);
}

}  // namespace

ReclaimPlan PlanReclaim(std::vector<SsdPage> pages, uint64_t budget_bytes,
                        const std::function<bool(PageId)>& is_wanted) {
  ReclaimPlan plan;
  std::ranges::sort(pages, std::ranges::greater(), &SsdPage::block);
  for (const SsdPage& page : pages) {
    const uint64_t bytes = RecordBytesOf(page);
    if (is_wanted(page.id) && bytes <= budget_bytes) {
      budget_bytes -= bytes;
      plan.keep.push_back(page);
    } else {
      plan.drop.push_back(page);
    }
  }
  return plan;
}

struct ReclaimRun {
  uint32_t slot = 0;
  RegionKey key;
  SsdDisk::FileId file = 0;
  ReclaimPlan plan;
  uint32_t moves = 0;  // under way
  uint64_t move_bytes = 0;
  bool failed = false;  // by the disk: the region stays as it is
};

void SsdLogState::TellGone(std::span<const PageId> pages) {
  if (!pages.empty() && listener != nullptr) listener->OnGone(pages);
}

IoTask SsdLogState::ReclaimRegion(uint32_t slot) {
  ReclaimRun run;
  run.slot = slot;
  std::vector<SsdPage> pages;
  uint64_t budget = 0;
  {
    MutexLock lock(mutex);
    const Region& region = regions.At(slot);
    run.key = region.key;
    run.file = region.file;
    pages = index.InRegion(slot);
    // Half of it, so that every reclaim makes room, and nothing when there is no other region to write to.
    const bool room = regions.Find(Region::State::kOpen) != nullptr || regions.Available() > 0;
    budget = room ? region.key.region_bytes / 2 : 0;
  }
  run.plan = PlanReclaim(std::move(pages), budget,
                         [this](PageId id) { return listener != nullptr && listener->IsWanted(id); });
  for (const SsdPage& page : run.plan.keep) {
    co_await loop.Until([&run, &page] {
      return run.moves == 0 || (run.moves < kMaxMoves && run.move_bytes + RecordBytesOf(page) <= kMaxMoveBytes);
    });
    if (run.failed) break;
    loop.Start(MovePage(&run, page));
  }
  co_await loop.Until([&run] { return run.moves == 0; });
  bool freed = false;
  if (!run.failed) co_await FreeRegion(&run, &freed);
  const int64_t now_ns = clock->MonotonicNs();
  bool remove = false;
  {
    MutexLock lock(mutex);
    Region& region = regions.At(slot);
    region.state = freed ? Region::State::kFree : Region::State::kSealed;
    region.reclaim_failures = freed ? 0 : region.reclaim_failures + 1;
    if (freed) {
      ++stats.reclaimed_regions;
      region.dirty = false;
    }
    if (!freed) reclaim_at_ns = now_ns + kRetryNs;
    remove = freed && (regions.Over() || !regions.Reusable(region));
  }
  if (remove) RemoveFile(slot);
  MutexLock lock(mutex);
  reclaiming = false;
}

IoTask SsdLogState::MovePage(ReclaimRun* run, SsdPage page) {
  const uint64_t bytes = RecordBytesOf(page);
  const uint64_t offset = uint64_t{page.block} * kBlockBytes;
  ++run->moves;
  run->move_bytes += bytes;
  const AlignedBuffer buffer(bytes);
  const Status read = co_await loop.Transfer(kRead, run->file, offset, buffer.piece());
  std::string_view stored;
  std::optional<RecordInfo> record;
  if (read.ok()) {
    const uint64_t header_bytes = uint64_t{page.header_blocks} * kBlockBytes;
    record = DecodeRecordHeader(run->key, offset, buffer.bytes().first(header_bytes), &stored);
    const auto payload = buffer.bytes().subspan(header_bytes, page.bytes);
    if (record && (record->id != page.id || Checksum(payload) != page.checksum)) record.reset();
  }
  if (record) {
    auto item = std::make_unique<PendingAppend>();
    item->move = true;
    item->from_region = page.region;
    item->from_block = page.block;
    item->request = {
        .id = page.id, .bytes = page.bytes, .checksum = page.checksum, .description = {}, .pieces = {}, .done = {}};
    std::string& description = item->request.description;
    const bool described = listener->Describe(page.id, &description);
    if (!described || description.size() > kMaxRecordDescriptionBytes) description = stored;
    if (page.bytes > 0) {
      const uint64_t header_bytes = uint64_t{page.header_blocks} * kBlockBytes;
      item->request.pieces = {buffer.piece(header_bytes, RoundUpToBlock(page.bytes))};
    }
    std::atomic<bool> answered = false;
    Status status;
    item->request.done = [&answered, &status](const Status& answer) {
      status = answer;
      answered = true;
    };
    {
      MutexLock lock(mutex);
      const bool fits = RegionBytesForOne(page.bytes, description.size()) <= regions.limits().region_bytes;
      if (fits) {
        moving[page.id.value] = item.get();
        moves.push_back(std::move(item));
      } else {
        answered = true;  // dropped with the rest of the region
      }
    }
    co_await loop.Until([&answered] { return answered.load(); });
    if (!status.ok() && status.code() == ErrorCode::kUnavailable) run->failed = true;
  } else {
    // Dropped with the rest of the region.
    MutexLock lock(mutex);
    ++(read.ok() ? stats.quarantined_pages : stats.read_errors);
  }
  --run->moves;
  run->move_bytes -= bytes;
}

// O3 of ssd_log_state.h.
IoTask SsdLogState::FreeRegion(ReclaimRun* run, bool* freed) {
  Status status;
  co_await SyncDirty(&status);
  if (status.ok()) {
    AlignedBuffer block(kBlockBytes);
    EncodeRegionHeader({.region_bytes = run->key.region_bytes,
                        .sequence = run->key.sequence,
                        .node_identity = options.node_identity,
                        .salt = run->key.salt},
                       block.bytes());
    status = co_await loop.Transfer(kWrite, run->file, 0, block.piece());
    if (status.ok()) status = co_await loop.Sync(run->file);
  }
  std::vector<PageId> gone;
  {
    MutexLock lock(mutex);
    if (!status.ok()) {
      NoteWriteLocked(status);
      files_suspect = files_suspect || status.code() == ErrorCode::kLost;
      co_return;
    }
    stats.written_bytes += kBlockBytes;
    for (const SsdPage& page : index.InRegion(run->slot)) {
      EraseLocked(page);
      failed_moves.erase(page.id.value);
      gone.push_back(page.id);
    }
    stats.dropped_pages += gone.size();
  }
  TellGone(gone);
  co_await loop.Until([this, run] {
    MutexLock lock(mutex);
    return regions.At(run->slot).users == 0;
  });
  *freed = true;
}

}  // namespace kvpagefs
