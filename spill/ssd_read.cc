// Reading, removing and quarantine.
#include <algorithm>
#include <utility>

#include "base/checksum.h"
#include "spill/ssd_log_state.h"

namespace kvpagefs {
namespace {

// A disk may fail a read once; a page that fails this often is not worth another wait.
constexpr uint32_t kFailuresToDrop = 3;

uint64_t ChecksumOf(const std::vector<iovec>& pieces, uint64_t bytes) {
  StreamingChecksum checksum;
  for (const iovec& piece : pieces) {
    const uint64_t part = std::min<uint64_t>(bytes, piece.iov_len);
    checksum.Update({static_cast<const std::byte*>(piece.iov_base), part});
    bytes -= part;
  }
  return checksum.Digest();
}

uint64_t RecordBytesOf(const SsdPage& page) {
  return uint64_t{page.header_blocks} * kBlockBytes + RoundUpToBlock(page.bytes);
}

}  // namespace

struct SsdLogState::ReadRun {
  SsdPage page;
  std::vector<iovec> pieces;
  std::function<void(const Status&)> done;
  uint32_t parts_left = 0;  // guarded by the log's mutex, as is
  Status status;
};

void SsdLogState::Read(PageId id, std::vector<iovec> pieces, std::function<void(const Status&)> done) {
  auto run = std::make_shared<ReadRun>();
  std::vector<SsdDisk::Io> parts;
  Status answer;
  {
    MutexLock lock(mutex);
    const std::optional<SsdPage> page = index.Find(id);
    if (!page || closing) {
      answer = page ? Status(ErrorCode::kUnavailable) : Status(ErrorCode::kNotFound);
    } else if (!ValidPieces(pieces, page->bytes)) {
      answer = Error(ErrorCode::kInvalid, "pieces must be the page's blocks, whole and aligned");
    } else if (page->bytes > 0) {
      Region& region = regions.At(page->region);
      ++region.users;
      ++reads_in_flight;
      run->page = *page;
      parts = SplitTransfer({.kind = SsdDisk::IoKind::kRead,
                             .file = region.file,
                             .offset = (uint64_t{page->block} + page->header_blocks) * kBlockBytes,
                             .pieces = pieces,
                             .done = [this, run](const Status& status) { OnRead(run, status); }});
      run->parts_left = static_cast<uint32_t>(parts.size());
    } else {
      ++stats.read_pages;
    }
  }
  if (parts.empty()) return done(answer);
  run->pieces = std::move(pieces);
  run->done = std::move(done);
  disk->Submit(std::move(parts));
}

void SsdLogState::OnRead(const std::shared_ptr<ReadRun>& run, const Status& status) {
  {
    MutexLock lock(mutex);
    if (!status.ok() && run->status.ok()) run->status = status;
    if (--run->parts_left > 0) return;
  }
  const SsdPage& page = run->page;
  const bool right = run->status.ok() && ChecksumOf(run->pieces, page.bytes) == page.checksum;
  Status answer;
  bool gone = false;
  {
    MutexLock lock(mutex);
    if (right) {
      ++stats.read_pages;
      stats.read_bytes += page.bytes;
    } else if (run->status.ok()) {
      gone = QuarantineLocked(page);
      if (gone) ++stats.quarantined_pages;
    } else {
      ++stats.read_errors;
      const bool short_file = run->status.code() == ErrorCode::kLost;
      files_suspect = files_suspect || short_file;
      if (short_file || index.AddFailure(page.id) >= kFailuresToDrop) gone = QuarantineLocked(page);
    }
    if (!right) {
      answer =
          gone ? Error(ErrorCode::kLost, "the page's bytes on SSD are damaged")
               : Error(ErrorCode::kUnavailable, run->status.ok() ? "the page moved" : run->status.error().Describe());
    }
  }
  if (gone) {
    log.Warning("SSD: page {:x} is lost: {}", page.id.value,
                run->status.ok() ? "wrong bytes" : run->status.error().Describe());
    TellGone(std::span(&page.id, 1));
  }
  const std::function<void(const Status&)> done = std::move(run->done);
  bool awaited = false;
  {
    // Last: the region may be reused, and the log may end, from here on.
    MutexLock lock(mutex);
    Region& region = regions.At(page.region);
    --region.users;
    // A wake-up for each read would cost as much as the read. Nobody waits for the users of a region that is in use.
    awaited = region.users == 0 && region.state != Region::State::kSealed && region.state != Region::State::kOpen;
  }
  done(answer);
  MutexLock lock(mutex);
  --reads_in_flight;
  if (awaited || closing) Wake();
}

bool SsdLogState::QuarantineLocked(const SsdPage& page) {
  const std::optional<SsdPage> now = index.Find(page.id);
  if (!now || now->region != page.region || now->block != page.block) return false;
  MarkLocked(page);
  return true;
}

void SsdLogState::EraseLocked(const SsdPage& page) {
  index.Erase(page.id);
  regions.At(page.region).live_bytes -= RecordBytesOf(page);
  stats.live_bytes -= RecordBytesOf(page);
}

void SsdLogState::MarkLocked(const SsdPage& page) {
  RemovalMark mark{.id = page.id, .sequence = regions.At(page.region).key.sequence, .block = page.block};
  const auto move = moving.find(page.id.value);
  if (move != moving.end() && move->second->placed) {
    mark.sequence = move->second->sequence;
    mark.block = static_cast<uint32_t>(move->second->record.offset / kBlockBytes);
  } else if (const auto failed = failed_moves.find(page.id.value); failed != failed_moves.end()) {
    if (std::pair(failed->second.sequence, failed->second.block) > std::pair(mark.sequence, mark.block)) {
      mark = failed->second;
    }
  }
  failed_moves.erase(page.id.value);
  marks.push_back(mark);
  EraseLocked(page);
}

Status SsdLogState::Remove(std::span<const PageId> ids, size_t* found) {
  *found = 0;
  {
    MutexLock lock(mutex);
    for (const PageId id : ids) {
      if (const std::optional<SsdPage> page = index.Find(id)) {
        MarkLocked(*page);
        ++*found;
      } else if (const auto on_its_way = pending.find(id.value); on_its_way != pending.end()) {
        PendingAppend& item = *on_its_way->second;
        if (!item.removed) ++*found;
        if (item.placed && !item.removed) {
          const auto block = static_cast<uint32_t>(item.record.offset / kBlockBytes);
          marks.push_back({.id = id, .sequence = item.sequence, .block = block});
        }
        item.removed = true;
      }
    }
  }
  // Also what was quarantined or failed: such a page is unknown here, but its record must not come back either.
  return FlushMarks();
}

Status SsdLogState::FlushMarks() {
  MutexLock flush(flush_mutex);
  std::vector<RemovalMark> taken;
  {
    MutexLock lock(mutex);
    taken.swap(marks);
  }
  Status written = removals.Append(taken);
  if (written.ok()) return written;
  MutexLock lock(mutex);
  marks.insert(marks.begin(), taken.begin(), taken.end());
  return written;
}

Result<SsdLog::PageLocation> SsdLogState::Find(PageId id) const {
  MutexLock lock(mutex);
  const std::optional<SsdPage> page = index.Find(id);
  if (!page) return ErrorCode::kNotFound;
  return SsdLog::PageLocation{.bytes = page->bytes,
                              .checksum = page->checksum,
                              .region = regions.At(page->region).key.sequence,
                              .offset = uint64_t{page->block} * kBlockBytes};
}

}  // namespace kvpagefs
