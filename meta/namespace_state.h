// Private to Namespace: its tables, and the steps that every operation is made of.
//
// An entry is in the name index, the id index and the order of its directory, or in none of them. The root has an
// entry too (empty name, slot 0) that is in the id index only.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "meta/entry.h"
#include "meta/entry_index.h"
#include "meta/namespace.h"
#include "meta/owner_table.h"

namespace kvpagefs {

inline constexpr uint32_t kRootSlot = 0;
// So many directory ids are reserved in the journal at a time, long before they are used up.
inline constexpr uint64_t kDirIdBlock = 1 << 16;

struct Dir {
  Entry* entry = nullptr;  // null: the slot is free
  CursorOrder order;
  uint64_t last_cursor = 0;
  uint32_t directories = 0;
};

// A restored directory whose parent is not known yet.
struct WaitingDir {
  std::string name;
  DirInfo dir;
  uint64_t cursor = 0;
};

struct NamespaceState {
  NamespaceState(Journal* journal_to_tell, const Ownership& root_owner, int64_t now_ns);
  ~NamespaceState();

  // kNotFound, kNotDirectory, kNameTooLong.
  Result<uint32_t> ParentOf(const NameView& name) const;
  // The same, and kInvalid for what cannot be a name of a new entry.
  Result<uint32_t> ParentForNew(const NameView& name) const;
  Entry* Find(uint32_t parent, const PackedName& name) const { return names.Find(NameKey{parent, name.view()}); }
  Entry* FindPageEntry(PageId id) const;
  Entry* FindDirEntry(DirId id) const;

  PageInfo PageOf(const Entry& entry) const;
  DirInfo DirOf(const Entry& entry) const;
  NameRef NameOf(const Entry& entry) const;
  DirId IdOf(uint32_t slot) const { return DirId{dirs[slot].entry->id}; }
  bool IsWithin(uint32_t slot, uint32_t ancestor) const;

  // A new entry behind all others of its directory, in all indexes. Its facts are set by the two calls below.
  Entry* AddPage(uint32_t parent, std::string_view packed_name, PageId id);
  Entry* AddDir(uint32_t parent, std::string_view packed_name, DirId id, uint32_t slot);
  // Gives the entry its place in the order and in the indexes.
  void Link(Entry* entry, uint64_t cursor);
  // Takes the entry out of everything and frees it. Xattrs, slots and statistics are the caller's.
  void Unlink(Entry* entry);
  void ChangeId(Entry* entry, uint64_t id);
  // All but the id.
  void SetPageFacts(Entry* entry, const PageInfo& page);
  void SetOwner(Entry* entry, const Ownership& owner);

  uint32_t TakeSlot();
  void FreeSlot(uint32_t slot);

  void PutXattrsOf(Entry* entry, const Xattrs& value);

  // A page's name goes, with all that belongs to it.
  void ErasePage(Entry* entry, int64_t now_ns);
  void Touch(uint32_t slot, int64_t now_ns);

  // Telling the journal. Nothing is built when there is none.
  void TellPage(const Entry& entry) { TellPage(journal, entry); }
  void TellDir(const Entry& entry) { TellDir(journal, entry); }
  void TellPage(Journal* sink, const Entry& entry) const;
  void TellDir(Journal* sink, const Entry& entry) const;
  void TellRemoved(const Entry& entry);
  void TellXattrs(const Entry& entry);
  void Commit() {
    if (journal != nullptr) journal->Commit();
  }
  void ReserveDirIds();

  Journal* const journal;
  NameIndex names;
  IdIndex ids;
  std::deque<Dir> dirs;  // by slot; a deque grows without moving
  std::vector<uint32_t> free_slots;
  OwnerTable owners;
  absl::btree_map<uint64_t, Xattrs> xattrs;
  NamespaceStats stats;
  uint64_t next_dir_id = kFirstFreeDirId;
  uint64_t reserved_dir_ids = 0;
  absl::flat_hash_map<uint64_t, std::vector<WaitingDir>> waiting;  // by parent
};

// Linux allows no longer names of attributes.
inline constexpr size_t kMaxXattrKeyBytes = 255;
bool XattrsFit(const Xattrs& xattrs);

// The facts of a page as `change` makes them.
void ApplyChange(const AttributeChange& change, Ownership* owner, int64_t* mtime_ns);

}  // namespace kvpagefs
