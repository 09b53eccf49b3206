#include "meta/namespace.h"
#include "meta/namespace_state.h"

namespace kvpagefs {

Result<DirInfo> Namespace::MakeDir(NameView name, const Ownership& owner, int64_t now_ns) {
  const Result<uint32_t> parent = state_->ParentForNew(name);
  if (!parent) return parent.error();
  const PackedName packed(name.name);
  if (state_->Find(*parent, packed) != nullptr) return ErrorCode::kExists;
  state_->ReserveDirIds();
  Entry* entry = state_->AddDir(*parent, packed.view(), DirId{state_->next_dir_id++}, state_->TakeSlot());
  entry->mtime_ns = now_ns;
  state_->SetOwner(entry, owner);
  ++state_->stats.directories;
  state_->TellDir(*entry);
  state_->Touch(*parent, now_ns);
  state_->Commit();
  return state_->DirOf(*entry);
}

Status Namespace::RemoveDir(NameView name, int64_t now_ns) {
  const Result<uint32_t> parent = state_->ParentOf(name);
  if (!parent) return parent.error();
  Entry* entry = state_->Find(*parent, PackedName(name.name));
  if (entry == nullptr) return ErrorCode::kNotFound;
  if (!entry->is_directory) return ErrorCode::kNotDirectory;
  const uint32_t slot = entry->slot();
  if (!state_->dirs[slot].order.empty()) return ErrorCode::kNotEmpty;
  state_->PutXattrsOf(entry, {});
  state_->TellRemoved(*entry);
  state_->Unlink(entry);
  state_->FreeSlot(slot);
  --state_->stats.directories;
  state_->Touch(*parent, now_ns);
  state_->Commit();
  return {};
}

}  // namespace kvpagefs
