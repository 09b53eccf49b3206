// The node's metadata service, with a say between its answer and what the node makes of it: races on purpose.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "meta/meta_client.h"

namespace kvpagefs {

class RacingMeta final : public MetaClient {
 public:
  explicit RacingMeta(std::unique_ptr<MetaClient> inner) : inner_(std::move(inner)) {}

  // Runs once, when the next look-up (of a name, of a page) has found something and before its caller hears of it. Set
  // while nothing is under way.
  void AfterLookup(std::function<void()> hook) { after_lookup_ = std::move(hook); }
  void AfterFindPage(std::function<void()> hook) { after_find_page_ = std::move(hook); }

  void Lookup(NameView name, Completion<EntryInfo> done) override {
    inner_->Lookup(name, [this, done = std::move(done)](const Result<EntryInfo>& found) {
      if (found.ok()) Run(&after_lookup_);
      done(found);
    });
  }
  void FindPage(PageId id, Completion<PageInfo> done) override {
    inner_->FindPage(id, [this, done = std::move(done)](const Result<PageInfo>& found) {
      if (found.ok()) Run(&after_find_page_);
      done(found);
    });
  }

  void FindDir(DirId id, Completion<DirInfo> done) override { inner_->FindDir(id, std::move(done)); }
  void NameOf(PageId id, Completion<NameRef> done) override { inner_->NameOf(id, std::move(done)); }
  void Publish(NameView name, const PageInfo& page, const Xattrs& xattrs, bool exclusive,
               Completion<Namespace::Outcome> done) override {
    inner_->Publish(name, page, xattrs, exclusive, std::move(done));
  }
  void Rename(NameView from, NameView to, Namespace::RenameMode mode, Completion<Namespace::Outcome> done) override {
    inner_->Rename(from, to, mode, std::move(done));
  }
  void Unlink(NameView name, Completion<PageInfo> done) override { inner_->Unlink(name, std::move(done)); }
  void MakeDir(NameView name, const Ownership& owner, Completion<DirInfo> done) override {
    inner_->MakeDir(name, owner, std::move(done));
  }
  void RemoveDir(NameView name, Completion<void> done) override { inner_->RemoveDir(name, std::move(done)); }
  void ChangePage(PageId id, const AttributeChange& change, Completion<PageInfo> done) override {
    inner_->ChangePage(id, change, std::move(done));
  }
  void ChangeDir(DirId id, const AttributeChange& change, Completion<DirInfo> done) override {
    inner_->ChangeDir(id, change, std::move(done));
  }
  void SetPin(PageId id, Pin pin, Completion<void> done) override { inner_->SetPin(id, pin, std::move(done)); }
  void SetXattr(uint64_t id, std::string_view key, std::string_view value, Namespace::XattrMode mode,
                Completion<void> done) override {
    inner_->SetXattr(id, key, value, mode, std::move(done));
  }
  void GetXattr(uint64_t id, std::string_view key, Completion<std::string> done) override {
    inner_->GetXattr(id, key, std::move(done));
  }
  void RemoveXattr(uint64_t id, std::string_view key, Completion<void> done) override {
    inner_->RemoveXattr(id, key, std::move(done));
  }
  void GetXattrs(uint64_t id, Completion<Xattrs> done) override { inner_->GetXattrs(id, std::move(done)); }
  void List(DirId dir, uint64_t cursor, size_t max_entries, size_t max_bytes,
            Completion<std::vector<ListedEntry>> done) override {
    inner_->List(dir, cursor, max_entries, max_bytes, std::move(done));
  }
  void DropPages(std::span<const PageId> pages, Completion<std::vector<NameRef>> done) override {
    inner_->DropPages(pages, std::move(done));
  }
  void Describe(PageId id, Completion<PageDescription> done) override { inner_->Describe(id, std::move(done)); }
  void Announce(const PageDescription& described, Completion<Namespace::Outcome> done) override {
    inner_->Announce(described, std::move(done));
  }
  void Sync(Completion<void> done) override { inner_->Sync(std::move(done)); }
  std::string Problem() const override { return inner_->Problem(); }
  NamespaceStats GetStats() const override { return inner_->GetStats(); }
  PageId NewPageId() override { return inner_->NewPageId(); }

 private:
  // The hook's own requests pass.
  static void Run(std::function<void()>* hook) {
    if (const std::function<void()> once = std::exchange(*hook, nullptr)) once();
  }

  const std::unique_ptr<MetaClient> inner_;
  std::function<void()> after_lookup_;
  std::function<void()> after_find_page_;
};

}  // namespace kvpagefs
