#include "meta/namespace.h"
#include "meta/namespace_state.h"
#include "meta/xattr_list.h"

namespace kvpagefs {

bool XattrsFit(const Xattrs& xattrs) {
  size_t total = 0;
  for (const auto& [key, value] : xattrs) {
    if (key.size() > kMaxXattrKeyBytes) return false;
    total += key.size() + value.size();
  }
  return total <= kMaxXattrBytes;
}

Status Namespace::SetXattr(uint64_t id, std::string_view key, std::string_view value, XattrMode mode) {
  Entry* entry = state_->ids.Find(id);
  if (entry == nullptr) return ErrorCode::kNotFound;
  Xattrs xattrs = GetXattrs(id);
  if (Status set = SetXattrIn(xattrs, key, value, mode); !set) return set;
  if (!XattrsFit(xattrs)) return ErrorCode::kTooBigAttribute;
  state_->PutXattrsOf(entry, xattrs);
  state_->Commit();
  return {};
}

Result<std::string> Namespace::GetXattr(uint64_t id, std::string_view key) const {
  const Entry* entry = state_->ids.Find(id);
  if (entry == nullptr) return ErrorCode::kNotFound;
  if (!entry->has_xattrs) return ErrorCode::kNoAttribute;
  const std::string* value = FindXattr(state_->xattrs.find(id)->second, key);
  if (value == nullptr) return ErrorCode::kNoAttribute;
  return *value;
}

Status Namespace::RemoveXattr(uint64_t id, std::string_view key) {
  Entry* entry = state_->ids.Find(id);
  if (entry == nullptr) return ErrorCode::kNotFound;
  Xattrs xattrs = GetXattrs(id);
  if (Status removed = RemoveXattrFrom(xattrs, key); !removed) return removed;
  state_->PutXattrsOf(entry, xattrs);
  state_->Commit();
  return {};
}

Xattrs Namespace::GetXattrs(uint64_t id) const {
  const auto found = state_->xattrs.find(id);
  return found == state_->xattrs.end() ? Xattrs{} : found->second;
}

}  // namespace kvpagefs
