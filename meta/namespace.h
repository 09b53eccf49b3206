// The metadata core: names, directories, page facts and extended attributes. Pure: no I/O, no clock, no thread (the
// caller locks); time is handed in. The metadata daemon and a standalone node run the same core.
//
// Invariants:
//  N1 every directory but the root is an entry of exactly one directory; there are no cycles.
//  N2 a page id is an entry of exactly one directory, or unknown.
//  N3 an entry keeps its cursor as long as its name stays in its directory, also when its page is replaced; a new name
//     gets a cursor above all earlier ones of that directory. So a listing returns each name that is present
//     throughout exactly once, whatever is created and deleted meanwhile.
//  N4 ids are never used twice (the counters are part of what a Journal persists).
//
// Memory: at most 200 bytes a page at 100-byte names, tables and slack included (meta/namespace_memory_test). Tables
// are sharded, so that growing one never stalls the others for more than a millisecond.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "meta/types.h"

namespace kvpagefs {

struct NamespaceState;

// Told of every change, in order, before the call that made it returns. LmdbStore writes them behind. An entry is
// known by its directory and cursor; a put of the same two replaces what was there.
class Journal {
 public:
  virtual ~Journal() = default;
  virtual void PutPage(NameView name, const PageInfo& page, uint64_t cursor) = 0;
  virtual void PutDir(NameView name, const DirInfo& dir, uint64_t cursor) = 0;  // the root: empty name, cursor 0
  virtual void RemovePage(DirId parent, uint64_t cursor) = 0;
  virtual void RemoveDir(DirId parent, uint64_t cursor) = 0;
  virtual void PutXattrs(uint64_t id, const Xattrs& xattrs) = 0;  // empty: none left
  // Directory ids below this one may be in use from now on.
  virtual void ReserveIds(uint64_t next_dir_id) = 0;
  // What was told since the last Commit is one change: all or nothing.
  virtual void Commit() = 0;
};

class Namespace {
 public:
  // `journal` may be null and outlives the namespace. The root exists from the start, owned by `root_owner`.
  Namespace(Journal* journal, const Ownership& root_owner, int64_t now_ns);
  ~Namespace();

  // kNotFound (also when the parent is gone), kNameTooLong. kNotDirectory when the parent id is a page's.
  Result<EntryInfo> Lookup(NameView name) const;
  std::optional<PageInfo> FindPage(PageId id) const;
  std::optional<DirInfo> FindDir(DirId id) const;
  std::optional<NameRef> NameOfPage(PageId id) const;
  std::optional<NameRef> NameOfDir(DirId id) const;  // none for the root

  // What a publish or rename put aside.
  struct Outcome {
    PageInfo page;                  // what the name stands for afterwards
    std::optional<PageId> dropped;  // a page that no name stands for any more: its bytes can go
    bool replaced = false;          // the name was there before
  };

  // Makes `name` stand for the page. With `exclusive`: kExists when the name is taken. A page of equal content (bytes
  // and checksum) under that name keeps its id and gets the new times, owner, pin and xattrs; the new id is then the
  // dropped one. kIsDirectory when the name is a directory, kNotFound when the parent is gone, kNameTooLong. kInvalid
  // for what cannot be a name ("", ".", "..", with '/' or NUL) and for a page id that has another name or content. A
  // new name moves the time of its directory up to the page's.
  Result<Outcome> Publish(NameView name, const PageInfo& page, const Xattrs& xattrs, bool exclusive);

  enum class RenameMode : uint8_t { kReplace, kNoReplace };
  // As rename(2): kNotFound, kExists (kNoReplace), kIsDirectory, kNotDirectory, kNotEmpty, kInvalid (a directory into
  // itself). Renaming a name to itself is a success that changes nothing (with kNoReplace: kExists). A page over a page
  // of equal content is one page as with Publish. For a page Outcome.page is what stands under the new name; for a
  // directory Outcome.page is meaningless and has id 0.
  Result<Outcome> Rename(NameView from, NameView to, RenameMode mode, int64_t now_ns);

  Result<PageInfo> Unlink(NameView name, int64_t now_ns);                          // kNotFound, kIsDirectory
  Result<DirInfo> MakeDir(NameView name, const Ownership& owner, int64_t now_ns);  // kExists, kNotFound, kNameTooLong
  Status RemoveDir(NameView name, int64_t now_ns);  // kNotFound, kNotDirectory, kNotEmpty

  // The page is lost (evicted with no other copy): its name goes. Returns the name it had.
  std::optional<NameRef> DropPage(PageId id, int64_t now_ns);

  std::optional<PageDescription> Describe(PageId id) const;
  // A page that a node still has from an earlier run. A known id keeps the name and the facts that it has here. An
  // unknown one is published under its path; directories that are missing are made, owned by the page's owner. kExists
  // when the name stands for a page with a later id, kNotFound without a path, otherwise the errors of Publish.
  Result<Outcome> Announce(const PageDescription& described, int64_t now_ns);

  Result<PageInfo> ChangePage(PageId id, const AttributeChange& change);
  Result<DirInfo> ChangeDir(DirId id, const AttributeChange& change);
  Status SetPin(PageId id, Pin pin);

  // `id` is a page's or a directory's. kNotFound, kNoAttribute, kExists / kNoAttribute for XATTR_CREATE /
  // XATTR_REPLACE, kTooBigAttribute above kMaxXattrBytes.
  enum class XattrMode : uint8_t { kEither, kCreate, kReplace };
  Status SetXattr(uint64_t id, std::string_view key, std::string_view value, XattrMode mode);
  Result<std::string> GetXattr(uint64_t id, std::string_view key) const;
  Status RemoveXattr(uint64_t id, std::string_view key);
  Xattrs GetXattrs(uint64_t id) const;

  // Entries behind `cursor` (0: from the start) in cursor order, at most `max_entries` and about `max_bytes` of names;
  // fewer only at the end. Cursors are below 2^62. kNotFound when the directory is gone.
  Result<std::vector<ListedEntry>> List(DirId dir, uint64_t cursor, size_t max_entries, size_t max_bytes) const;

  NamespaceStats GetStats() const;

  // Restoring (LmdbStore), before anything else is done: directories in any order, then pages, then xattrs, then ids.
  // A directory whose parent is not known yet waits for it. kInvalid names a record that does not fit (unknown parent,
  // second name for one id, ...), which is then left out. Not told to the journal.
  Status RestoreDir(NameView name, const DirInfo& dir, uint64_t cursor);
  Status RestorePage(NameView name, const PageInfo& page, uint64_t cursor);
  Status RestoreXattrs(uint64_t id, const Xattrs& xattrs);
  // Ends the restoring; tells the journal of the ids that are reserved next. Directories that still wait (cycle, lost
  // parent) are left out: kInvalid names one.
  Status RestoreIds(uint64_t next_dir_id);

  // For a journal that must start over: tells `sink` of everything, in steps of about `max_entries` between which the
  // namespace may change. What changed meanwhile is told to the journal as always; an entry that a step has told is
  // as the journal knows it. True when that was all.
  struct WalkPosition {
    uint32_t slot = 0;
    uint64_t cursor = 0;
  };
  bool Walk(WalkPosition* position, size_t max_entries, Journal* sink) const;

 private:
  std::unique_ptr<NamespaceState> state_;
};

}  // namespace kvpagefs
