#include "fs/ops.h"
#include "fs/process_identity.h"
#include "fs/sealing.h"

namespace kvpagefs {
namespace {

// Takes the handle's changes as flushed; true when that was the file's last unflushed handle.
bool MarkFlushed(FileHandle* handle) {
  DraftFile& file = *handle->file;
  MutexLock lock(file.mutex);
  if (!handle->flushed) {
    handle->flushed = true;
    --file.unflushed;
  }
  return file.unflushed == 0;
}

enum class Closing : uint8_t { kFinished, kKilled, kInherited };

// What a close by this thread says about the file.
Closing ClosingBy(const DraftTable::File& file, uint32_t tid) {
  MutexLock lock(file->mutex);
  if (file->draft == nullptr || !file->linked) return Closing::kFinished;
  if (!IsWriterLocked(file, tid)) return Closing::kInherited;
  return KilledBySignal(tid) ? Closing::kKilled : Closing::kFinished;
}

void Abandon(Node::State& node, const DraftTable::File& file) {
  NameRef name;
  uint64_t bytes = 0;
  {
    MutexLock lock(file->mutex);
    name = file->name;
    bytes = file->BytesLocked();
  }
  DropFile(node, file);
  node.counters.Add(Counter::kAbandonedDrafts);
  node.events.Add(node.clock.WallNs(), "abandon", name, bytes);
}

}  // namespace

void OpFlush(fuse_req_t req, fuse_ino_t, fuse_file_info* fi) {
  Node::State& node = NodeOf(req);
  FileHandle* handle = HandleOf(fi);
  const auto finish = [req, &node, key = LockedKeyOf(node, handle), owner = fi->lock_owner](const Status& status) {
    if (key) node.locks.ReleaseOwner(*key, owner);
    ReplyStatus(req, status);
  };
  if (handle->file == nullptr || !handle->seals) return finish(Status());
  const DraftTable::File file = handle->file;
  const Closing closing = ClosingBy(file, TidOf(req));
  // The kernel closes the files of a killed process too, but what it wrote is not a page.
  if (closing == Closing::kKilled) Abandon(node, file);
  if (closing != Closing::kFinished) return finish(Status());
  if (!MarkFlushed(handle)) return finish(Status());
  SealFile(node, file, finish);
}

void OpRelease(fuse_req_t req, fuse_ino_t, fuse_file_info* fi) {
  Node::State& node = NodeOf(req);
  const std::shared_ptr<FileHandle> handle(HandleOf(fi));
  node.file_handles.Remove(handle.get());
  if (handle->hold) {
    ReleaseHandleLocks(node, handle.get());
    node.open_pages.Remove(handle->page.id);
    handle->hold = PageHold();
  } else if (handle->file != nullptr) {
    const DraftTable::File file = handle->file;
    // Bytes stored through a mapping arrive after the last close.
    if (handle->writable && MarkFlushed(handle.get())) {
      SealFile(node, file, [&node, file, handle](const Status& status) {
        if (!status.ok())
          node.log.Warning("a page could not be sealed behind its close: {}", status.error().Describe());
        ReleaseHandleLocks(node, handle.get());
        ReleaseHandle(node, file);
      });
    } else {
      ReleaseHandleLocks(node, handle.get());
      ReleaseHandle(node, file);
    }
  } else {
    ReleaseHandleLocks(node, handle.get());
  }
  fuse_reply_err(req, 0);
}

namespace {

// The page that the file published last.
PageId PublishedPage(const DraftTable::File& file) {
  MutexLock lock(file->mutex);
  return file->draft == nullptr ? file->follows : PageId{};
}

void ReplyDurable(fuse_req_t req, PageId page) {
  Node::State& node = NodeOf(req);
  if (!node.tiering->spills()) {
    if (node.options.fsync_refuses) return ReplyError(req, ErrorCode::kUnavailable);
    fuse_reply_err(req, 0);
    return;
  }
  if (!page.valid()) return node.tiering->Sync([req](const Status& status) { ReplyStatus(req, status); });
  node.tiering->MakeDurable(page, [req, page](const Status& status) {
    if (status.ok() || status.code() != ErrorCode::kNotFound) return ReplyStatus(req, status);
    // Unlinked or replaced meanwhile, there is nothing to be made durable; under its name still, its bytes are lost.
    NodeOf(req).meta->FindPage(page, [req](const Result<PageInfo>& named) {
      if (named.ok()) return ReplyError(req, ErrorCode::kLost);
      ReplyStatus(req, {});
    });
  });
}

}  // namespace

void OpFsync(fuse_req_t req, fuse_ino_t, int, fuse_file_info* fi) {
  Node::State& node = NodeOf(req);
  FileHandle* handle = HandleOf(fi);
  if (handle->hold) return ReplyDurable(req, handle->page.id);
  if (handle->file == nullptr) return ReplyStatus(req, {});
  const DraftTable::File file = handle->file;
  if (!handle->seals) return ReplyDurable(req, PublishedPage(file));
  (void)MarkFlushed(handle);
  SealFile(node, file, [req, file](const Status& status) {
    if (!status.ok()) return ReplyError(req, status.code());
    ReplyDurable(req, PublishedPage(file));
  });
}

}  // namespace kvpagefs
