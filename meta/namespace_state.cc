#include "meta/namespace_state.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace kvpagefs {

NamespaceState::NamespaceState(Journal* journal_to_tell, const Ownership& root_owner, int64_t now_ns)
    : journal(journal_to_tell) {
  const uint32_t slot = TakeSlot();
  assert(slot == kRootSlot);
  Entry* root = NewEntry(slot, {}, kRootDir.value);
  root->is_directory = 1;
  root->checksum_or_slot = slot;
  root->mtime_ns = now_ns;
  root->owner = owners.Acquire(root_owner, root->id);
  dirs[slot].entry = root;
  ids.Insert(root);
  stats.directories = 1;
}

NamespaceState::~NamespaceState() {
  ids.ForEach([](Entry* entry) { FreeEntry(entry); });
}

Result<uint32_t> NamespaceState::ParentOf(const NameView& name) const {
  if (name.name.size() > kMaxNameBytes) return ErrorCode::kNameTooLong;
  const Entry* parent = ids.Find(name.parent.value);
  if (parent == nullptr) return ErrorCode::kNotFound;
  if (!parent->is_directory) return ErrorCode::kNotDirectory;
  return parent->slot();
}

Result<uint32_t> NamespaceState::ParentForNew(const NameView& name) const {
  const std::string_view text = name.name;
  if (text.empty() || text == "." || text == ".." || text.find('/') != std::string_view::npos ||
      text.find('\0') != std::string_view::npos) {
    return ErrorCode::kInvalid;
  }
  return ParentOf(name);
}

Entry* NamespaceState::FindPageEntry(PageId id) const {
  Entry* entry = ids.Find(id.value);
  return entry != nullptr && !entry->is_directory ? entry : nullptr;
}

Entry* NamespaceState::FindDirEntry(DirId id) const {
  Entry* entry = ids.Find(id.value);
  return entry != nullptr && entry->is_directory ? entry : nullptr;
}

PageInfo NamespaceState::PageOf(const Entry& entry) const {
  assert(!entry.is_directory);
  return {.id = PageId{entry.id},
          .bytes = entry.bytes(),
          .checksum = entry.checksum_or_slot,
          .mtime_ns = entry.mtime_ns,
          .owner = owners.Get(entry.owner, entry.id),
          .pin = static_cast<Pin>(entry.pin)};
}

DirInfo NamespaceState::DirOf(const Entry& entry) const {
  assert(entry.is_directory);
  const Dir& dir = dirs[entry.slot()];
  return {.id = DirId{entry.id},
          .parent = IdOf(entry.parent),
          .mtime_ns = entry.mtime_ns,
          .owner = owners.Get(entry.owner, entry.id),
          .entries = dir.order.size(),
          .directories = dir.directories};
}

NameRef NamespaceState::NameOf(const Entry& entry) const {
  return {IdOf(entry.parent), UnpackName(entry.packed_name())};
}

bool NamespaceState::IsWithin(uint32_t slot, uint32_t ancestor) const {
  while (slot != ancestor && slot != kRootSlot) slot = dirs[slot].entry->parent;
  return slot == ancestor;
}

Entry* NamespaceState::AddPage(uint32_t parent, std::string_view packed_name, PageId id) {
  Entry* entry = NewEntry(parent, packed_name, id.value);
  entry->owner = owners.Acquire({}, entry->id);
  Link(entry, dirs[parent].last_cursor + 1);
  return entry;
}

Entry* NamespaceState::AddDir(uint32_t parent, std::string_view packed_name, DirId id, uint32_t slot) {
  Entry* entry = NewEntry(parent, packed_name, id.value);
  entry->is_directory = 1;
  entry->checksum_or_slot = slot;
  entry->owner = owners.Acquire({}, entry->id);
  dirs[slot].entry = entry;
  Link(entry, dirs[parent].last_cursor + 1);
  return entry;
}

void NamespaceState::Link(Entry* entry, uint64_t cursor) {
  assert(cursor <= kSplitMax);
  Dir& dir = dirs[entry->parent];
  entry->set_cursor(cursor);
  names.Insert(entry);
  ids.Insert(entry);
  dir.order.insert(dir.order.end(), entry);
  dir.last_cursor = std::max(dir.last_cursor, cursor);
  if (entry->is_directory) ++dir.directories;
}

