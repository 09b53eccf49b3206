#include <cerrno>
#include <string>
#include <utility>

#include "fs/ops.h"
#include "fs/virtual_files.h"

namespace kvpagefs {
namespace {

void ReplyVirtualEntry(fuse_req_t req, uint64_t node_id) {
  const Node::State& node = NodeOf(req);
  fuse_entry_param entry{};
  entry.ino = node_id;
  entry.generation = 1;
  entry.attr = VirtualStat(node, node_id);
  entry.attr_timeout = entry.entry_timeout = KernelTimeout(node);
  fuse_reply_entry(req, &entry);
}

// True when it replied.
bool LookupVirtual(fuse_req_t req, fuse_ino_t parent, const char* name) {
  if (IsVirtualName(parent, name)) {
    ReplyVirtualEntry(req, kVirtualDirNode);
    return true;
  }
  if (parent != kVirtualDirNode) return false;
  const VirtualFile* file = FindVirtualFile(std::string_view(name));
  if (file == nullptr) {
    ReplyError(req, ErrorCode::kNotFound);
  } else {
    ReplyVirtualEntry(req, file->node_id);
  }
  return true;
}

// What the caller's process is writing under that name comes before what everybody sees. A thread that was told to look
// again is kept the file until it opens it.
DraftTable::File FindOwnDraft(fuse_req_t req, NameView name) {
  Node::State& node = NodeOf(req);
  const uint32_t tid = TidOf(req);
  if (!node.retries.any()) return node.drafts.FindShown(name, tid);
  if (DraftTable::File promised = node.retries.WriteExpected(tid, name)) return promised;
  DraftTable::File file = node.drafts.FindShown(name, tid);
  if (file == nullptr || !node.retries.Expected(tid, name, node.clock.MonotonicNs())) return file;
  node.retries.Fulfil(tid);
  return PromiseFile(req, file, NameRef{name.parent, std::string(name.name)}) ? file : nullptr;
}

void ReplyDraftEntry(fuse_req_t req, const DraftTable::File& file) {
  const fuse_entry_param entry = DraftEntry(file);
  fuse_reply_entry(req, &entry);
}

void ReplyPageEntry(fuse_req_t req, const PageInfo& page) {
  Node::State& node = NodeOf(req);
  const fuse_entry_param entry = PageEntry(node, page);
  if (fuse_reply_entry(req, &entry) == -ENOENT) node.drafts.Forget(entry.ino, 1);
}

// The look-up after ESTALE, which the thread was promised to be able to use.
void ReplyExpectedEntry(fuse_req_t req, const NameRef& name, const PageInfo& page, RetryTable::Purpose purpose) {
  const uint32_t tid = TidOf(req);
  if (purpose == RetryTable::Purpose::kRead) {
    HoldVersion(req, name, page, [req, tid, page](Result<HeldVersion> held) {
      if (!held.ok()) return ReplyPageEntry(req, page);
      const PageInfo now = held->page;
      NodeOf(req).retries.Grant(tid, {std::move(held->hold), now});
      ReplyPageEntry(req, now);
    });
    return;
  }
  PromiseDraft(req, page, name, [req, name, tid](const Result<DraftTable::File>& file) {
    RetryTable& retries = NodeOf(req).retries;
    if (!file.ok()) {
      retries.FoundNothing(tid, {name.parent, name.name});
      return ReplyError(req, file.code());
    }
    retries.Fulfil(tid);
    ReplyDraftEntry(req, *file);
  });
}

void ReplyFoundEntry(fuse_req_t req, const NameRef& name, const EntryInfo& found) {
  Node::State& node = NodeOf(req);
  node.counters.Add(Counter::kLookupHits);
  if (const auto* dir = std::get_if<DirInfo>(&found)) {
    const fuse_entry_param entry = DirEntry(node, *dir);
    fuse_reply_entry(req, &entry);
    return;
  }
  const PageInfo& page = std::get<PageInfo>(found);
  if (node.retries.any()) {
    if (const auto purpose = node.retries.Expected(TidOf(req), {name.parent, name.name}, node.clock.MonotonicNs()))
      return ReplyExpectedEntry(req, name, page, *purpose);
  }
  ReplyPageEntry(req, page);
}

}  // namespace

void OpLookup(fuse_req_t req, fuse_ino_t parent, const char* name) {
  Node::State& node = NodeOf(req);
  node.counters.Add(Counter::kLookups);
  if (LookupVirtual(req, parent, name)) return;
  const NameView view{DirId{parent}, name};
  if (const DraftTable::File file = FindOwnDraft(req, view)) {
    node.counters.Add(Counter::kLookupHits);
    return ReplyDraftEntry(req, file);
  }
  node.meta->Lookup(view, [req, target = NameRef{view.parent, name}](const Result<EntryInfo>& found) {
    if (found.ok()) {
      ReplyFoundEntry(req, target, *found);
    } else {
      RetryTable& retries = NodeOf(req).retries;
      if (retries.any()) retries.FoundNothing(TidOf(req), {target.parent, target.name});
      ReplyError(req, found.code());
    }
  });
}

void OpForget(fuse_req_t req, fuse_ino_t ino, uint64_t nlookup) {
  NodeOf(req).drafts.Forget(ino, nlookup);
  fuse_reply_none(req);
}

void OpForgetMulti(fuse_req_t req, size_t count, fuse_forget_data* forgets) {
  DraftTable& drafts = NodeOf(req).drafts;
  for (size_t i = 0; i < count; ++i) drafts.Forget(forgets[i].ino, forgets[i].nlookup);
  fuse_reply_none(req);
}

}  // namespace kvpagefs
