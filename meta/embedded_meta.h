// The metadata service inside the node daemon (standalone): a Namespace under one mutex, persisted in LMDB when a state
// directory is given. Completions run in the caller, after the mutex is released.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "meta/meta_client.h"

namespace kvpagefs {

class EmbeddedMeta final : public MetaClient {
 public:
  struct Options {
    std::string state_dir;  // empty: nothing is persisted
    Ownership root_owner;   // of a new root
    uint16_t node = 1;
    // Called at start for every restored page: true keeps its name (some tier still has its bytes), false drops it.
    std::function<bool(const PageInfo&)> has_page;
  };

  // kInvalid, kNotPermitted, kUnavailable: the text names --state-dir, its value and the remedy (not a directory, no
  // permission, in use by process N, not a kvpagefs state directory, newer format, damaged). Logs what was restored and
  // dropped.
  static Result<std::unique_ptr<EmbeddedMeta>> Open(const Options& options, const Clock* clock, Log log);
  // Writes what is still behind.
  ~EmbeddedMeta() override;

  void Lookup(NameView name, Completion<EntryInfo> done) override;
  void FindPage(PageId id, Completion<PageInfo> done) override;
  void FindDir(DirId id, Completion<DirInfo> done) override;
  void NameOf(PageId id, Completion<NameRef> done) override;
  void NameOfDir(DirId id, Completion<NameRef> done);  // kNotFound, also for the root
  void Publish(NameView name, const PageInfo& page, const Xattrs& xattrs, bool exclusive,
               Completion<Namespace::Outcome> done) override;
  void Rename(NameView from, NameView to, Namespace::RenameMode mode, Completion<Namespace::Outcome> done) override;
  void Unlink(NameView name, Completion<PageInfo> done) override;
  void MakeDir(NameView name, const Ownership& owner, Completion<DirInfo> done) override;
  void RemoveDir(NameView name, Completion<void> done) override;
  void ChangePage(PageId id, const AttributeChange& change, Completion<PageInfo> done) override;
  void ChangeDir(DirId id, const AttributeChange& change, Completion<DirInfo> done) override;
  void SetPin(PageId id, Pin pin, Completion<void> done) override;
  void SetXattr(uint64_t id, std::string_view key, std::string_view value, Namespace::XattrMode mode,
                Completion<void> done) override;
  void GetXattr(uint64_t id, std::string_view key, Completion<std::string> done) override;
  void RemoveXattr(uint64_t id, std::string_view key, Completion<void> done) override;
  void GetXattrs(uint64_t id, Completion<Xattrs> done) override;
  void List(DirId dir, uint64_t cursor, size_t max_entries, size_t max_bytes,
            Completion<std::vector<ListedEntry>> done) override;
  void DropPages(std::span<const PageId> pages, Completion<std::vector<NameRef>> done) override;
  void Describe(PageId id, Completion<PageDescription> done) override;
  void Announce(const PageDescription& described, Completion<Namespace::Outcome> done) override;
  // At once without a state directory, else from a thread of its own.
  void Sync(Completion<void> done) override;
  NamespaceStats GetStats() const override;
  // The service goes on from memory.
  std::string Problem() const override;
  PageId NewPageId() override;

  // Every page, in steps of about `max_entries` names between which the namespace may change; `visit` is called with
  // the service's lock held. True when that was all.
  bool WalkPages(Namespace::WalkPosition* position, size_t max_entries,
                 const std::function<void(const PageInfo&)>& visit) const;

 private:
  struct State;
  explicit EmbeddedMeta(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace kvpagefs
