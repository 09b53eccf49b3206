#include <cstdio>  // RENAME_NOREPLACE
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <sys/stat.h>

#include "fs/ops.h"
#include "fs/sealing.h"
#include "fs/virtual_files.h"

namespace kvpagefs {
namespace {

NameView ViewOf(const NameRef& name) { return {name.parent, name.name}; }

bool Reserved(fuse_ino_t parent, const char* name) { return IsVirtual(parent) || IsVirtualName(parent, name); }

void FinishUnlink(fuse_req_t req, const NameRef& name, bool had_draft, const Result<PageInfo>& removed) {
  Node::State& node = NodeOf(req);
  if (removed.ok()) {
    RemovePage(node, removed->id);
    for (const DraftTable::File& file : node.drafts.Followers(removed->id)) DropFile(node, file);
    node.events.Add(node.clock.WallNs(), "unlink", name, removed->bytes);
  } else if (!had_draft || removed.code() != ErrorCode::kNotFound) {
    return ReplyError(req, removed.code());
  }
  node.counters.Add(Counter::kUnlinks);
  fuse_reply_err(req, 0);
}

// A writer that is still at it follows its page to the new name.
void MoveFollower(Node::State& node, const DraftTable::File& file, const NameRef& from, const NameRef& to) {
  MutexLock lock(file->mutex);
  if (file->name.parent != from.parent || file->name.name != from.name) return;
  if (file->shown) {
    node.drafts.Hide(file, ViewOf(from));
    node.drafts.Show(file, ViewOf(to));
  }
  file->name = to;
}

bool IsAt(const DraftTable::File& file, const NameRef& name) {
  MutexLock lock(file->mutex);
  return file->name.parent == name.parent && file->name.name == name.name;
}

void FinishRename(Node::State& node, const NameRef& from, const NameRef& to, const Namespace::Outcome& outcome) {
  node.counters.Add(Counter::kRenames);
  if (!outcome.page.id.valid()) return;
  if (outcome.dropped) {
    // Of the two pages one is gone: the moved one when both had the same content, else the one that was replaced.
    for (const DraftTable::File& file : node.drafts.Followers(*outcome.dropped)) {
      if (IsAt(file, to)) DropFile(node, file);
      MoveFollower(node, file, from, to);
    }
    RemovePage(node, *outcome.dropped);
  }
  for (const DraftTable::File& file : node.drafts.Followers(outcome.page.id)) MoveFollower(node, file, from, to);
  node.events.Add(node.clock.WallNs(), "rename", to, outcome.page.bytes);
}

struct RenameArguments {
  NameRef from;
  NameRef to;
  Namespace::RenameMode mode = Namespace::RenameMode::kReplace;
};

void RenamePublished(fuse_req_t req, const RenameArguments& names) {
  Node::State& node = NodeOf(req);
  // What the caller's own process still writes under the new name loses it.
  DraftTable::File replaced = node.drafts.FindShown(ViewOf(names.to), TidOf(req));
  node.meta->Rename(ViewOf(names.from), ViewOf(names.to), names.mode,
                    [req, names, replaced](const Result<Namespace::Outcome>& outcome) {
                      if (!outcome.ok()) return ReplyError(req, outcome.code());
                      Node::State& state = NodeOf(req);
                      if (replaced != nullptr) DropFile(state, replaced);
                      FinishRename(state, names.from, names.to, *outcome);
                      fuse_reply_err(req, 0);
                    });
}

}  // namespace

void OpMknod(fuse_req_t req, fuse_ino_t parent, const char* name, mode_t mode, dev_t) {
  Node::State& node = NodeOf(req);
  if (!S_ISREG(mode) || Reserved(parent, name)) return ReplyError(req, ErrorCode::kNotPermitted);
  const DraftSpec spec{NameRef{DirId{parent}, name}, TidOf(req), OwnerOf(req, mode), {}};
  node.meta->Lookup(ViewOf(spec.name), [req, spec](const Result<EntryInfo>& found) {
    if (found.ok()) return ReplyError(req, ErrorCode::kExists);
    if (found.code() != ErrorCode::kNotFound) return ReplyError(req, found.code());
    Node::State& state = NodeOf(req);
    const DraftTable::File file = CreateDraft(state, spec);
    {
      MutexLock lock(file->mutex);
      file->handles = 1;
    }
    SealFile(state, file, [req, &state, file](const Status& status) {
      const fuse_entry_param entry = DraftEntry(file);
      if (status.ok()) {
        fuse_reply_entry(req, &entry);
      } else {
        ReplyError(req, status.code());
      }
      ReleaseHandle(state, file);
    });
  });
}

void OpMkdir(fuse_req_t req, fuse_ino_t parent, const char* name, mode_t mode) {
  Node::State& node = NodeOf(req);
  if (Reserved(parent, name)) return ReplyError(req, ErrorCode::kNotPermitted);
  node.meta->MakeDir({DirId{parent}, name}, OwnerOf(req, mode), [req](const Result<DirInfo>& made) {
    if (!made.ok()) return ReplyError(req, made.code());
    const fuse_entry_param entry = DirEntry(NodeOf(req), *made);
    fuse_reply_entry(req, &entry);
  });
}

void OpRmdir(fuse_req_t req, fuse_ino_t parent, const char* name) {
  Node::State& node = NodeOf(req);
  if (Reserved(parent, name)) return ReplyError(req, ErrorCode::kNotPermitted);
  const NameRef target{DirId{parent}, name};
  node.meta->Lookup(ViewOf(target), [req, target](const Result<EntryInfo>& found) {
    if (!found.ok()) return ReplyError(req, found.code());
    const auto* dir = std::get_if<DirInfo>(&*found);
    if (dir == nullptr) return ReplyError(req, ErrorCode::kNotDirectory);
    Node::State& state = NodeOf(req);
    // Files that are still being written have no name in the metadata yet.
    if (state.drafts.AnyShownIn(dir->id)) return ReplyError(req, ErrorCode::kNotEmpty);
    state.meta->RemoveDir(ViewOf(target), [req](const Status& status) { ReplyStatus(req, status); });
  });
}

void OpUnlink(fuse_req_t req, fuse_ino_t parent, const char* name) {
  Node::State& node = NodeOf(req);
  if (Reserved(parent, name)) return ReplyError(req, ErrorCode::kNotPermitted);
  const NameRef target{DirId{parent}, name};
  const DraftTable::File own = node.drafts.FindShown(ViewOf(target), TidOf(req));
  if (own != nullptr) DropFile(node, own);
  node.meta->Unlink(ViewOf(target), [req, target, own](const Result<PageInfo>& removed) {
    FinishUnlink(req, target, own != nullptr, removed);
  });
}

void OpRename(fuse_req_t req, fuse_ino_t parent, const char* name, fuse_ino_t new_parent, const char* new_name,
              unsigned flags) {
  Node::State& node = NodeOf(req);
  if ((flags & ~unsigned{RENAME_NOREPLACE}) != 0) return ReplyError(req, ErrorCode::kInvalid);
  if (Reserved(parent, name) || Reserved(new_parent, new_name)) return ReplyError(req, ErrorCode::kNotPermitted);
  RenameArguments names{NameRef{DirId{parent}, name}, NameRef{DirId{new_parent}, new_name}};
  if ((flags & RENAME_NOREPLACE) != 0) names.mode = Namespace::RenameMode::kNoReplace;
  const DraftTable::File own = node.drafts.FindShown(ViewOf(names.from), TidOf(req));
  if (own == nullptr) return RenamePublished(req, names);
  SealFile(node, own, [req, names](const Status& status) {
    if (!status.ok()) return ReplyError(req, status.code());
    RenamePublished(req, names);
  });
}

void OpSymlink(fuse_req_t req, const char*, fuse_ino_t, const char*) { ReplyError(req, ErrorCode::kNotPermitted); }

void OpLink(fuse_req_t req, fuse_ino_t, fuse_ino_t, const char*) { ReplyError(req, ErrorCode::kNotPermitted); }

}  // namespace kvpagefs
