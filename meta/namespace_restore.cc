#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "meta/namespace.h"
#include "meta/namespace_state.h"

namespace kvpagefs {
namespace {

Error Misfit(const NameView& name, uint64_t id, const std::string& why) {
  return {ErrorCode::kInvalid, "record of \"" + std::string(name.name) + "\" in directory " +
                                   std::to_string(name.parent.value) + " (id " + std::to_string(id) + "): " + why};
}

// Whether a record with this name, id and cursor can be added to what is there.
Status CheckNew(const NamespaceState& state, const NameView& name, uint64_t id, uint64_t cursor) {
  const Result<uint32_t> parent = state.ParentForNew(name);
  if (!parent) return Misfit(name, id, "its parent or name: " + parent.error().Describe());
  if (state.ids.Find(id) != nullptr) return Misfit(name, id, "this id has a name already");
  if (state.Find(*parent, PackedName(name.name)) != nullptr) return Misfit(name, id, "the name is taken");
  if (cursor == 0 || cursor > kSplitMax) return Misfit(name, id, "cursor out of range");
  if (state.dirs[*parent].order.contains(cursor)) return Misfit(name, id, "the cursor is taken");
  return {};
}

Status LinkDir(NamespaceState* state, const NameView& name, const DirInfo& dir, uint64_t cursor) {
  if (Status fits = CheckNew(*state, name, dir.id.value, cursor); !fits) return fits;
  const uint32_t slot = state->TakeSlot();
  Entry* entry = NewEntry(state->FindDirEntry(name.parent)->slot(), PackedName(name.name).view(), dir.id.value);
  entry->is_directory = 1;
  entry->checksum_or_slot = slot;
  entry->mtime_ns = dir.mtime_ns;
  entry->owner = state->owners.Acquire(dir.owner, entry->id);
  state->dirs[slot].entry = entry;
  state->Link(entry, cursor);
  ++state->stats.directories;
  state->next_dir_id = std::max(state->next_dir_id, dir.id.value + 1);
  return {};
}

// Those that waited for `id`, and those that waited for them. The first misfit is reported, the rest goes on.
Status LinkWaiting(NamespaceState* state, uint64_t id) {
  Status first;
  std::vector<uint64_t> known = {id};
  while (!known.empty()) {
    const auto found = state->waiting.find(known.back());
    known.pop_back();
    if (found == state->waiting.end()) continue;
    const std::vector<WaitingDir> children = std::move(found->second);
    state->waiting.erase(found);
    for (const WaitingDir& child : children) {
      Status linked = LinkDir(state, {child.dir.parent, child.name}, child.dir, child.cursor);
      if (linked) {
        known.push_back(child.dir.id.value);
      } else if (first.ok()) {
        first = std::move(linked);
      }
    }
  }
  return first;
}

}  // namespace

Status Namespace::RestoreDir(NameView name, const DirInfo& dir, uint64_t cursor) {
  if (!dir.id.valid()) return Misfit(name, dir.id.value, "not a directory's id");
  if (dir.id == kRootDir) {
    if (name.parent != kRootDir || !name.name.empty() || cursor != 0) return Misfit(name, 1, "the root has no name");
    Entry* root = state_->dirs[kRootSlot].entry;
    root->mtime_ns = dir.mtime_ns;
    state_->SetOwner(root, dir.owner);
    return {};
  }
  if (dir.id.value < kFirstFreeDirId) return Misfit(name, dir.id.value, "a reserved id");
  if (state_->ids.Find(name.parent.value) == nullptr) {
    DirInfo waiting = dir;
    waiting.parent = name.parent;
    state_->waiting[name.parent.value].push_back({std::string(name.name), waiting, cursor});
    return {};
  }
  if (Status linked = LinkDir(state_.get(), name, dir, cursor); !linked) return linked;
  return LinkWaiting(state_.get(), dir.id.value);
}

Status Namespace::RestorePage(NameView name, const PageInfo& page, uint64_t cursor) {
  if (!page.id.valid()) return Misfit(name, page.id.value, "not a page's id");
  if (page.bytes > kSplitMax || page.pin > Pin::kHard) return Misfit(name, page.id.value, "size or pin out of range");
  if (Status fits = CheckNew(*state_, name, page.id.value, cursor); !fits) return fits;
  Entry* entry = NewEntry(state_->FindDirEntry(name.parent)->slot(), PackedName(name.name).view(), page.id.value);
  entry->owner = state_->owners.Acquire(page.owner, entry->id);
  state_->Link(entry, cursor);
  state_->SetPageFacts(entry, page);
  ++state_->stats.pages;
  return {};
}

Status Namespace::RestoreXattrs(uint64_t id, const Xattrs& xattrs) {
  Entry* entry = state_->ids.Find(id);
  if (entry == nullptr || xattrs.empty() || !XattrsFit(xattrs)) return Misfit({}, id, "attributes of nothing");
  entry->has_xattrs = 1;
  state_->xattrs[id] = xattrs;
  return {};
}

Status Namespace::RestoreIds(uint64_t next_dir_id) {
  state_->next_dir_id = std::max(state_->next_dir_id, next_dir_id);
  state_->reserved_dir_ids = 0;
  state_->ReserveDirIds();
  state_->Commit();
  if (state_->waiting.empty()) return {};
  const auto waiting = std::move(state_->waiting);
  state_->waiting.clear();
  const WaitingDir& one = waiting.begin()->second.front();
  return Misfit({one.dir.parent, one.name}, one.dir.id.value, "its parent directory is missing");
}

}  // namespace kvpagefs
