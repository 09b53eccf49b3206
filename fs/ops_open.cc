#include <fcntl.h>

#include <string>
#include <utility>

#include "fs/ops.h"
#include "fs/sealing.h"
#include "fs/virtual_files.h"

namespace kvpagefs {
namespace {

bool ForWriting(int flags) { return (flags & O_ACCMODE) != O_RDONLY; }

void GiveHandle(fuse_req_t req, fuse_file_info* fi, std::unique_ptr<FileHandle> handle) {
  NodeOf(req).file_handles.Add(handle.get());
  fi->fh = reinterpret_cast<uint64_t>(handle.release());
}

// The kernel never came to know the file.
void TakeBackHandle(Node::State& node, fuse_file_info* fi) {
  FileHandle* handle = HandleOf(fi);
  node.file_handles.Remove(handle);
  CloseHandle(node, handle);
}

void ReplyOpened(fuse_req_t req, fuse_file_info* fi) {
  Node::State& node = NodeOf(req);
  if (fuse_reply_open(req, fi) == -ENOENT) TakeBackHandle(node, fi);
}

void OpenVirtual(fuse_req_t req, fuse_ino_t ino, fuse_file_info* fi) {
  const VirtualFile* file = FindVirtualFile(ino);
  if (file == nullptr) return ReplyError(req, ErrorCode::kIsDirectory);
  if (ForWriting(fi->flags)) return ReplyError(req, ErrorCode::kNotPermitted);
  auto handle = std::make_unique<FileHandle>();
  handle->text = std::make_shared<const std::string>(file->text(NodeOf(req)));
  GiveHandle(req, fi, std::move(handle));
  fi->direct_io = 1;
  fi->noflush = 1;
  ReplyOpened(req, fi);
}

// One more handle on a file that is being written.
std::unique_ptr<FileHandle> JoinDraftLocked(Node::State& node, const DraftTable::File& file, fuse_file_info* fi)
    KVP_REQUIRES(file->mutex) {
  auto handle = std::make_unique<FileHandle>();
  handle->file = file;
  handle->writable = ForWriting(fi->flags);
  handle->seals = handle->writable || (fi->flags & O_CREAT) != 0;
  ++file->handles;
  fi->direct_io = node.read_path.DirectWrite((fi->flags & O_ACCMODE) == O_WRONLY) ? 1 : 0;
  fi->keep_cache = 1;
  fi->noflush = handle->seals ? 0 : 1;
  return handle;
}

Status EmptyLocked(Node::State& node, const DraftTable::File& file) KVP_REQUIRES(file->mutex) {
  Status status = MakeWritableLocked(node, file, /*keep_bytes=*/false);
  if (status.ok()) status = file->draft->Truncate(0);
  file->failed_write.reset();
  return status;
}

void OpenDraftFile(fuse_req_t req, const DraftTable::File& file, fuse_file_info* fi) {
  Node::State& node = NodeOf(req);
  std::unique_ptr<FileHandle> handle;
  Status status;
  {
    MutexLock lock(file->mutex);
    if (file->closed) {
      status = ErrorCode::kStale;
    } else if (ForWriting(fi->flags) && (fi->flags & O_TRUNC) != 0) {
      status = EmptyLocked(node, file);
    }
    if (status.ok()) {
      handle = JoinDraftLocked(node, file, fi);
      if (handle->writable && (fi->flags & O_TRUNC) != 0) {
        handle->flushed = false;
        ++file->unflushed;
      }
    }
  }
  if (node.retries.FinishWrite(TidOf(req), file.get())) ReleaseHandle(node, file);
  if (!status.ok() && status.code() == ErrorCode::kStale) {
    return ReplyLookAgain(req, ForWriting(fi->flags) ? RetryTable::Purpose::kWrite : RetryTable::Purpose::kRead);
  }
  if (!status.ok()) return ReplyError(req, status.code());
  GiveHandle(req, fi, std::move(handle));
  ReplyOpened(req, fi);
}

void ReplyPageOpened(fuse_req_t req, fuse_file_info* fi, const PageInfo& page, PageHold hold) {
  Node::State& node = NodeOf(req);
  const Result<PageUse> use = node.tier->Use(page.id);
  auto handle = std::make_unique<FileHandle>();
  handle->hold = std::move(hold);
  handle->page = page;
  node.open_pages.Add(page);
  node.counters.Add(Counter::kOpens);
  fi->direct_io = node.read_path.DirectRead(use.ok() && use->reads > 0 ? use->reads - 1 : 0) ? 1 : 0;
  fi->keep_cache = node.drafts.CacheTrusted(page.id) ? 1 : 0;
  fi->noflush = 1;
  GiveHandle(req, fi, std::move(handle));
  ReplyOpened(req, fi);
}

void OpenPage(fuse_req_t req, PageId id, fuse_file_info fi) {
  Node::State& node = NodeOf(req);
  node.meta->FindPage(id, [req, id, fi](const Result<PageInfo>& page) mutable {
    Node::State& state = NodeOf(req);
    const uint32_t tid = TidOf(req);
    if (!page.ok()) {
      if (auto granted = state.retries.TakeGrant(tid, id)) {
        return ReplyPageOpened(req, &fi, granted->page, std::move(granted->hold));
      }
      return ReplyLookAgain(req);
    }
    HoldPage(req, *page, MemoryTier::Touch::kRead, [req, fi, tid, info = *page](Result<PageHold> hold) mutable {
      Node::State& at = NodeOf(req);
      if (at.retries.any()) (void)at.retries.TakeGrant(tid, info.id);
      if (hold.ok()) return ReplyPageOpened(req, &fi, info, std::move(*hold));
      const ErrorCode code = hold.code();
      at.meta->FindPage(info.id, [req, code](const Result<PageInfo>& still) {
        // Replaced or evicted meanwhile: the name tells which.
        if (!still.ok() && code != ErrorCode::kInterrupted) return ReplyLookAgain(req);
        NodeOf(req).counters.Add(Counter::kOpenMisses);
        ReplyError(req, code);
      });
    });
  });
}

void ReplyCreated(fuse_req_t req, const DraftTable::File& file, fuse_file_info* fi) {
  Node::State& node = NodeOf(req);
  {
    MutexLock lock(file->mutex);
    if (file->closed) return ReplyLookAgain(req, RetryTable::Purpose::kWrite);
    if ((fi->flags & O_TRUNC) != 0) (void)EmptyLocked(node, file);
    std::unique_ptr<FileHandle> handle = JoinDraftLocked(node, file, fi);
    handle->flushed = false;
    ++file->unflushed;
    GiveHandle(req, fi, std::move(handle));
  }
  const fuse_entry_param entry = DraftEntry(file);
  if (fuse_reply_create(req, &entry, fi) == -ENOENT) TakeBackHandle(node, fi);
}

// The kernel saw no such name a moment ago, but there is one now: as if it had been opened.
void CreateOverPage(fuse_req_t req, const DraftSpec& spec, const PageInfo& page, fuse_file_info fi) {
  if ((fi.flags & O_EXCL) != 0) return ReplyError(req, ErrorCode::kExists);
  HoldVersion(req, spec.name, page, [req, spec = DraftSpec(spec), fi](Result<HeldVersion> held) mutable {
    Node::State& state = NodeOf(req);
    if (!held.ok() && held.code() == ErrorCode::kInterrupted) return ReplyError(req, held.code());
    if (held.ok()) spec.xattrs = std::move(held->xattrs);
    DraftTable::File file =
        held.ok() ? OpenDraft(state, spec, held->page, std::move(held->hold)) : CreateDraft(state, spec);
    Status status;
    {
      MutexLock lock(file->mutex);
      status = MakeWritableLocked(state, file, (fi.flags & O_TRUNC) == 0);
      if (!status.ok()) file->handles = 1;
    }
    if (!status.ok()) {
      ReleaseHandle(state, file);
      return ReplyError(req, status.code());
    }
    ReplyCreated(req, file, &fi);
  });
}

}  // namespace

void OpOpen(fuse_req_t req, fuse_ino_t ino, fuse_file_info* fi) {
  Node::State& node = NodeOf(req);
  if (IsVirtual(ino)) return OpenVirtual(req, ino, fi);
  if (const DraftTable::File file = node.drafts.Find(ino)) return OpenDraftFile(req, file, fi);
  const PageId page = node.drafts.PageOf(ino);
  if (ForWriting(fi->flags)) return ReplyReopenForWriting(req, page);
  OpenPage(req, page, *fi);
}

bool PromiseFile(fuse_req_t req, const DraftTable::File& file, const NameRef& name) {
  Node::State& node = NodeOf(req);
  {
    MutexLock lock(file->mutex);
    if (file->closed) return false;
    ++file->handles;
  }
  if (const auto earlier = node.retries.ExpectWrite(TidOf(req), file, name, node.clock.MonotonicNs())) {
    ReleaseHandle(node, earlier);
  }
  return true;
}

void PromiseDraft(fuse_req_t req, const PageInfo& page, const NameRef& name,
                  std::function<void(Result<DraftTable::File>)> done) {
  Node::State& node = NodeOf(req);
  const uint32_t tid = TidOf(req);
  const DraftTable::File shown = node.drafts.FindShown({name.parent, name.name}, tid);
  if (shown != nullptr && PromiseFile(req, shown, name)) return done(shown);
  HoldVersion(req, name, page, [req, name, tid, done = std::move(done)](Result<HeldVersion> held) {
    if (!held.ok()) return done(held.error());
    const DraftSpec spec{name, tid, held->page.owner, std::move(held->xattrs)};
    const DraftTable::File file = OpenDraft(NodeOf(req), spec, held->page, std::move(held->hold));
    (void)PromiseFile(req, file, name);  // fresh: not closed
    done(file);
  });
}

void CloseHandle(Node::State& node, FileHandle* handle) {
  const std::unique_ptr<FileHandle> owned(handle);
  if (handle->file) ReleaseHandle(node, handle->file);
  if (handle->hold) node.open_pages.Remove(handle->page.id);
}

void ReplyReopenForWriting(fuse_req_t req, PageId id) {
  Node::State& node = NodeOf(req);
  node.meta->FindPage(id, [req](const Result<PageInfo>& page) {
    if (!page.ok()) return ReplyLookAgain(req, RetryTable::Purpose::kWrite);
    NodeOf(req).meta->NameOf(page->id, [req, page = *page](const Result<NameRef>& name) {
      if (!name.ok()) return ReplyLookAgain(req, RetryTable::Purpose::kWrite);
      PromiseDraft(req, page, *name, [req](const Result<DraftTable::File>& file) {
        if (!file.ok() && file.code() == ErrorCode::kInterrupted) return ReplyError(req, file.code());
        if (!file.ok()) return ReplyLookAgain(req, RetryTable::Purpose::kWrite);
        NodeOf(req).counters.Add(Counter::kStaleRetries);
        ReplyError(req, ErrorCode::kStale);
      });
    });
  });
}

void OpCreate(fuse_req_t req, fuse_ino_t parent, const char* name, mode_t mode, fuse_file_info* fi) {
  Node::State& node = NodeOf(req);
  if (IsVirtual(parent) || IsVirtualName(parent, name)) return ReplyError(req, ErrorCode::kNotPermitted);
  const DraftSpec spec{NameRef{DirId{parent}, name}, TidOf(req), OwnerOf(req, mode), {}};
  // An open that was to be repeated found nothing and creates instead.
  if (node.retries.any()) node.retries.Fulfil(spec.tid);
  if (const DraftTable::File file = node.drafts.FindShown({spec.name.parent, spec.name.name}, spec.tid)) {
    if ((fi->flags & O_EXCL) != 0) return ReplyError(req, ErrorCode::kExists);
    return ReplyCreated(req, file, fi);
  }
  node.meta->Lookup({spec.name.parent, spec.name.name},
                    [req, spec, info = *fi](const Result<EntryInfo>& found) mutable {
                      Node::State& state = NodeOf(req);
                      if (found.ok()) {
                        if (std::holds_alternative<DirInfo>(*found)) return ReplyError(req, ErrorCode::kIsDirectory);
                        return CreateOverPage(req, spec, std::get<PageInfo>(*found), info);
                      }
                      if (found.code() != ErrorCode::kNotFound) return ReplyError(req, found.code());
                      state.meta->FindDir(spec.name.parent, [req, spec, info](const Result<DirInfo>& dir) mutable {
                        if (!dir.ok()) return ReplyError(req, dir.code());
                        Node::State& again = NodeOf(req);
                        again.counters.Add(Counter::kCreates);
                        ReplyCreated(req, CreateDraft(again, spec), &info);
                      });
                    });
}

}  // namespace kvpagefs
