#include "meta/namespace.h"
#include "meta/namespace_state.h"

namespace kvpagefs {
namespace {

using Outcome = Namespace::Outcome;

// Everything of the source but its name: the entry that stood under the old name goes.
Outcome MovePage(NamespaceState* state, Entry* from, Entry* to) {
  const PageInfo moved = state->PageOf(*from);
  Xattrs xattrs;
  if (from->has_xattrs) xattrs = state->xattrs.find(from->id)->second;
  const bool equal = to->bytes() == moved.bytes && to->checksum_or_slot == moved.checksum;
  Outcome outcome;
  outcome.replaced = true;
  outcome.dropped = equal ? moved.id : PageId{to->id};

  state->PutXattrsOf(from, {});
  state->TellRemoved(*from);
  --state->stats.pages;
  state->stats.page_bytes -= from->bytes();
  state->Unlink(from);
  if (!equal) {
    state->PutXattrsOf(to, {});
    state->ChangeId(to, moved.id.value);
  }
  state->SetPageFacts(to, moved);
  state->PutXattrsOf(to, xattrs);
  state->TellPage(*to);
  outcome.page = state->PageOf(*to);
  return outcome;
}

// The target, an empty directory, keeps its name and cursor and becomes the source.
void MoveDirOver(NamespaceState* state, Entry* from, Entry* to) {
  const uint32_t slot = from->slot();
  const uint64_t id = from->id;
  const int64_t mtime_ns = from->mtime_ns;
  const Ownership owner = state->owners.Get(from->owner, from->id);
  const bool has_xattrs = from->has_xattrs;

  state->PutXattrsOf(to, {});
  state->FreeSlot(to->slot());
  --state->stats.directories;
  state->TellRemoved(*from);
  state->Unlink(from);
  state->ChangeId(to, id);
  state->SetOwner(to, owner);
  to->checksum_or_slot = slot;
  to->mtime_ns = mtime_ns;
  to->has_xattrs = has_xattrs ? 1 : 0;
  state->dirs[slot].entry = to;
  state->TellDir(*to);
}

// Under a name that was free: the same page or directory in a new entry, because names are part of entries.
Entry* MoveToNewName(NamespaceState* state, Entry* from, uint32_t parent, const PackedName& name) {
  Entry* to = NewEntry(parent, name.view(), from->id);
  to->checksum_or_slot = from->checksum_or_slot;
  to->mtime_ns = from->mtime_ns;
  to->set_bytes(from->bytes());
  to->is_directory = from->is_directory;
  to->pin = from->pin;
  to->has_xattrs = from->has_xattrs;
  const Ownership owner = state->owners.Get(from->owner, from->id);
  state->TellRemoved(*from);
  state->Unlink(from);
  to->owner = state->owners.Acquire(owner, to->id);
  state->Link(to, state->dirs[parent].last_cursor + 1);
  if (to->is_directory) {
    state->dirs[to->slot()].entry = to;
    state->TellDir(*to);
  } else {
    state->TellPage(*to);
  }
  return to;
}

Status CheckTarget(const NamespaceState& state, const Entry& from, const Entry& to) {
  if (!from.is_directory) return to.is_directory ? Status(ErrorCode::kIsDirectory) : Status();
  if (!to.is_directory) return ErrorCode::kNotDirectory;
  if (!state.dirs[to.slot()].order.empty()) return ErrorCode::kNotEmpty;
  return {};
}

}  // namespace

Result<Outcome> Namespace::Rename(NameView from, NameView to, RenameMode mode, int64_t now_ns) {
  const Result<uint32_t> from_parent = state_->ParentOf(from);
  if (!from_parent) return from_parent.error();
  const Result<uint32_t> to_parent = state_->ParentForNew(to);
  if (!to_parent) return to_parent.error();
  const PackedName to_name(to.name);
  Entry* source = state_->Find(*from_parent, PackedName(from.name));
  if (source == nullptr) return ErrorCode::kNotFound;
  Entry* target = state_->Find(*to_parent, to_name);
  if (target != nullptr && mode == RenameMode::kNoReplace) return ErrorCode::kExists;

  Outcome outcome;
  const bool is_directory = source->is_directory;
  if (source == target) {
    if (!is_directory) outcome.page = state_->PageOf(*source);
    outcome.replaced = true;
    return outcome;
  }
  if (is_directory && state_->IsWithin(*to_parent, source->slot())) return ErrorCode::kInvalid;
  if (target == nullptr) {
    const Entry* moved = MoveToNewName(state_.get(), source, *to_parent, to_name);
    if (!is_directory) outcome.page = state_->PageOf(*moved);
  } else {
    if (Status fits = CheckTarget(*state_, *source, *target); !fits) return fits.error();
    if (is_directory) {
      MoveDirOver(state_.get(), source, target);
      outcome.replaced = true;
    } else {
      outcome = MovePage(state_.get(), source, target);
    }
  }
  state_->Touch(*from_parent, now_ns);
  if (*to_parent != *from_parent) state_->Touch(*to_parent, now_ns);
  state_->Commit();
  return outcome;
}

}  // namespace kvpagefs
