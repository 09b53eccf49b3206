#include "meta/name_cache.h"

#include <algorithm>
#include <utility>

namespace kvpagefs {
namespace {

constexpr size_t kMaxDepth = 1024;

}  // namespace

std::string NameCache::KeyOf(DirId parent, std::string_view name) {
  std::string key(reinterpret_cast<const char*>(&parent.value), sizeof(parent.value));
  return key.append(name);
}

const CachedPage* NameCache::Find(PageId id) const {
  const auto found = pages_.find(id.value);
  return found == pages_.end() ? nullptr : &found->second;
}

const CachedPage* NameCache::Find(NameView name) const {
  const auto found = page_ids_.find(KeyOf(name.parent, name.name));
  return found == page_ids_.end() ? nullptr : Find(PageId{found->second});
}

CachedPage* NameCache::Change(PageId id) {
  const auto found = pages_.find(id.value);
  return found == pages_.end() ? nullptr : &found->second;
}

std::optional<PageId> NameCache::Put(CachedPage page) {
  Erase(page.page.id);
  std::optional<PageId> displaced;
  if (const CachedPage* there = Find(NameView{page.name.parent, page.name.name})) {
    if (there->local()) displaced = there->page.id;
    Erase(there->page.id);
  }
  if (page.state == CachedPage::State::kUnsent) ++unsent_;
  page_ids_[KeyOf(page.name.parent, page.name.name)] = page.page.id.value;
  pages_[page.page.id.value] = std::move(page);
  return displaced;
}

void NameCache::Erase(PageId id) {
  const auto found = pages_.find(id.value);
  if (found == pages_.end()) return;
  if (found->second.state == CachedPage::State::kUnsent) --unsent_;
  page_ids_.erase(KeyOf(found->second.name.parent, found->second.name.name));
  pages_.erase(found);
}

std::vector<PageId> NameCache::Unsent() const {
  std::vector<PageId> unsent;
  for (const auto& [id, page] : pages_) {
    if (page.state == CachedPage::State::kUnsent) unsent.push_back(PageId{id});
  }
  // In the order in which they were made.
  std::sort(unsent.begin(), unsent.end());
  return unsent;
}

void NameCache::PutDir(const DirInfo& dir, const NameRef& name, int64_t now_ns) {
  // Asked for again when they are wanted.
  if (dirs_.size() >= kMaxDirs && !dirs_.contains(dir.id.value)) {
    dirs_.clear();
    dir_ids_.clear();
  }
  CachedDir& cached = dirs_[dir.id.value];
  if (!name.name.empty()) {
    if (!cached.name.name.empty()) dir_ids_.erase(KeyOf(cached.name.parent, cached.name.name));
    cached.name = name;
    dir_ids_[KeyOf(name.parent, name.name)] = dir.id.value;
  }
  cached.dir = dir;
  cached.learnt_ns = now_ns;
}

void NameCache::EraseDir(DirId id) {
  const auto found = dirs_.find(id.value);
  if (found == dirs_.end()) return;
  if (!found->second.name.name.empty()) dir_ids_.erase(KeyOf(found->second.name.parent, found->second.name.name));
  dirs_.erase(found);
}

std::optional<DirInfo> NameCache::FindDir(DirId id) const { return FindFreshDir(id, INT64_MIN); }

std::optional<DirInfo> NameCache::FindFreshDir(DirId id, int64_t since_ns) const {
  const auto found = dirs_.find(id.value);
  if (found == dirs_.end() || found->second.learnt_ns < since_ns) return std::nullopt;
  return found->second.dir;
}

std::optional<DirInfo> NameCache::FindDir(NameView name) const {
  const auto found = dir_ids_.find(KeyOf(name.parent, name.name));
  return found == dir_ids_.end() ? std::nullopt : FindDir(DirId{found->second});
}

std::optional<std::vector<std::string>> NameCache::PathOf(const NameRef& name) const {
  std::vector<std::string> path = {name.name};
  DirId parent = name.parent;
  while (parent != kRootDir) {
    const auto found = dirs_.find(parent.value);
    if (found == dirs_.end() || found->second.name.name.empty() || path.size() > kMaxDepth) return std::nullopt;
    path.push_back(found->second.name.name);
    parent = found->second.name.parent;
  }
  std::reverse(path.begin(), path.end());
  return path;
}

}  // namespace kvpagefs
