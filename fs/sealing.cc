#include "fs/sealing.h"

#include <algorithm>
#include <cassert>
#include <optional>
#include <utility>

#include "fs/process_identity.h"

namespace kvpagefs {
namespace {

using File = DraftTable::File;

// Enough for any shell pipeline; more than these seal at the last close only.
constexpr size_t kMaxMoreWriters = 16;

NameView ViewOf(const NameRef& name) { return {name.parent, name.name}; }

void ShowLocked(Node::State& node, const File& file) KVP_REQUIRES(file->mutex) {
  if (file->shown || !file->linked) return;
  file->shown = true;
  node.drafts.Show(file, ViewOf(file->name));
}

void HideLocked(Node::State& node, const File& file) KVP_REQUIRES(file->mutex) {
  if (!file->shown) return;
  file->shown = false;
  node.drafts.Hide(file, ViewOf(file->name));
}

void FollowLocked(Node::State& node, const File& file, PageId page) KVP_REQUIRES(file->mutex) {
  if (file->follows.valid()) node.drafts.Unfollow(file, file->follows);
  file->follows = page;
  if (page.valid()) node.drafts.Follow(file, page);
}

void DropLocked(Node::State& node, const File& file) KVP_REQUIRES(file->mutex) {
  if (file->draft != nullptr && file->node_id_used) node.drafts.DistrustCache(PageId{file->node_id});
  HideLocked(node, file);
  FollowLocked(node, file, PageId{});
  file->linked = false;
}

struct Publication {
  NameRef name;
  PageInfo page;
  Xattrs xattrs;
};

// The first half of sealing: the bytes become a page of this node.
Result<Publication> SealLocked(Node::State& node, const File& file) KVP_REQUIRES(file->mutex) {
  const PageId id = file->node_id_used ? node.meta->NewPageId() : PageId{file->node_id};
  Result<PageHold> hold = node.tier->Seal(id, file->draft, file->pin, node.tiering->SealCopy());
  if (!hold.ok()) return hold.error();
  file->node_id_used = true;
  if (!file->mtime_set) file->mtime_ns = node.clock.WallNs();
  file->mtime_set = false;
  file->sealed = std::move(*hold);
  file->publishing = true;
  PageInfo page;
  page.id = id;
  page.bytes = file->sealed.bytes();
  page.checksum = file->sealed.checksum();
  page.mtime_ns = file->mtime_ns;
  page.owner = file->owner;
  page.pin = file->pin;
  return Publication{file->name, page, file->xattrs};
}

// The second half: the names know it, or will never.
Status FinishPublish(Node::State& node, const File& file, const Publication& made,
                     const Result<Namespace::Outcome>& outcome) {
  std::vector<std::function<void()>> waiting;
  {
    MutexLock lock(file->mutex);
    file->publishing = false;
    waiting = std::exchange(file->after_publish, {});
    if (!outcome.ok()) {
      DropLocked(node, file);
    } else if (file->linked) {
      FollowLocked(node, file, outcome->page.id);
      if (file->draft == nullptr) HideLocked(node, file);
    }
  }
  if (!outcome.ok()) {
    RemovePage(node, made.page.id);
    node.counters.Add(Counter::kSealErrors);
  } else {
    if (outcome->dropped) RemovePage(node, *outcome->dropped);
    if (outcome->page.id == made.page.id) node.tiering->OnPublished(made.page);
    node.counters.Add(Counter::kSeals);
    node.events.Add(made.page.mtime_ns, outcome->replaced ? "replace" : "publish", made.name, made.page.bytes);
  }
  for (const auto& next : waiting) next();
  return outcome.ok() ? Status() : Status(outcome.error());
}

}  // namespace

void RemovePage(Node::State& node, PageId page) {
  (void)node.tier->Remove(page);
  node.tiering->Remove(page);
  node.drafts.ForgetPage(page);
}

DraftTable::File CreateDraft(Node::State& node, const DraftSpec& spec) {
  auto file = std::make_shared<DraftFile>(node.meta->NewPageId().value, ProcessOfThread(spec.tid));
  MutexLock lock(file->mutex);
  file->name = spec.name;
  file->owner = spec.owner;
  file->mtime_ns = node.clock.WallNs();
  file->draft = node.tier->NewDraft();
  node.drafts.Add(file);
  ShowLocked(node, file);
  return file;
}

DraftTable::File OpenDraft(Node::State& node, const DraftSpec& spec, const PageInfo& page, PageHold hold) {
  auto file = std::make_shared<DraftFile>(node.meta->NewPageId().value, ProcessOfThread(spec.tid));
  MutexLock lock(file->mutex);
  file->name = spec.name;
  file->owner = page.owner;
  file->mtime_ns = page.mtime_ns;
  file->pin = page.pin;
  file->xattrs = spec.xattrs;
  file->sealed = std::move(hold);
  node.drafts.Add(file);
  FollowLocked(node, file, page.id);
  ShowLocked(node, file);
  return file;
}

Status MakeWritableLocked(Node::State& node, const DraftTable::File& file, bool keep_bytes) {
  if (file->draft != nullptr) return {};
  if (keep_bytes && file->sealed) {
    Result<std::unique_ptr<Draft>> draft = node.tier->NewDraft(file->sealed);
    if (!draft.ok()) return draft.error();
    file->draft = std::move(*draft);
  } else {
    file->draft = node.tier->NewDraft();
  }
  file->sealed = PageHold();
  if (!keep_bytes) file->failed_write.reset();
  ShowLocked(node, file);
  return {};
}

bool IsWriterLocked(const DraftTable::File& file, uint32_t tid) {
  if (tid == file->last_writer_tid || file->process == 0 || ThreadInProcess(tid, file->process)) return true;
  return std::any_of(file->more_writers.begin(), file->more_writers.end(),
                     [tid](uint32_t process) { return ThreadInProcess(tid, process); });
}

void NoteWriterLocked(const DraftTable::File& file, uint32_t tid) {
  if (tid == 0 || tid == file->last_writer_tid) return;
  if (!IsWriterLocked(file, tid) && file->more_writers.size() < kMaxMoreWriters) {
    file->more_writers.push_back(ProcessOfThread(tid));
  }
  file->last_writer_tid = tid;
}

void SealFile(Node::State& node, const DraftTable::File& file, std::function<void(const Status&)> done) {
  std::optional<Publication> sealed;
  Status failure;
  {
    MutexLock lock(file->mutex);
    if (file->publishing) {
      file->after_publish.emplace_back([&node, file, done = std::move(done)] { SealFile(node, file, done); });
      return;
    }
    if (file->draft != nullptr && file->linked && file->failed_write) {
      failure = file->failed_write->code;
      DropLocked(node, file);
      node.counters.Add(Counter::kSealErrors);
    } else if (file->draft != nullptr && file->linked) {
      Result<Publication> attempt = SealLocked(node, file);
      if (attempt.ok()) {
        sealed = std::move(*attempt);
      } else {
        failure = attempt.error();
        DropLocked(node, file);
        node.counters.Add(Counter::kSealErrors);
      }
    }
  }
  if (!sealed) {
    done(failure);
    return;
  }
  const Publication& made = *sealed;
  node.meta->Publish(ViewOf(made.name), made.page, made.xattrs, /*exclusive=*/false,
                     [&node, file, made = *sealed, done = std::move(done)](const Result<Namespace::Outcome>& outcome) {
                       done(FinishPublish(node, file, made, outcome));
                     });
}

void DropFile(Node::State& node, const DraftTable::File& file) {
  MutexLock lock(file->mutex);
  DropLocked(node, file);
}

void ReleaseHandle(Node::State& node, const DraftTable::File& file) {
  MutexLock lock(file->mutex);
  assert(file->handles > 0);
  if (--file->handles > 0) return;
  file->closed = true;
  DropLocked(node, file);
  node.drafts.Remove(file);
  file->draft.reset();
  file->sealed = PageHold();
}

}  // namespace kvpagefs
