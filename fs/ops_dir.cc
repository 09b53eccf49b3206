#include <sys/stat.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "fs/ops.h"
#include "fs/virtual_files.h"

namespace kvpagefs {
namespace {

// Offsets: 1 and 2 behind "." and "..", then a name's cursor plus 2, then the caller's own unsealed files.
constexpr uint64_t kDotOffsets = 2;
constexpr uint64_t kDraftOffsets = uint64_t{1} << 62;
// What one name costs in a reply at the least: a header of 24 bytes and 8 of name.
constexpr size_t kMinEntryBytes = 32;
// A little more than fits is asked for, so that a reply is full.
constexpr size_t kMaxEntriesAsked = 8192;

// Collects one reply.
class Filler {
 public:
  Filler(fuse_req_t req, size_t size, bool plus) : req_(req), plus_(plus), buffer_(size) {}

  // False when it did not fit.
  bool Add(const std::string& name, const fuse_entry_param& entry, uint64_t next_offset) {
    char* at = buffer_.data() + used_;
    const size_t left = buffer_.size() - used_;
    const size_t need =
        plus_ ? fuse_add_direntry_plus(req_, at, left, name.c_str(), &entry, static_cast<off_t>(next_offset))
              : fuse_add_direntry(req_, at, left, name.c_str(), &entry.attr, static_cast<off_t>(next_offset));
    if (need > left) return false;
    used_ += need;
    return true;
  }
  bool plus() const { return plus_; }
  fuse_req_t req() const { return req_; }
  void Reply() { fuse_reply_buf(req_, buffer_.data(), used_); }

