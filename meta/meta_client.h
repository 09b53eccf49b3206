// How a node daemon talks to the metadata service, embedded or remote. Every call starts an operation; `done` runs
// exactly once, on any thread, possibly before the call returns, never with a lock of the service held. Names in
// arguments are copied before the call returns.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "meta/namespace.h"
#include "meta/types.h"

namespace kvpagefs {

template <class T>
using Completion = std::function<void(Result<T>)>;

class MetaClient {
 public:
  virtual ~MetaClient() = default;

  // Meanings and errors are those of Namespace.
  virtual void Lookup(NameView name, Completion<EntryInfo> done) = 0;
  virtual void FindPage(PageId id, Completion<PageInfo> done) = 0;  // kNotFound
  virtual void FindDir(DirId id, Completion<DirInfo> done) = 0;     // kNotFound
  virtual void NameOf(PageId id, Completion<NameRef> done) = 0;     // kNotFound
  virtual void Publish(NameView name, const PageInfo& page, const Xattrs& xattrs, bool exclusive,
                       Completion<Namespace::Outcome> done) = 0;
  virtual void Rename(NameView from, NameView to, Namespace::RenameMode mode, Completion<Namespace::Outcome> done) = 0;
  virtual void Unlink(NameView name, Completion<PageInfo> done) = 0;
  virtual void MakeDir(NameView name, const Ownership& owner, Completion<DirInfo> done) = 0;
  virtual void RemoveDir(NameView name, Completion<void> done) = 0;
  virtual void ChangePage(PageId id, const AttributeChange& change, Completion<PageInfo> done) = 0;
  virtual void ChangeDir(DirId id, const AttributeChange& change, Completion<DirInfo> done) = 0;
  virtual void SetPin(PageId id, Pin pin, Completion<void> done) = 0;
  virtual void SetXattr(uint64_t id, std::string_view key, std::string_view value, Namespace::XattrMode mode,
                        Completion<void> done) = 0;
  virtual void GetXattr(uint64_t id, std::string_view key, Completion<std::string> done) = 0;
  virtual void RemoveXattr(uint64_t id, std::string_view key, Completion<void> done) = 0;
  virtual void GetXattrs(uint64_t id, Completion<Xattrs> done) = 0;
  virtual void List(DirId dir, uint64_t cursor, size_t max_entries, size_t max_bytes,
                    Completion<std::vector<ListedEntry>> done) = 0;

  // These pages have left this node; names without another copy go. `done` gets the names that went.
  virtual void DropPages(std::span<const PageId> pages, Completion<std::vector<NameRef>> done) = 0;

  virtual void Describe(PageId id, Completion<PageDescription> done) = 0;  // kNotFound
  virtual void Announce(const PageDescription& described, Completion<Namespace::Outcome> done) = 0;

  // Answers when everything that happened before the call survives a crash of the service, or with kUnavailable and the
  // reason; within 10 s or so.
  virtual void Sync(Completion<void> done) = 0;

  // Cheap, local, never wait.
  virtual NamespaceStats GetStats() const = 0;
  // Empty while changes are kept as they should; else why not (shown in status).
  virtual std::string Problem() const = 0;
  // A page id that was never used before, also not before a restart.
  virtual PageId NewPageId() = 0;
};

}  // namespace kvpagefs
