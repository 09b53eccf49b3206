#include <fcntl.h>
#include <sys/file.h>

#include <functional>
#include <optional>
#include <utility>

#include "fs/ops.h"

namespace kvpagefs {
namespace {

// Called by libfuse with the request's own lock held, which answering does not need.
void OnInterrupt(fuse_req_t req, void* ticket) { NodeOf(req).locks.Interrupt(reinterpret_cast<uint64_t>(ticket)); }

uint64_t LockHandle(const FileHandle* handle) { return reinterpret_cast<uint64_t>(handle); }

LockTable::Key KeyOfName(const NameRef& name) { return {name.parent.value, name.name}; }

LockTable::Key KeyOfDraft(const DraftTable::File& file) {
  MutexLock lock(file->mutex);
  return file->linked ? KeyOfName(file->name) : LockTable::Key(file->node_id, "");
}

// Goes on when the lock table knows the handle's file.
void BindThen(fuse_req_t req, fuse_ino_t ino, FileHandle* handle, std::function<void()> next) {
  Node::State& node = NodeOf(req);
  if (node.locks.KeyOf(LockHandle(handle))) return next();
  if (handle->hold) {
    node.meta->NameOf(handle->page.id, [&node, handle, next = std::move(next)](const Result<NameRef>& name) {
      node.locks.Bind(LockHandle(handle), name.ok() ? KeyOfName(*name) : LockTable::Key(handle->page.id.value, ""));
      next();
    });
    return;
  }
  node.locks.Bind(LockHandle(handle), handle->file ? KeyOfDraft(handle->file) : LockTable::Key(ino, ""));
  next();
}

void SetLock(fuse_req_t req, const LockTable::Claim& claim, bool wait) {
  Node::State& node = NodeOf(req);
  if (!wait) return ReplyStatus(req, node.locks.Set(claim));
  const uint64_t ticket = node.locks.NewTicket();
  // Before waiting: once the request waits, it may be answered and gone at any moment.
  fuse_req_interrupt_func(req, OnInterrupt, reinterpret_cast<void*>(ticket));
  node.locks.SetOrWait(ticket, claim, [req](const Status& status) {
    if (!status.ok() && status.code() == ErrorCode::kInterrupted) NodeOf(req).counters.Add(Counter::kInterrupted);
    ReplyStatus(req, status);
  });
}

LockTable::Mode ModeOf(short type) {
  if (type == F_WRLCK) return LockTable::Mode::kExclusive;
  return type == F_RDLCK ? LockTable::Mode::kShared : LockTable::Mode::kUnlock;
}

// Nothing when the kernel sent what cannot be a range.
std::optional<LockTable::Claim> ClaimOf(const fuse_file_info* fi, const struct flock& lock) {
  if (lock.l_start < 0 || lock.l_len < 0) return std::nullopt;
  LockTable::Claim claim;
  claim.kind = LockTable::Kind::kRecord;
  claim.mode = ModeOf(lock.l_type);
  claim.first = static_cast<uint64_t>(lock.l_start);
  if (lock.l_len > 0) claim.last = claim.first + static_cast<uint64_t>(lock.l_len) - 1;
  if (claim.last > LockTable::kLastByte) return std::nullopt;
  claim.owner = fi->lock_owner;
  claim.handle = LockHandle(HandleOf(fi));
  claim.pid = lock.l_pid;
  return claim;
}

struct flock ToFlock(const std::optional<LockTable::Claim>& held) {
  struct flock lock{};
  lock.l_whence = SEEK_SET;
  lock.l_type = F_UNLCK;
  if (!held) return lock;
  lock.l_type = held->mode == LockTable::Mode::kExclusive ? F_WRLCK : F_RDLCK;
  lock.l_start = static_cast<off_t>(held->first);
  lock.l_len = held->last == LockTable::kLastByte ? 0 : static_cast<off_t>(held->last - held->first + 1);
  lock.l_pid = held->pid;
  return lock;
}

}  // namespace

void OpGetlk(fuse_req_t req, fuse_ino_t ino, fuse_file_info* fi, struct flock* lock) {
  const std::optional<LockTable::Claim> claim = ClaimOf(fi, *lock);
  if (!claim) return ReplyError(req, ErrorCode::kInvalid);
  BindThen(req, ino, HandleOf(fi), [req, claim] {
    const struct flock answer = ToFlock(NodeOf(req).locks.Conflict(*claim));
    fuse_reply_lock(req, &answer);
  });
}

void OpSetlk(fuse_req_t req, fuse_ino_t ino, fuse_file_info* fi, struct flock* lock, int sleep) {
  const std::optional<LockTable::Claim> claim = ClaimOf(fi, *lock);
  if (!claim) return ReplyError(req, ErrorCode::kInvalid);
  BindThen(req, ino, HandleOf(fi), [req, claim, sleep] { SetLock(req, *claim, sleep != 0); });
}

void OpFlock(fuse_req_t req, fuse_ino_t ino, fuse_file_info* fi, int op) {
  LockTable::Claim claim;
  claim.kind = LockTable::Kind::kFlock;
  claim.owner = fi->lock_owner;
  claim.handle = LockHandle(HandleOf(fi));
  const int mode = op & ~LOCK_NB;
  if (mode == LOCK_SH) claim.mode = LockTable::Mode::kShared;
  if (mode == LOCK_EX) claim.mode = LockTable::Mode::kExclusive;
  BindThen(req, ino, HandleOf(fi), [req, claim, op] { SetLock(req, claim, (op & LOCK_NB) == 0); });
}

std::optional<LockTable::Key> LockedKeyOf(Node::State& node, FileHandle* handle) {
  if (node.locks.held() == 0) return std::nullopt;
  std::optional<LockTable::Key> key = node.locks.KeyOf(LockHandle(handle));
  // Closing a descriptor frees what its process has locked through others, too.
  if (!key && handle->file) key = KeyOfDraft(handle->file);
  return key;
}

void ReleaseHandleLocks(Node::State& node, FileHandle* handle) { node.locks.ReleaseHandle(LockHandle(handle)); }

}  // namespace kvpagefs
