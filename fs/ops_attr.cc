#include <sys/stat.h>
#include <sys/statvfs.h>

#include <memory>

#include "fs/ops.h"
#include "fs/sealing.h"
#include "fs/virtual_files.h"
#include "spill/extent.h"

namespace kvpagefs {
namespace {

constexpr int kOwnerBits = FUSE_SET_ATTR_MODE | FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID;
constexpr int kMtimeBits = FUSE_SET_ATTR_MTIME | FUSE_SET_ATTR_MTIME_NOW;
constexpr int kAtimeBits = FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_ATIME_NOW;

int64_t ToNs(const timespec& time) { return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec; }

void ReplyAttr(fuse_req_t req, const struct stat& attr, double timeout) { fuse_reply_attr(req, &attr, timeout); }

void ReplyPageAttr(fuse_req_t req, const PageInfo& page) {
  const Node::State& node = NodeOf(req);
  ReplyAttr(req, PageStat(node, page), KernelTimeout(node));
}

// A page without a name that is still open somewhere.
void ReplyNamelessAttr(fuse_req_t req, PageId id) {
  Node::State& node = NodeOf(req);
  std::optional<PageInfo> page = node.open_pages.Find(id);
  if (!page) page = node.retries.GrantedPage(TidOf(req), id);
  if (!page) return ReplyLookAgain(req);
  struct stat attr = PageStat(node, *page);
  attr.st_nlink = 0;
  if (page->bytes > 0) attr.st_blocks = static_cast<blkcnt_t>(BlocksFor(page->bytes) * (kBlockBytes / 512));
  ReplyAttr(req, attr, KernelTimeout(node));
}

// The changes but for the size, with "now" filled in.
AttributeChange ChangeFrom(const Node::State& node, const struct stat& attr, int to_set) {
  AttributeChange change;
  change.set_mode = (to_set & FUSE_SET_ATTR_MODE) != 0;
  change.set_uid = (to_set & FUSE_SET_ATTR_UID) != 0;
  change.set_gid = (to_set & FUSE_SET_ATTR_GID) != 0;
  change.set_mtime = (to_set & kMtimeBits) != 0;
  change.owner = {attr.st_uid, attr.st_gid, static_cast<uint16_t>(attr.st_mode & 07777)};
  change.mtime_ns = (to_set & FUSE_SET_ATTR_MTIME_NOW) != 0 ? node.clock.WallNs() : ToNs(attr.st_mtim);
  return change;
}

void ApplyToDraftLocked(const DraftTable::File& file, const AttributeChange& change) KVP_REQUIRES(file->mutex) {
  if (change.set_mode) file->owner.mode = change.owner.mode;
  if (change.set_uid) file->owner.uid = change.owner.uid;
  if (change.set_gid) file->owner.gid = change.owner.gid;
  if (change.set_mtime) {
    file->mtime_ns = change.mtime_ns;
    file->mtime_set = true;
  }
}

void ReplyDraftAttr(fuse_req_t req, const DraftTable::File& file) {
  struct stat attr{};
  {
    MutexLock lock(file->mutex);
    attr = DraftStatLocked(file);
  }
  ReplyAttr(req, attr, 0);
}

void SetDraftAttr(fuse_req_t req, const DraftTable::File& file, const struct stat& attr, int to_set,
                  FileHandle* handle) {
  Node::State& node = NodeOf(req);
  PageId published;
  const AttributeChange change = ChangeFrom(node, attr, to_set);
  {
    MutexLock lock(file->mutex);
    ApplyToDraftLocked(file, change);
    // What everybody sees changes too, when this file stands for it.
    if (file->draft == nullptr) published = file->follows;
  }
  if ((to_set & FUSE_SET_ATTR_SIZE) != 0) {
    return ResizeDraft(req, file, static_cast<uint64_t>(attr.st_size), handle);
  }
  if (!published.valid()) return ReplyDraftAttr(req, file);
  node.meta->ChangePage(published, change, [req, file](const Result<PageInfo>&) { ReplyDraftAttr(req, file); });
}

void SetPageAttr(fuse_req_t req, PageId id, const struct stat& attr, int to_set) {
  Node::State& node = NodeOf(req);
  if ((to_set & kAtimeBits) != 0) {
    const int64_t atime_ns = (to_set & FUSE_SET_ATTR_ATIME_NOW) != 0 ? node.clock.WallNs() : ToNs(attr.st_atim);
    (void)node.tier->SetLastRead(id, atime_ns);
  }
  const auto reply = [req, id](const Result<PageInfo>& page) {
    if (page.ok()) return ReplyPageAttr(req, *page);
    ReplyNamelessAttr(req, id);
  };
  if ((to_set & (kOwnerBits | kMtimeBits)) == 0) return node.meta->FindPage(id, reply);
  node.meta->ChangePage(id, ChangeFrom(node, attr, to_set), reply);
}

void SetDirAttr(fuse_req_t req, DirId id, const struct stat& attr, int to_set) {
  Node::State& node = NodeOf(req);
  if ((to_set & FUSE_SET_ATTR_SIZE) != 0) return ReplyError(req, ErrorCode::kIsDirectory);
  node.meta->ChangeDir(id, ChangeFrom(node, attr, to_set), [req](const Result<DirInfo>& dir) {
    if (!dir.ok()) return ReplyLookAgain(req);
    ReplyAttr(req, DirStat(*dir), KernelTimeout(NodeOf(req)));
  });
}

}  // namespace

void OpGetattr(fuse_req_t req, fuse_ino_t ino, fuse_file_info*) {
  Node::State& node = NodeOf(req);
  if (IsVirtual(ino)) return ReplyAttr(req, VirtualStat(node, ino), KernelTimeout(node));
  if (IsDirectoryId(ino)) {
    node.meta->FindDir(DirId{ino}, [req](const Result<DirInfo>& dir) {
      if (!dir.ok()) return ReplyLookAgain(req);
      ReplyAttr(req, DirStat(*dir), KernelTimeout(NodeOf(req)));
    });
    return;
  }
  if (const DraftTable::File file = node.drafts.Find(ino)) return ReplyDraftAttr(req, file);
  const PageId id = node.drafts.PageOf(ino);
  node.meta->FindPage(id, [req, id](const Result<PageInfo>& page) {
    if (page.ok()) return ReplyPageAttr(req, *page);
    ReplyNamelessAttr(req, id);
  });
}

void OpAccess(fuse_req_t req, fuse_ino_t ino, int /*mask*/) {
  Node::State& node = NodeOf(req);
  if (IsVirtual(ino)) return ReplyStatus(req, {});
  if (IsDirectoryId(ino)) {
    node.meta->FindDir(DirId{ino}, [req](const Result<DirInfo>& dir) {
      if (!dir.ok()) return ReplyLookAgain(req);
      ReplyStatus(req, {});
    });
    return;
  }
  if (node.drafts.Find(ino) != nullptr) return ReplyStatus(req, {});
  const PageId id = node.drafts.PageOf(ino);
  node.meta->FindPage(id, [req, id](const Result<PageInfo>& page) {
    const Node::State& at = NodeOf(req);
    const bool there = page.ok() || at.open_pages.Find(id) || at.retries.GrantedPage(TidOf(req), id);
    if (!there) return ReplyLookAgain(req);
    ReplyStatus(req, {});
  });
}

void OpSetattr(fuse_req_t req, fuse_ino_t ino, struct stat* attr, int to_set, fuse_file_info* fi) {
  Node::State& node = NodeOf(req);
  if (IsVirtual(ino)) return ReplyError(req, ErrorCode::kNotPermitted);
  if (IsDirectoryId(ino)) return SetDirAttr(req, DirId{ino}, *attr, to_set);
  FileHandle* handle = fi != nullptr ? HandleOf(fi) : nullptr;
  if (handle != nullptr && handle->file != nullptr) return SetDraftAttr(req, handle->file, *attr, to_set, handle);
  if (const DraftTable::File file = node.drafts.Find(ino)) return SetDraftAttr(req, file, *attr, to_set, nullptr);
  const PageId id = node.drafts.PageOf(ino);
  if ((to_set & FUSE_SET_ATTR_SIZE) != 0) return ReplyReopenForWriting(req, id);
  SetPageAttr(req, id, *attr, to_set);
}

void OpStatfs(fuse_req_t req, fuse_ino_t) {
  const Node::State& node = NodeOf(req);
  const MemoryTier::Stats tier = node.tier->GetStats();
  const NamespaceStats names = node.meta->GetStats();
  struct statvfs out{};
  out.f_bsize = kBlockBytes;
  out.f_frsize = kBlockBytes;
  out.f_blocks = tier.capacity_bytes / kBlockBytes;
  out.f_bfree = (tier.free_bytes + tier.evictable_bytes + tier.dirty_bytes) / kBlockBytes;
  if (const SsdTier* ssd = node.tiering->ssd()) {
    // What is on SSD is evictable, but for what is pinned there; it is not told apart here.
    const uint64_t ssd_blocks = ssd->GetStats().capacity_bytes / kBlockBytes;
    out.f_blocks += ssd_blocks;
    out.f_bfree += ssd_blocks;
  }
  if (node.cluster != nullptr) {
    for (const Member& member : node.cluster->Members()) {
      if (member.number == node.cluster->number() || member.state == "down") continue;
      out.f_blocks += (member.use.memory_bytes + member.use.ssd_bytes) / kBlockBytes;
      out.f_bfree += (member.use.memory_bytes + member.use.ssd_bytes) / kBlockBytes;
    }
  }
  out.f_bavail = out.f_bfree;
  out.f_files = names.pages + names.directories + out.f_bfree;
  out.f_ffree = out.f_bfree;
  out.f_favail = out.f_bfree;
  out.f_namemax = kMaxNameBytes;
  fuse_reply_statfs(req, &out);
}

}  // namespace kvpagefs
