// Attributes of pages and directories that have names.

#include "meta/namespace.h"
#include "meta/namespace_state.h"

namespace kvpagefs {

Result<PageInfo> Namespace::ChangePage(PageId id, const AttributeChange& change) {
  Entry* entry = state_->FindPageEntry(id);
  if (entry == nullptr) return ErrorCode::kNotFound;
  PageInfo page = state_->PageOf(*entry);
  ApplyChange(change, &page.owner, &page.mtime_ns);
  state_->SetPageFacts(entry, page);
  state_->TellPage(*entry);
  state_->Commit();
  return page;
}

Result<DirInfo> Namespace::ChangeDir(DirId id, const AttributeChange& change) {
  Entry* entry = state_->FindDirEntry(id);
  if (entry == nullptr) return ErrorCode::kNotFound;
  DirInfo dir = state_->DirOf(*entry);
  ApplyChange(change, &dir.owner, &dir.mtime_ns);
  state_->SetOwner(entry, dir.owner);
  entry->mtime_ns = dir.mtime_ns;
  state_->TellDir(*entry);
  state_->Commit();
  return dir;
}

Status Namespace::SetPin(PageId id, Pin pin) {
  Entry* entry = state_->FindPageEntry(id);
  if (entry == nullptr) return ErrorCode::kNotFound;
  entry->pin = static_cast<uint16_t>(pin) & 3;
  state_->TellPage(*entry);
  state_->Commit();
  return {};
}

}  // namespace kvpagefs