 private:
  fuse_req_t req_;
  bool plus_;
  std::vector<char> buffer_;
  size_t used_ = 0;
};

// Type and number only: the kernel makes no inode of it.
fuse_entry_param BareEntry(uint64_t id, bool directory) {
  fuse_entry_param entry{};
  entry.attr.st_ino = id;
  entry.attr.st_mode = directory ? S_IFDIR : S_IFREG;
  return entry;
}

bool AddDots(Filler& filler, uint64_t node_id, uint64_t* offset) {
  for (const char* name : {".", ".."}) {
    const uint64_t position = name[1] == '\0' ? 1 : 2;
    if (*offset >= position) continue;
    if (!filler.Add(name, BareEntry(node_id, true), position)) return false;
    *offset = position;
  }
  return true;
}

// The caller's own files that nobody else sees yet.
void AddDrafts(Node::State& node, Filler& filler, DirHandle* dir, uint64_t offset) {
  if (!dir->drafts_read) {
    dir->drafts_read = true;
    dir->drafts = node.drafts.ShownIn(DirId{dir->node_id}, TidOf(filler.req()));
  }
  for (size_t i = offset < kDraftOffsets ? 0 : offset - kDraftOffsets; i < dir->drafts.size(); ++i) {
    const DraftTable::File& file = dir->drafts[i];
    std::string name;
    {
      MutexLock lock(file->mutex);
      // One with a published page behind it is listed as that.
      if (file->follows.valid() || !file->linked) continue;
      name = file->name.name;
    }
    if (!filler.Add(name, BareEntry(file->node_id, false), kDraftOffsets + i + 1)) return;
  }
}

struct Listing {
  std::shared_ptr<Filler> filler;
  std::vector<ListedEntry> entries;
};

void FillFrom(const std::shared_ptr<Listing>& listing, size_t index);

// Adds entry `index` and goes on behind it.
void FillWith(const std::shared_ptr<Listing>& listing, size_t index, const fuse_entry_param& entry) {
  const ListedEntry& listed = listing->entries[index];
  if (!listing->filler->Add(listed.name, entry, listed.cursor + kDotOffsets)) return listing->filler->Reply();
  FillFrom(listing, index + 1);
}

// READDIRPLUS asks for each entry's attributes, so a reply's entries are so many nested completions at the most. Pages
// whose inode is still a writer's stay bare, as do names that went meanwhile.
void FillFrom(const std::shared_ptr<Listing>& listing, size_t index) {
  Filler& filler = *listing->filler;
  Node::State& node = NodeOf(filler.req());
  for (; index < listing->entries.size(); ++index) {
    const ListedEntry& listed = listing->entries[index];
    const fuse_entry_param bare = BareEntry(listed.id, listed.is_directory);
    if (filler.plus() && listed.is_directory) {
      return node.meta->FindDir(DirId{listed.id}, [listing, index, bare, &node](const Result<DirInfo>& dir) {
        FillWith(listing, index, dir.ok() ? DirEntry(node, *dir) : bare);
      });
    }
    if (filler.plus() && !node.drafts.NeedsAlias(PageId{listed.id})) {
      return node.meta->FindPage(PageId{listed.id}, [listing, index, bare, &node](const Result<PageInfo>& page) {
        FillWith(listing, index, page.ok() ? PageEntry(node, *page) : bare);
      });
    }
    if (!filler.Add(listed.name, bare, listed.cursor + kDotOffsets)) break;
  }
  filler.Reply();
}

void ReadVirtualDir(Filler& filler, uint64_t offset) {
  if (AddDots(filler, kVirtualDirNode, &offset)) {
    for (size_t i = offset - kDotOffsets; const VirtualFile* file = VirtualFileAt(i); ++i) {
      if (!filler.Add(std::string(file->name), BareEntry(file->node_id, false), kDotOffsets + i + 1)) break;
    }
  }
  filler.Reply();
}

void ReadDir(fuse_req_t req, size_t size, uint64_t offset, DirHandle* dir, bool plus) {
  Node::State& node = NodeOf(req);
  node.counters.Add(Counter::kDirectoryReads);
  auto filler = std::make_shared<Filler>(req, size, plus);
  if (IsVirtual(dir->node_id)) return ReadVirtualDir(*filler, offset);
  if (!AddDots(*filler, dir->node_id, &offset)) return filler->Reply();
  if (offset == kDotOffsets) dir->drafts_read = false;
  if (offset >= kDraftOffsets) {
    AddDrafts(node, *filler, dir, offset);
    return filler->Reply();
  }
  const size_t wanted = std::min(kMaxEntriesAsked, size / kMinEntryBytes + 1);
  node.meta->List(DirId{dir->node_id}, offset - kDotOffsets, wanted, size,
                  [req, filler, dir](Result<std::vector<ListedEntry>> entries) {
                    if (!entries.ok()) return ReplyError(req, entries.code());
                    if (entries->empty()) AddDrafts(NodeOf(req), *filler, dir, kDraftOffsets);
                    FillFrom(std::make_shared<Listing>(Listing{filler, std::move(*entries)}), 0);
                  });
}

DirHandle* DirHandleOf(const fuse_file_info* fi) { return reinterpret_cast<DirHandle*>(fi->fh); }

void ReplyDirOpened(fuse_req_t req, fuse_ino_t ino, fuse_file_info fi) {
  auto handle = std::make_unique<DirHandle>();
  handle->node_id = ino;
  fi.fh = reinterpret_cast<uint64_t>(handle.get());
  LiveHandles<DirHandle>& live = NodeOf(req).dir_handles;
  live.Add(handle.get());
  if (fuse_reply_open(req, &fi) == 0) {
    static_cast<void>(handle.release());  // the kernel's now
  } else {
    live.Remove(handle.get());
  }
}

}  // namespace

void OpOpendir(fuse_req_t req, fuse_ino_t ino, fuse_file_info* fi) {
  Node::State& node = NodeOf(req);
  if (IsVirtual(ino)) return ReplyDirOpened(req, ino, *fi);
  node.meta->FindDir(DirId{ino}, [req, ino, info = *fi](const Result<DirInfo>& dir) {
    if (!dir.ok()) return ReplyLookAgain(req);
    ReplyDirOpened(req, ino, info);
  });
}

void OpReaddir(fuse_req_t req, fuse_ino_t, size_t size, off_t offset, fuse_file_info* fi) {
  ReadDir(req, size, static_cast<uint64_t>(offset), DirHandleOf(fi), false);
}

void OpReaddirplus(fuse_req_t req, fuse_ino_t, size_t size, off_t offset, fuse_file_info* fi) {
  ReadDir(req, size, static_cast<uint64_t>(offset), DirHandleOf(fi), true);
}

void OpReleasedir(fuse_req_t req, fuse_ino_t, fuse_file_info* fi) {
  const std::unique_ptr<DirHandle> handle(DirHandleOf(fi));
  NodeOf(req).dir_handles.Remove(handle.get());
  fuse_reply_err(req, 0);
}

void OpFsyncdir(fuse_req_t req, fuse_ino_t, int, fuse_file_info*) {
  NodeOf(req).meta->Sync([req](const Status& names) {
    if (!names.ok()) return ReplyStatus(req, names);
    NodeOf(req).tiering->Sync([req](const Status& status) { ReplyStatus(req, status); });
  });
}

}  // namespace kvpagefs
