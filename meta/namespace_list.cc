#include "meta/namespace.h"
#include "meta/namespace_state.h"

namespace kvpagefs {

Result<std::vector<ListedEntry>> Namespace::List(DirId dir, uint64_t cursor, size_t max_entries,
                                                 size_t max_bytes) const {
  const Entry* entry = state_->ids.Find(dir.value);
  if (entry == nullptr) return ErrorCode::kNotFound;
  if (!entry->is_directory) return ErrorCode::kNotDirectory;
  const CursorOrder& order = state_->dirs[entry->slot()].order;
  std::vector<ListedEntry> listed;
  size_t bytes = 0;
  for (auto at = order.upper_bound(cursor); at != order.end() && listed.size() < max_entries; ++at) {
    const Entry& next = **at;
    listed.push_back({.cursor = next.cursor(),
                      .is_directory = next.is_directory != 0,
                      .id = next.id,
                      .name = UnpackName(next.packed_name())});
    bytes += listed.back().name.size();
    if (bytes >= max_bytes) break;
  }
  return listed;
}

bool Namespace::Walk(WalkPosition* position, size_t max_entries, Journal* sink) const {
  if (position->slot == kRootSlot && position->cursor == 0) {
    const Entry& root = *state_->dirs[kRootSlot].entry;
    state_->TellDir(sink, root);
    sink->PutXattrs(root.id, GetXattrs(root.id));
    sink->ReserveIds(state_->reserved_dir_ids);
  }
  size_t told = 0;
  for (; position->slot < state_->dirs.size(); ++position->slot, position->cursor = 0, ++told) {
    const CursorOrder& order = state_->dirs[position->slot].order;
    for (auto at = order.upper_bound(position->cursor); at != order.end(); ++at, ++told) {
      if (told >= max_entries) return false;
      const Entry& entry = **at;
      if (entry.is_directory) {
        state_->TellDir(sink, entry);
      } else {
        state_->TellPage(sink, entry);
      }
      if (entry.has_xattrs) sink->PutXattrs(entry.id, GetXattrs(entry.id));
      position->cursor = entry.cursor();
    }
    if (told >= max_entries) {
      ++position->slot;
      position->cursor = 0;
      return position->slot >= state_->dirs.size();
    }
  }
  return true;
}

}  // namespace kvpagefs
