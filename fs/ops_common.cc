#include <sys/stat.h>

#include <algorithm>

#include "fs/ops.h"
#include "fs/virtual_files.h"
#include "spill/extent.h"

namespace kvpagefs {
namespace {

// Names outlive attributes in the kernel's cache: whatever is done with an inode whose name is gone is answered with
// "look again". Attributes have no such second line. In a cluster an inode may have got another name elsewhere, of
// which this kernel knows nothing, so names are kept no longer than attributes; asking again costs no round trip for
// pages that are here.
constexpr double kEntryTimeoutFactor = 60;
constexpr uint64_t kStatBlock = 512;  // the unit of st_blocks

timespec ToTimespec(int64_t ns) {
  const int64_t seconds = ns >= 0 ? ns / 1'000'000'000 : -((-ns + 999'999'999) / 1'000'000'000);
  return {seconds, ns - seconds * 1'000'000'000};
}

void SetOwner(struct stat* attr, mode_t type, const Ownership& owner) {
  attr->st_mode = type | owner.mode;
  attr->st_uid = owner.uid;
  attr->st_gid = owner.gid;
  attr->st_blksize = kBlockBytes;
}

void SetTimes(struct stat* attr, int64_t mtime_ns, int64_t atime_ns) {
  attr->st_mtim = ToTimespec(mtime_ns);
  attr->st_ctim = attr->st_mtim;
  attr->st_atim = ToTimespec(atime_ns);
}

}  // namespace

Node::State& NodeOf(fuse_req_t req) { return *static_cast<Node::State*>(fuse_req_userdata(req)); }

uint32_t TidOf(fuse_req_t req) { return static_cast<uint32_t>(fuse_req_ctx(req)->pid); }

Ownership OwnerOf(fuse_req_t req, mode_t mode) {
  const fuse_ctx* caller = fuse_req_ctx(req);
  return {caller->uid, caller->gid, static_cast<uint16_t>(mode & 07777)};
}

FileHandle* HandleOf(const fuse_file_info* fi) { return reinterpret_cast<FileHandle*>(fi->fh); }

void ReplyStatus(fuse_req_t req, const Status& status) {
  fuse_reply_err(req, status.ok() ? 0 : ToErrno(status.code()));
}

double KernelTimeout(const Node::State& node) { return static_cast<double>(node.options.attr_timeout_ms) / 1000; }

double EntryTimeout(const Node::State& node) {
  return KernelTimeout(node) * (node.cluster == nullptr ? kEntryTimeoutFactor : 1);
}

struct stat DirStat(const DirInfo& dir) {
  struct stat attr{};
  SetOwner(&attr, S_IFDIR, dir.owner);
  SetTimes(&attr, dir.mtime_ns, dir.mtime_ns);
  attr.st_ino = dir.id.value;
  attr.st_nlink = 2 + dir.directories;
  attr.st_size = static_cast<off_t>(dir.entries);
  return attr;
}

struct stat PageStat(const Node::State& node, const PageInfo& page) {
  struct stat attr{};
  const Result<PageUse> use = node.tier->Use(page.id);
  SetOwner(&attr, S_IFREG, page.owner);
  SetTimes(&attr, page.mtime_ns, use.ok() && use->last_read_ns != 0 ? use->last_read_ns : page.mtime_ns);
  attr.st_ino = page.id.value;
  attr.st_nlink = 1;
  attr.st_size = static_cast<off_t>(page.bytes);
  uint64_t resident = use.ok() ? use->resident_bytes : 0;
  if (!use.ok() && node.tiering->OnSsd(page.id)) resident = BlocksFor(page.bytes) * kBlockBytes;
  attr.st_blocks = static_cast<blkcnt_t>(page.bytes == 0 ? 0 : std::max<uint64_t>(resident / kStatBlock, 1));
  return attr;
}

struct stat DraftStatLocked(const DraftTable::File& file) {
  struct stat attr{};
  const uint64_t bytes = file->BytesLocked();
  SetOwner(&attr, S_IFREG, file->owner);
  SetTimes(&attr, file->mtime_ns, file->mtime_ns);
  attr.st_ino = file->node_id;
  attr.st_nlink = file->linked ? 1 : 0;
  attr.st_size = static_cast<off_t>(bytes);
  const uint64_t allocated = file->draft ? file->draft->allocated_bytes() : BlocksFor(bytes) * kBlockBytes;
  attr.st_blocks = static_cast<blkcnt_t>(allocated / kStatBlock);
  return attr;
}

struct stat VirtualStat(const Node::State& node, uint64_t node_id) {
  struct stat attr{};
  const bool directory = node_id == kVirtualDirNode;
  SetOwner(&attr, directory ? S_IFDIR : S_IFREG, {0, 0, static_cast<uint16_t>(directory ? 0555 : 0444)});
  SetTimes(&attr, node.start_wall_ns, node.start_wall_ns);
  attr.st_ino = node_id;
  attr.st_nlink = directory ? 2 : 1;
  return attr;
}

fuse_entry_param PageEntry(Node::State& node, const PageInfo& page) {
  fuse_entry_param entry{};
  const PageId alias = node.drafts.NeedsAlias(page.id) ? node.meta->NewPageId() : PageId{};
  entry.ino = node.drafts.PublicNode(page.id, alias);
  entry.generation = 1;
  entry.attr = PageStat(node, page);
  entry.attr_timeout = KernelTimeout(node);
  entry.entry_timeout = EntryTimeout(node);
  return entry;
}

fuse_entry_param DirEntry(const Node::State& node, const DirInfo& dir) {
  fuse_entry_param entry{};
  entry.ino = dir.id.value;
  entry.generation = 1;
  entry.attr = DirStat(dir);
  entry.attr_timeout = KernelTimeout(node);
  entry.entry_timeout = EntryTimeout(node);
  return entry;
}

fuse_entry_param DraftEntry(const DraftTable::File& file) {
  fuse_entry_param entry{};
  MutexLock lock(file->mutex);
  entry.ino = file->node_id;
  entry.generation = 1;
  entry.attr = DraftStatLocked(file);
  return entry;
}

void ReplyLookAgain(fuse_req_t req, RetryTable::Purpose purpose) {
  Node::State& node = NodeOf(req);
  node.counters.Add(Counter::kStaleRetries);
  const bool again = node.retries.Expect(TidOf(req), purpose, node.clock.MonotonicNs());
  ReplyError(req, again ? ErrorCode::kStale : ErrorCode::kNotFound);
}

}  // namespace kvpagefs
