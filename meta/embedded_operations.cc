// The operations of EmbeddedMeta.

#include "meta/embedded_state.h"

namespace kvpagefs {
namespace {

template <class T>
Result<T> OrNotFound(std::optional<T> value) {
  if (!value) return ErrorCode::kNotFound;
  return std::move(*value);
}

class PageVisitor final : public Journal {
 public:
  explicit PageVisitor(const std::function<void(const PageInfo&)>& visit) : visit_(visit) {}
  void PutPage(NameView /*name*/, const PageInfo& page, uint64_t /*cursor*/) override { visit_(page); }
  void PutDir(NameView /*name*/, const DirInfo& /*dir*/, uint64_t /*cursor*/) override {}
  void RemovePage(DirId /*parent*/, uint64_t /*cursor*/) override {}
  void RemoveDir(DirId /*parent*/, uint64_t /*cursor*/) override {}
  void PutXattrs(uint64_t /*id*/, const Xattrs& /*xattrs*/) override {}
  void ReserveIds(uint64_t /*next_dir_id*/) override {}
  void Commit() override {}

 private:
  const std::function<void(const PageInfo&)>& visit_;
};

}  // namespace

void EmbeddedMeta::Lookup(NameView name, Completion<EntryInfo> done) {
  state_->Answer<EntryInfo>(done, [&](Namespace& names) { return names.Lookup(name); });
}

void EmbeddedMeta::FindPage(PageId id, Completion<PageInfo> done) {
  state_->Answer<PageInfo>(done, [&](Namespace& names) { return OrNotFound(names.FindPage(id)); });
}

void EmbeddedMeta::FindDir(DirId id, Completion<DirInfo> done) {
  state_->Answer<DirInfo>(done, [&](Namespace& names) { return OrNotFound(names.FindDir(id)); });
}

void EmbeddedMeta::NameOf(PageId id, Completion<NameRef> done) {
  state_->Answer<NameRef>(done, [&](Namespace& names) { return OrNotFound(names.NameOfPage(id)); });
}

void EmbeddedMeta::NameOfDir(DirId id, Completion<NameRef> done) {
  state_->Answer<NameRef>(done, [&](Namespace& names) { return OrNotFound(names.NameOfDir(id)); });
}

void EmbeddedMeta::Publish(NameView name, const PageInfo& page, const Xattrs& xattrs, bool exclusive,
                           Completion<Namespace::Outcome> done) {
  state_->Answer<Namespace::Outcome>(done,
                                     [&](Namespace& names) { return names.Publish(name, page, xattrs, exclusive); });
}

void EmbeddedMeta::Rename(NameView from, NameView to, Namespace::RenameMode mode, Completion<Namespace::Outcome> done) {
  const int64_t now_ns = state_->Now();
  state_->Answer<Namespace::Outcome>(done, [&](Namespace& names) { return names.Rename(from, to, mode, now_ns); });
}

void EmbeddedMeta::Unlink(NameView name, Completion<PageInfo> done) {
  const int64_t now_ns = state_->Now();
  state_->Answer<PageInfo>(done, [&](Namespace& names) { return names.Unlink(name, now_ns); });
}

void EmbeddedMeta::MakeDir(NameView name, const Ownership& owner, Completion<DirInfo> done) {
  const int64_t now_ns = state_->Now();
  state_->Answer<DirInfo>(done, [&](Namespace& names) { return names.MakeDir(name, owner, now_ns); });
}

void EmbeddedMeta::RemoveDir(NameView name, Completion<void> done) {
  const int64_t now_ns = state_->Now();
  state_->Answer<void>(done, [&](Namespace& names) { return names.RemoveDir(name, now_ns); });
}

void EmbeddedMeta::ChangePage(PageId id, const AttributeChange& change, Completion<PageInfo> done) {
  state_->Answer<PageInfo>(done, [&](Namespace& names) { return names.ChangePage(id, change); });
}

void EmbeddedMeta::ChangeDir(DirId id, const AttributeChange& change, Completion<DirInfo> done) {
  state_->Answer<DirInfo>(done, [&](Namespace& names) { return names.ChangeDir(id, change); });
}

void EmbeddedMeta::SetPin(PageId id, Pin pin, Completion<void> done) {
  state_->Answer<void>(done, [&](Namespace& names) { return names.SetPin(id, pin); });
}

void EmbeddedMeta::SetXattr(uint64_t id, std::string_view key, std::string_view value, Namespace::XattrMode mode,
                            Completion<void> done) {
  state_->Answer<void>(done, [&](Namespace& names) { return names.SetXattr(id, key, value, mode); });
}

void EmbeddedMeta::GetXattr(uint64_t id, std::string_view key, Completion<std::string> done) {
  state_->Answer<std::string>(done, [&](Namespace& names) { return names.GetXattr(id, key); });
}

void EmbeddedMeta::RemoveXattr(uint64_t id, std::string_view key, Completion<void> done) {
  state_->Answer<void>(done, [&](Namespace& names) { return names.RemoveXattr(id, key); });
}

void EmbeddedMeta::GetXattrs(uint64_t id, Completion<Xattrs> done) {
  state_->Answer<Xattrs>(done, [&](Namespace& names) -> Result<Xattrs> { return names.GetXattrs(id); });
}

void EmbeddedMeta::List(DirId dir, uint64_t cursor, size_t max_entries, size_t max_bytes,
                        Completion<std::vector<ListedEntry>> done) {
  state_->Answer<std::vector<ListedEntry>>(
      done, [&](Namespace& names) { return names.List(dir, cursor, max_entries, max_bytes); });
}

void EmbeddedMeta::DropPages(std::span<const PageId> pages, Completion<std::vector<NameRef>> done) {
  const int64_t now_ns = state_->Now();
  state_->Answer<std::vector<NameRef>>(done, [&](Namespace& names) -> Result<std::vector<NameRef>> {
    std::vector<NameRef> dropped;
    for (const PageId page : pages) {
      if (auto name = names.DropPage(page, now_ns)) dropped.push_back(std::move(*name));
    }
    return dropped;
  });
}

void EmbeddedMeta::Describe(PageId id, Completion<PageDescription> done) {
  state_->Answer<PageDescription>(done, [&](Namespace& names) { return OrNotFound(names.Describe(id)); });
}

void EmbeddedMeta::Announce(const PageDescription& described, Completion<Namespace::Outcome> done) {
  const int64_t now_ns = state_->Now();
  state_->Answer<Namespace::Outcome>(done, [&](Namespace& names) { return names.Announce(described, now_ns); });
}

bool EmbeddedMeta::WalkPages(Namespace::WalkPosition* position, size_t max_entries,
                             const std::function<void(const PageInfo&)>& visit) const {
  PageVisitor visitor(visit);
  MutexLock lock(state_->mutex);
  return state_->names->Walk(position, max_entries, &visitor);
}

NamespaceStats EmbeddedMeta::GetStats() const {
  MutexLock lock(state_->mutex);
  return state_->names->GetStats();
}

}  // namespace kvpagefs
