// How pages get names and lose them.

#include <algorithm>
#include <cassert>

#include "meta/namespace.h"
#include "meta/namespace_state.h"

namespace kvpagefs {
namespace {

bool SameContent(const Entry& entry, const PageInfo& page) {
  return entry.bytes() == page.bytes && entry.checksum_or_slot == page.checksum;
}

Result<Namespace::Outcome> PublishNew(NamespaceState* state, Entry* entry, const PageInfo& page, const Xattrs& xattrs) {
  state->SetPageFacts(entry, page);
  state->PutXattrsOf(entry, xattrs);
  state->TellPage(*entry);
  ++state->stats.pages;
  const Entry& dir = *state->dirs[entry->parent].entry;
  if (dir.mtime_ns < page.mtime_ns) state->Touch(entry->parent, page.mtime_ns);
  return Namespace::Outcome{.page = state->PageOf(*entry), .dropped = std::nullopt, .replaced = false};
}

Result<Namespace::Outcome> PublishOver(NamespaceState* state, Entry* entry, const PageInfo& page,
                                       const Xattrs& xattrs) {
  Namespace::Outcome outcome;
  outcome.replaced = true;
  if (SameContent(*entry, page)) {
    if (entry->id != page.id.value) outcome.dropped = page.id;
  } else {
    outcome.dropped = PageId{entry->id};
    state->PutXattrsOf(entry, {});
    state->ChangeId(entry, page.id.value);
  }
  state->SetPageFacts(entry, page);
  state->PutXattrsOf(entry, xattrs);
  state->TellPage(*entry);
  outcome.page = state->PageOf(*entry);
  return outcome;
}

}  // namespace

Result<Namespace::Outcome> Namespace::Publish(NameView name, const PageInfo& page, const Xattrs& xattrs,
                                              bool exclusive) {
  assert(page.id.valid());
  if (page.bytes > kSplitMax) return ErrorCode::kInvalid;
  if (!XattrsFit(xattrs)) return ErrorCode::kTooBigAttribute;
  const Result<uint32_t> parent = state_->ParentForNew(name);
  if (!parent) return parent.error();
  const PackedName packed(name.name);
  Entry* entry = state_->Find(*parent, packed);
  if (entry != nullptr && exclusive) return ErrorCode::kExists;
  if (entry != nullptr && entry->is_directory) return ErrorCode::kIsDirectory;
  const Entry* known = state_->ids.Find(page.id.value);
  if (known != nullptr && (known != entry || !SameContent(*entry, page))) return ErrorCode::kInvalid;

  const bool is_new = entry == nullptr;
  if (is_new) entry = state_->AddPage(*parent, packed.view(), page.id);
  auto outcome =
      is_new ? PublishNew(state_.get(), entry, page, xattrs) : PublishOver(state_.get(), entry, page, xattrs);
  state_->Commit();
  return outcome;
}

Result<PageInfo> Namespace::Unlink(NameView name, int64_t now_ns) {
  const Result<uint32_t> parent = state_->ParentOf(name);
  if (!parent) return parent.error();
  Entry* entry = state_->Find(*parent, PackedName(name.name));
  if (entry == nullptr) return ErrorCode::kNotFound;
  if (entry->is_directory) return ErrorCode::kIsDirectory;
  const PageInfo page = state_->PageOf(*entry);
  state_->ErasePage(entry, now_ns);
  state_->Commit();
  return page;
}

std::optional<NameRef> Namespace::DropPage(PageId id, int64_t now_ns) {
  Entry* entry = state_->FindPageEntry(id);
  if (entry == nullptr) return std::nullopt;
  NameRef name = state_->NameOf(*entry);
  state_->ErasePage(entry, now_ns);
  state_->Commit();
  return name;
}

}  // namespace kvpagefs
