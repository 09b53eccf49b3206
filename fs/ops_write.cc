#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include <linux/falloc.h>

#include "fs/ops.h"
#include "fs/sealing.h"

namespace kvpagefs {
namespace {

// A change of a file's bytes that may need space.
struct Change {
  std::function<Status()> attempt;
  std::function<uint64_t()> missing_bytes;  // what it asks of the tier, at most
  std::function<void()> reply;              // when it succeeded
  std::function<void()> before_parking;     // makes what `attempt` uses outlive the request's buffer; may be empty
};

// Tells the keeper about an interrupted request; called by libfuse with the request's lock held.
void OnInterrupt(fuse_req_t req, void* ticket) {
  Node::State& node = NodeOf(req);
  if (node.space.Interrupt(reinterpret_cast<uint64_t>(ticket))) node.keeper.RequestRetry();
}

// Nothing: failed for lack of space that may come back soon.
std::optional<Status> AttemptOnce(Node::State& node, const Change& change) {
  for (int round = 0; round < 2; ++round) {
    Status status = change.attempt();
    if (status.ok() || status.code() != ErrorCode::kNoSpace) return status;
    if (node.stopping.load() || !node.tier->WaitForSpace(change.missing_bytes())) return status;
    node.tiering->RequestSpace();
  }
  return std::nullopt;
}

void Answer(fuse_req_t req, const Change& change, const Status& status) {
  if (status.ok()) {
    change.reply();
  } else {
    ReplyError(req, status.code());
  }
}

// Carries the change out; when held pages stand in its way, waits for them within the deadline without keeping the
// worker.
void RunChange(fuse_req_t req, const Change& change) {
  Node::State& node = NodeOf(req);
  if (const std::optional<Status> status = AttemptOnce(node, change)) return Answer(req, change, *status);
  if (change.before_parking) change.before_parking();
  SpaceWaiters::Waiter waiter;
  waiter.ticket = node.next_ticket.fetch_add(1);
  waiter.deadline_ns = node.clock.MonotonicNs() + node.options.space_wait_ms * 1'000'000;
  waiter.attempt = [&node, change] { return AttemptOnce(node, change); };
  // Better to lose a page that the SSD was too slow for than to refuse one.
  waiter.last_resort = [&node, change] { node.tiering->GiveUp(change.missing_bytes()); };
  waiter.answer = [req, change](const Status& status) { Answer(req, change, status); };
  const uint64_t ticket = waiter.ticket;
  // Before parking: once parked, the request may be answered and gone at any moment.
  fuse_req_interrupt_func(req, OnInterrupt, reinterpret_cast<void*>(ticket));
  if (fuse_req_interrupted(req) != 0) return ReplyError(req, ErrorCode::kInterrupted);
  if (!node.space.Park(waiter)) return ReplyError(req, ErrorCode::kNoSpace);
  node.keeper.RequestRetry();
}

// Under the file's lock: the handle has changes that the next FLUSH must seal.
void MarkUnflushedLocked(const DraftTable::File& file, FileHandle* handle) KVP_REQUIRES(file->mutex) {
  if (handle == nullptr || !handle->flushed) return;
  handle->flushed = false;
  ++file->unflushed;
}

// What a file that is to reach `end` still has to get.
uint64_t MissingBytes(const DraftTable::File& file, uint64_t end) {
  MutexLock lock(file->mutex);
  if (file->draft == nullptr) return std::max(end, file->BytesLocked());
  const uint64_t allocated = file->draft->allocated_bytes();
  return end > allocated ? end - allocated : 0;
}

// A WRITE as the kernel sent it.
struct WriteRequest {
  FileHandle* handle = nullptr;
  uint64_t offset = 0;
  std::span<const std::byte> bytes;
  uint32_t tid = 0;  // 0: unknown, because the bytes come from the page cache
};

void NoteOutcomeLocked(const DraftTable::File& file, const WriteRequest& write, const Status& status)
    KVP_REQUIRES(file->mutex) {
  if (!status.ok()) {
    file->failed_write = FailedWrite{write.offset, status.code()};
  } else if (file->failed_write && write.offset <= file->failed_write->offset &&
             file->failed_write->offset < write.offset + write.bytes.size()) {
    file->failed_write.reset();
  }
}

Status WriteBytes(Node::State& node, const WriteRequest& write) {
  const DraftTable::File& file = write.handle->file;
  MutexLock lock(file->mutex);
  NoteWriterLocked(file, write.tid);
  Status status = MakeWritableLocked(node, file, /*keep_bytes=*/true);
  if (!status.ok()) {
    NoteOutcomeLocked(file, write, status);
    return status;
  }
  MarkUnflushedLocked(file, write.handle);
  status = file->draft->Write(write.offset, write.bytes);
  NoteOutcomeLocked(file, write, status);
  return status;
}

Status Allocate(Node::State& node, FileHandle* handle, uint64_t bytes, bool keep_size) {
  const DraftTable::File& file = handle->file;
  MutexLock lock(file->mutex);
  if (keep_size && file->draft == nullptr) return {};
  Status status = MakeWritableLocked(node, file, /*keep_bytes=*/true);
  if (!status.ok()) return status;
  if (keep_size) return bytes > file->draft->allocated_bytes() ? file->draft->Reserve(bytes) : Status();
  if (bytes <= file->draft->bytes()) return {};
  MarkUnflushedLocked(file, handle);
  return file->draft->Truncate(bytes);
}

Status Resize(Node::State& node, const DraftTable::File& file, uint64_t bytes, FileHandle* handle) {
  MutexLock lock(file->mutex);
  Status status = MakeWritableLocked(node, file, /*keep_bytes=*/bytes > 0);
  if (!status.ok()) return status;
  MarkUnflushedLocked(file, handle);
  if (bytes == 0) file->failed_write.reset();
  return file->draft->Truncate(bytes);
}

}  // namespace

void OpWrite(fuse_req_t req, fuse_ino_t, const char* bytes, size_t size, off_t offset, fuse_file_info* fi) {
  Node::State& node = NodeOf(req);
  FileHandle* handle = HandleOf(fi);
  if (handle->file == nullptr || !handle->writable) return ReplyError(req, ErrorCode::kInvalid);
  // The request's buffer is the worker's: a parked write takes a copy along.
  auto write = std::make_shared<WriteRequest>();
  write->handle = handle;
  write->offset = static_cast<uint64_t>(offset);
  write->bytes = {reinterpret_cast<const std::byte*>(bytes), size};
  write->tid = fi->writepage != 0 ? 0 : TidOf(req);
  auto copy = std::make_shared<std::vector<std::byte>>();
  Change change;
  change.attempt = [&node, write] { return WriteBytes(node, *write); };
  change.before_parking = [write, copy] {
    copy->assign(write->bytes.begin(), write->bytes.end());
    write->bytes = *copy;
  };
  change.reply = [req, size, copy] {
    Node::State& state = NodeOf(req);
    state.counters.Add(Counter::kWrites);
    state.counters.Add(Counter::kWriteBytes, size);
    fuse_reply_write(req, size);
  };
  change.missing_bytes = [write] { return MissingBytes(write->handle->file, write->offset + write->bytes.size()); };
  RunChange(req, change);
}

void OpFallocate(fuse_req_t req, fuse_ino_t, int mode, off_t offset, off_t length, fuse_file_info* fi) {
  Node::State& node = NodeOf(req);
  FileHandle* handle = HandleOf(fi);
  if ((mode & ~FALLOC_FL_KEEP_SIZE) != 0) return ReplyError(req, ErrorCode::kNotSupported);
  if (handle->file == nullptr || !handle->writable) return ReplyError(req, ErrorCode::kInvalid);
  const uint64_t end = static_cast<uint64_t>(offset) + static_cast<uint64_t>(length);
  if (end > node.options.max_page_bytes) return ReplyError(req, ErrorCode::kTooLarge);
  const bool keep_size = (mode & FALLOC_FL_KEEP_SIZE) != 0;
  Change change;
  change.attempt = [&node, handle, end, keep_size] { return Allocate(node, handle, end, keep_size); };
  change.reply = [req] { fuse_reply_err(req, 0); };
  change.missing_bytes = [handle, end] { return MissingBytes(handle->file, end); };
  RunChange(req, change);
}

void ResizeDraft(fuse_req_t req, const DraftTable::File& file, uint64_t bytes, FileHandle* handle) {
  Node::State& node = NodeOf(req);
  if (bytes > node.options.max_page_bytes) return ReplyError(req, ErrorCode::kTooLarge);
  Change change;
  change.attempt = [&node, file, bytes, handle] { return Resize(node, file, bytes, handle); };
  change.reply = [req, file, handle] {
    const auto reply = [req, file](const Status& status) {
      if (!status.ok()) return ReplyError(req, status.code());
      struct stat attr{};
      {
        MutexLock lock(file->mutex);
        attr = DraftStatLocked(file);
      }
      fuse_reply_attr(req, &attr, 0);
    };
    Node::State& state = NodeOf(req);
    if (handle != nullptr) return reply(Status());
    // truncate(2): nobody has it open through this call, so this is also the end of writing.
    bool seal = false;
    {
      MutexLock lock(file->mutex);
      seal = file->unflushed == 0;
    }
    const uint32_t tid = TidOf(req);
    const auto finish = [&state, file, tid, reply](const Status& status) {
      reply(status);
      if (state.retries.FinishWrite(tid, file.get())) ReleaseHandle(state, file);
    };
    if (seal) return SealFile(state, file, finish);
    finish(Status());
  };
  change.missing_bytes = [file, bytes] { return MissingBytes(file, bytes); };
  RunChange(req, change);
}

}  // namespace kvpagefs
