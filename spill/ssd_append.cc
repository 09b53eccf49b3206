#include "spill/ssd_append.h"

#include <algorithm>
#include <utility>

#include "spill/ssd_log_state.h"

namespace kvpagefs {
namespace {

constexpr uint64_t kSmallHeaderBufferBytes = uint64_t{64} * 1024;

Status Unavailable(const std::string& why) { return Error(ErrorCode::kUnavailable, why); }

}  // namespace

bool HasRoom(const Region& region, uint64_t record_bytes, uint64_t index_bytes) {
  const uint64_t index = RoundUpToBlock(region.index_bytes + index_bytes) + kBlockBytes;
  return region.data_end + record_bytes + index <= region.key.region_bytes;
}

bool Joins(const SsdWrite& write, const PendingAppend& item) {
  if (write.items.empty()) return true;
  return write.bytes + item.record_bytes() <= kMaxWriteBytes &&
         write.pieces + 1 + item.request.pieces.size() <= kMaxPieces &&
         write.header_bytes + item.header_bytes() <= kHeaderBufferBytes;
}

std::vector<SsdDisk::Io> SplitTransfer(const SsdDisk::Io& whole) {
  std::vector<SsdDisk::Io> out;
  uint64_t offset = whole.offset;
  for (size_t at = 0; at < whole.pieces.size(); at += kMaxPieces) {
    const size_t count = std::min(kMaxPieces, whole.pieces.size() - at);
    const auto first = whole.pieces.begin() + static_cast<ptrdiff_t>(at);
    out.push_back({.kind = whole.kind,
                   .file = whole.file,
                   .offset = offset,
                   .pieces = {first, first + static_cast<ptrdiff_t>(count)},
                   .done = whole.done});
    for (const iovec& piece : out.back().pieces) offset += piece.iov_len;
  }
  return out;
}

bool ValidPieces(const std::vector<iovec>& pieces, uint64_t bytes) {
  uint64_t sum = 0;
  for (const iovec& piece : pieces) {
    const auto address = reinterpret_cast<uintptr_t>(piece.iov_base);
    if (piece.iov_len == 0 || piece.iov_len % kBlockBytes != 0 || address % kBlockBytes != 0) return false;
    sum += piece.iov_len;
  }
  return sum == RoundUpToBlock(bytes);
}

void SsdLogState::Append(SsdLog::AppendRequest request) {
  std::optional<Status> answer;
  {
    MutexLock lock(mutex);
    answer = AdmitLocked(request);
    if (!answer) {
      const auto found = pending.find(request.id.value);
      if (found != pending.end()) {
        found->second->also.push_back(std::move(request.done));
        return;
      }
      auto item = std::make_unique<PendingAppend>();
      item->request = std::move(request);
      pending[item->request.id.value] = item.get();
      queue.push_back(std::move(item));
    }
  }
  if (answer) return request.done(*answer);  // NOLINT(bugprone-use-after-move): moved only without an answer
  Wake();
}

std::optional<Status> SsdLogState::AdmitLocked(const SsdLog::AppendRequest& request) const {
  const uint64_t description_bytes = request.description.size();
  if (request.bytes > kMaxRegionBytes || description_bytes > kMaxRecordDescriptionBytes) return ErrorCode::kTooLarge;
  if (RegionBytesForOne(request.bytes, description_bytes) > regions.limits().region_bytes) return ErrorCode::kTooLarge;
  if (!ValidPieces(request.pieces, request.bytes)) {
    return Error(ErrorCode::kInvalid, "pieces must be the page's blocks, whole and aligned");
  }
  if (closing || stats.suspended) return Unavailable(closing ? "the SSD log is closing" : stats.problem);
  if (index.Contains(request.id)) return Status();
  const auto found = pending.find(request.id.value);
  const size_t before = found == pending.end() ? queue.size() : found->second->also.size();
  if (before >= options.max_queued_appends) return ErrorCode::kWouldBlock;
  return std::nullopt;
}

bool SsdLogState::PumpAppends() {
  bool progress = false;
  for (;;) {
    Answers answers;
    auto write = std::make_shared<SsdWrite>();
    bool gathered = false;
    {
      MutexLock lock(mutex);
      if (stats.suspended || closing) {
        const Status why = Unavailable(closing ? "the SSD log is closing" : stats.problem);
        FailQueuedLocked(why, &answers);
        FailMovesLocked(why, &answers);
      } else if (writes_in_flight < kMaxWritesInFlight && !probing) {
        gathered = GatherLocked(write.get(), &answers);
        if (!gathered) FailStalledLocked(&answers);
      }
    }
    progress = progress || gathered || !answers.empty();
    Give(&answers);
    if (!gathered) return progress;
    Submit(std::move(write));
  }
}

bool SsdLogState::GatherLocked(SsdWrite* write, Answers* answers) {
  Region* open = regions.Find(Region::State::kOpen);
  while (!queue.empty() || !moves.empty()) {
    if (open == nullptr || open->state != Region::State::kOpen) {
      open = regions.Find(Region::State::kReady);
      if (open == nullptr) return false;
      open->state = Region::State::kOpen;
    }
    if (!TakeNextLocked(write, open, answers)) break;
  }
  if (write->items.empty()) return false;
  Region& region = regions.At(write->region);
  ++region.writes;
  ++writes_in_flight;
  if (!header_buffers.empty()) {
    write->headers = std::move(header_buffers.back());
    header_buffers.pop_back();
  }
  return true;
}

// False: the write is as large as it gets. A region without room for the next record is full, and ends the write.
bool SsdLogState::TakeNextLocked(SsdWrite* write, Region* open, Answers* answers) {
  auto& from = moves.empty() ? queue : moves;
  PendingAppend& next = *from.front();
  bool obsolete = next.removed;
  if (next.move) {
    const std::optional<SsdPage> page = index.Find(next.request.id);
    obsolete = !page || page->region != next.from_region || page->block != next.from_block;
  }
  if (obsolete) {
    std::unique_ptr<PendingAppend> item = std::move(from.front());
    from.pop_front();
    AnswerLocked(std::move(item), ErrorCode::kNotFound, answers);
    return true;
  }
  if (!Joins(*write, next)) return false;
  if (!HasRoom(*open, next.record_bytes(), next.index_bytes())) {
    FullLocked(open);
    return write->items.empty();
  }
  if (write->items.empty()) {
    write->region = open->slot;
    write->file = open->file;
    write->key = open->key;
    write->offset = open->data_end;
  }
  next.placed = true;
  next.region = open->slot;
  next.sequence = open->key.sequence;
  next.record = {.id = next.request.id,
                 .page_bytes = next.request.bytes,
                 .page_checksum = next.request.checksum,
                 .description_bytes = static_cast<uint32_t>(next.request.description.size()),
                 .offset = open->data_end};
  open->data_end += next.record_bytes();
  open->index_bytes += next.index_bytes();
  write->bytes += next.record_bytes();
  write->header_bytes += next.header_bytes();
  write->pieces += 1 + next.request.pieces.size();
  write->items.push_back(std::move(from.front()));
  from.pop_front();
  return true;
}

void SsdLogState::Submit(std::shared_ptr<SsdWrite> write) {
  if (write->headers.size() < write->header_bytes) {
    write->headers = AlignedBuffer(std::max(write->header_bytes, kSmallHeaderBufferBytes));
  }
  SsdDisk::Io whole{
      .kind = SsdDisk::IoKind::kWrite, .file = write->file, .offset = write->offset, .pieces = {}, .done = {}};
  whole.pieces.reserve(write->pieces);
  whole.done = [this, write](const Status& status) { OnWritten(write, status); };
  uint64_t header_at = 0;
  for (const std::unique_ptr<PendingAppend>& item : write->items) {
    const uint64_t bytes = item->header_bytes();
    EncodeRecordHeader(write->key, item->record, item->request.description,
                       write->headers.bytes().subspan(header_at, bytes));
    whole.pieces.push_back(write->headers.piece(header_at, bytes));
    whole.pieces.insert(whole.pieces.end(), item->request.pieces.begin(), item->request.pieces.end());
    header_at += bytes;
  }
  std::vector<SsdDisk::Io> parts = SplitTransfer(whole);
  {
    MutexLock lock(mutex);
    write->parts_left = static_cast<uint32_t>(parts.size());
  }
  disk->Submit(std::move(parts));
}

void SsdLogState::OnWritten(const std::shared_ptr<SsdWrite>& write, const Status& status) {
  Answers answers;
  {
    MutexLock lock(mutex);
    if (!status.ok() && !write->failure) write->failure = status;
    if (--write->parts_left > 0) return;
    Region& region = regions.At(write->region);
    --region.writes;
    --writes_in_flight;
    region.dirty = true;
    header_buffers.push_back(std::move(write->headers));
    NoteWriteLocked(write->failure ? *write->failure : Status());
    if (write->failure) {
      FailLocked(write.get(), *write->failure, &answers);
    } else {
      StoreLocked(write.get(), &answers);
    }
  }
  Give(&answers);
  Wake();
}

void SsdLogState::StoreLocked(SsdWrite* write, Answers* answers) {
  Region& region = regions.At(write->region);
  stats.written_bytes += write->bytes;
  for (std::unique_ptr<PendingAppend>& item : write->items) {
    const SsdPage page{.id = item->request.id,
                       .bytes = item->request.bytes,
                       .checksum = item->request.checksum,
                       .region = region.slot,
                       .block = static_cast<uint32_t>(item->record.offset / kBlockBytes),
                       .header_blocks = static_cast<uint32_t>(item->header_bytes() / kBlockBytes)};
    bool store = !item->removed && region.state != Region::State::kLost;
    if (store && item->move) {
      const std::optional<SsdPage> old = index.Find(page.id);
      store = old && old->region == item->from_region && old->block == item->from_block;
      if (store) EraseLocked(*old);
      stats.rewritten_bytes += item->record_bytes();
    } else if (store) {
      ++stats.appended_pages;
      stats.appended_bytes += page.bytes;
    }
    if (store && index.Insert(page)) {
      region.live_bytes += item->record_bytes();
      stats.live_bytes += item->record_bytes();
      region.index.Add(item->record, item->request.description);
      AnswerLocked(std::move(item), {}, answers);
    } else {
      const bool lost = region.state == Region::State::kLost;
      AnswerLocked(std::move(item), lost ? ErrorCode::kUnavailable : ErrorCode::kNotFound, answers);
    }
  }
}

void SsdLogState::FailLocked(SsdWrite* write, const Status& status, Answers* answers) {
  // The record may be on the disk all the same: without a mark a scan could find it after its page was removed. A
  // move's page is still stored with its older record; the mark of its removal must reach up to this one.
  for (std::unique_ptr<PendingAppend>& item : write->items) {
    const auto block = static_cast<uint32_t>(item->record.offset / kBlockBytes);
    const RemovalMark mark{.id = item->request.id, .sequence = item->sequence, .block = block};
    if (item->move) {
      failed_moves[item->request.id.value] = mark;
    } else {
      marks.push_back(mark);
    }
    const bool no_space = status.code() == ErrorCode::kNoSpace;
    AnswerLocked(std::move(item), no_space ? status : Unavailable(status.error().Describe()), answers);
  }
  if (status.code() == ErrorCode::kLost) files_suspect = true;
}

void SsdLogState::AnswerLocked(std::unique_ptr<PendingAppend> item, const Status& status, Answers* answers) {
  (item->move ? moving : pending).erase(item->request.id.value);
  for (auto& done : item->also) answers->emplace_back(std::move(done), status);
  answers->emplace_back(std::move(item->request.done), status);
}

void SsdLogState::FailQueuedLocked(const Status& status, Answers* answers) {
  for (std::unique_ptr<PendingAppend>& item : queue) AnswerLocked(std::move(item), status, answers);
  queue.clear();
}

void SsdLogState::FailMovesLocked(const Status& status, Answers* answers) {
  for (std::unique_ptr<PendingAppend>& item : moves) AnswerLocked(std::move(item), status, answers);
  moves.clear();
}

void SsdLogState::FailStalledLocked(Answers* answers) {
  if (queue.empty() && moves.empty()) return;
  if (regions.Find(Region::State::kOpen) != nullptr || regions.Find(Region::State::kReady) != nullptr) return;
  if (preparing || regions.Available() > 0 || writes_in_flight > 0) return;
  if (reclaiming) {
    // Reclaim must not wait for the room that it is to make: what it cannot move is dropped.
    FailMovesLocked(ErrorCode::kNoSpace, answers);
    return;
  }
  if (regions.Find(Region::State::kFull) != nullptr || regions.ChooseReclaim() != nullptr) return;
  stats.no_space_errors += queue.size();
  FailQueuedLocked(Error(ErrorCode::kNoSpace, "no region of the SSD log can be had"), answers);
}

}  // namespace kvpagefs
