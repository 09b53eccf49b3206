#include "meta/namespace.h"
#include "meta/namespace_state.h"

namespace kvpagefs {

Namespace::Namespace(Journal* journal, const Ownership& root_owner, int64_t now_ns)
    : state_(std::make_unique<NamespaceState>(journal, root_owner, now_ns)) {}

Namespace::~Namespace() = default;

Result<EntryInfo> Namespace::Lookup(NameView name) const {
  const Result<uint32_t> parent = state_->ParentOf(name);
  if (!parent) return parent.error();
  const Entry* entry = state_->Find(*parent, PackedName(name.name));
  if (entry == nullptr) return ErrorCode::kNotFound;
  if (entry->is_directory) return EntryInfo(state_->DirOf(*entry));
  return EntryInfo(state_->PageOf(*entry));
}

std::optional<PageInfo> Namespace::FindPage(PageId id) const {
  const Entry* entry = state_->FindPageEntry(id);
  if (entry == nullptr) return std::nullopt;
  return state_->PageOf(*entry);
}

std::optional<DirInfo> Namespace::FindDir(DirId id) const {
  const Entry* entry = state_->FindDirEntry(id);
  if (entry == nullptr) return std::nullopt;
  return state_->DirOf(*entry);
}

std::optional<NameRef> Namespace::NameOfPage(PageId id) const {
  const Entry* entry = state_->FindPageEntry(id);
  if (entry == nullptr) return std::nullopt;
  return state_->NameOf(*entry);
}

std::optional<NameRef> Namespace::NameOfDir(DirId id) const {
  const Entry* entry = state_->FindDirEntry(id);
  if (entry == nullptr || id == kRootDir) return std::nullopt;
  return state_->NameOf(*entry);
}

NamespaceStats Namespace::GetStats() const { return state_->stats; }

}  // namespace kvpagefs
