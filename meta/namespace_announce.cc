#include <algorithm>
#include <utility>
#include <variant>

#include "meta/namespace.h"
#include "meta/namespace_state.h"

namespace kvpagefs {
namespace {

constexpr uint16_t kMissingDirMode = 0755;

}  // namespace

std::optional<PageDescription> Namespace::Describe(PageId id) const {
  const Entry* entry = state_->FindPageEntry(id);
  if (entry == nullptr) return std::nullopt;
  PageDescription described;
  described.page = state_->PageOf(*entry);
  described.xattrs = GetXattrs(id.value);
  NameRef name = state_->NameOf(*entry);
  described.path.push_back(std::move(name.name));
  while (name.parent != kRootDir) {
    name = *NameOfDir(name.parent);
    described.path.push_back(std::move(name.name));
  }
  std::reverse(described.path.begin(), described.path.end());
  return described;
}

Result<Namespace::Outcome> Namespace::Announce(const PageDescription& described, int64_t now_ns) {
  if (const std::optional<PageInfo> known = FindPage(described.page.id)) {
    return Outcome{.page = *known, .dropped = std::nullopt, .replaced = false};
  }
  if (described.path.empty()) return ErrorCode::kNotFound;
  NameView name{kRootDir, described.path.front()};
  for (size_t i = 0; i + 1 < described.path.size(); ++i) {
    Ownership owner = described.page.owner;
    owner.mode = kMissingDirMode;
    const Result<EntryInfo> found = Lookup(name);
    if (found.ok()) {
      const auto* dir = std::get_if<DirInfo>(&*found);
      if (dir == nullptr) return ErrorCode::kNotDirectory;
      name.parent = dir->id;
    } else if (found.code() == ErrorCode::kNotFound) {
      const Result<DirInfo> made = MakeDir(name, owner, now_ns);
      if (!made.ok()) return made.error();
      name.parent = made->id;
    } else {
      return found.error();
    }
    name.name = described.path[i + 1];
  }
  const Result<EntryInfo> there = Lookup(name);
  if (there.ok()) {
    const auto* page = std::get_if<PageInfo>(&*there);
    if (page != nullptr && page->id.value > described.page.id.value) return ErrorCode::kExists;
  }
  return Publish(name, described.page, described.xattrs, /*exclusive=*/false);
}

}  // namespace kvpagefs