void NamespaceState::Unlink(Entry* entry) {
  Dir& dir = dirs[entry->parent];
  names.Erase(entry);
  ids.Erase(entry);
  const size_t erased = dir.order.erase(entry->cursor());
  assert(erased == 1);
  (void)erased;
  if (entry->is_directory) --dir.directories;
  owners.Release(entry->owner, entry->id);
  FreeEntry(entry);
}

void NamespaceState::ChangeId(Entry* entry, uint64_t id) {
  const Ownership owner = owners.Get(entry->owner, entry->id);
  owners.Release(entry->owner, entry->id);
  ids.Erase(entry);
  entry->id = id;
  ids.Insert(entry);
  entry->owner = owners.Acquire(owner, id);
}

void NamespaceState::SetPageFacts(Entry* entry, const PageInfo& page) {
  assert(!entry->is_directory && page.bytes <= kSplitMax);
  stats.page_bytes += page.bytes - entry->bytes();
  entry->set_bytes(page.bytes);
  entry->checksum_or_slot = page.checksum;
  entry->mtime_ns = page.mtime_ns;
  entry->pin = static_cast<uint16_t>(page.pin) & 3;
  SetOwner(entry, page.owner);
}

void NamespaceState::SetOwner(Entry* entry, const Ownership& owner) {
  owners.Release(entry->owner, entry->id);
  entry->owner = owners.Acquire(owner, entry->id);
}

uint32_t NamespaceState::TakeSlot() {
  if (!free_slots.empty()) {
    const uint32_t slot = free_slots.back();
    free_slots.pop_back();
    return slot;
  }
  assert(dirs.size() < UINT32_MAX);
  dirs.emplace_back();
  return static_cast<uint32_t>(dirs.size() - 1);
}

void NamespaceState::FreeSlot(uint32_t slot) {
  assert(slot != kRootSlot && dirs[slot].order.empty());
  dirs[slot] = Dir{};
  free_slots.push_back(slot);
}

void NamespaceState::PutXattrsOf(Entry* entry, const Xattrs& value) {
  const uint64_t id = entry->id;
  if (value.empty() && !entry->has_xattrs) return;
  if (value.empty()) {
    xattrs.erase(id);
  } else {
    xattrs[id] = value;
  }
  entry->has_xattrs = value.empty() ? 0 : 1;
  TellXattrs(*entry);
}

void NamespaceState::ErasePage(Entry* entry, int64_t now_ns) {
  const uint32_t parent = entry->parent;
  PutXattrsOf(entry, {});
  TellRemoved(*entry);
  --stats.pages;
  stats.page_bytes -= entry->bytes();
  Unlink(entry);
  Touch(parent, now_ns);
}

void NamespaceState::Touch(uint32_t slot, int64_t now_ns) {
  Entry* entry = dirs[slot].entry;
  entry->mtime_ns = now_ns;
  TellDir(*entry);
}

void NamespaceState::TellPage(Journal* sink, const Entry& entry) const {
  if (sink == nullptr) return;
  const NameRef name = NameOf(entry);
  sink->PutPage({name.parent, name.name}, PageOf(entry), entry.cursor());
}

void NamespaceState::TellDir(Journal* sink, const Entry& entry) const {
  if (sink == nullptr) return;
  const NameRef name = NameOf(entry);
  sink->PutDir({name.parent, name.name}, DirOf(entry), entry.cursor());
}

void NamespaceState::TellRemoved(const Entry& entry) {
  if (journal == nullptr) return;
  if (entry.is_directory) {
    journal->RemoveDir(IdOf(entry.parent), entry.cursor());
  } else {
    journal->RemovePage(IdOf(entry.parent), entry.cursor());
  }
}

void NamespaceState::TellXattrs(const Entry& entry) {
  if (journal == nullptr) return;
  const auto found = xattrs.find(entry.id);
  journal->PutXattrs(entry.id, found == xattrs.end() ? Xattrs{} : found->second);
}

void NamespaceState::ReserveDirIds() {
  if (next_dir_id + kDirIdBlock / 2 < reserved_dir_ids) return;
  reserved_dir_ids = next_dir_id + kDirIdBlock;
  if (journal != nullptr) journal->ReserveIds(reserved_dir_ids);
}

void ApplyChange(const AttributeChange& change, Ownership* owner, int64_t* mtime_ns) {
  if (change.set_mode) owner->mode = change.owner.mode;
  if (change.set_uid) owner->uid = change.owner.uid;
  if (change.set_gid) owner->gid = change.owner.gid;
  if (change.set_mtime) *mtime_ns = change.mtime_ns;
}

}  // namespace kvpagefs
