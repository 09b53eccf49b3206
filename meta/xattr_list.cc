#include "meta/xattr_list.h"

#include <algorithm>

namespace kvpagefs {
namespace {

auto Find(auto& list, std::string_view key) {
  return std::find_if(list.begin(), list.end(), [key](const auto& pair) { return pair.first == key; });
}

size_t TotalBytes(const Xattrs& list) {
  size_t total = 0;
  for (const auto& [key, value] : list) total += key.size() + value.size();
  return total;
}

}  // namespace

Status SetXattrIn(Xattrs& list, std::string_view key, std::string_view value, Namespace::XattrMode mode) {
  const auto found = Find(list, key);
  const bool exists = found != list.end();
  if (exists && mode == Namespace::XattrMode::kCreate) return ErrorCode::kExists;
  if (!exists && mode == Namespace::XattrMode::kReplace) return ErrorCode::kNoAttribute;
  const size_t freed = exists ? found->first.size() + found->second.size() : 0;
  if (TotalBytes(list) - freed + key.size() + value.size() > kMaxXattrBytes) return ErrorCode::kTooBigAttribute;
  if (exists) {
    found->second = value;
  } else {
    list.emplace_back(key, value);
  }
  return {};
}

Status RemoveXattrFrom(Xattrs& list, std::string_view key) {
  const auto found = Find(list, key);
  if (found == list.end()) return ErrorCode::kNoAttribute;
  list.erase(found);
  return {};
}

const std::string* FindXattr(const Xattrs& list, std::string_view key) {
  const auto found = Find(list, key);
  return found == list.end() ? nullptr : &found->second;
}

}  // namespace kvpagefs
