#include "fs/draft_table.h"

#include <algorithm>
#include <cassert>

#include "fs/process_identity.h"

namespace kvpagefs {

void DraftTable::Add(const File& file) {
  MutexLock lock(mutex_);
  const bool fresh = files_.emplace(file->node_id, file).second;
  assert(fresh);
  (void)fresh;
  files_count_.store(files_.size());
}

void DraftTable::Remove(const File& file) {
  MutexLock lock(mutex_);
  files_.erase(file->node_id);
  files_count_.store(files_.size());
}

DraftTable::File DraftTable::Find(uint64_t node_id) const {
  if (files_count_.load() == 0) return nullptr;
  MutexLock lock(mutex_);
  const auto found = files_.find(node_id);
  return found == files_.end() ? nullptr : found->second;
}

void DraftTable::Show(const File& file, NameView name) {
  MutexLock lock(mutex_);
  auto& files = shown_[NameKey(name.parent.value, name.name)];
  if (std::find(files.begin(), files.end(), file) == files.end()) files.push_back(file);
  shown_count_.store(shown_.size());
}

void DraftTable::Hide(const File& file, NameView name) {
  if (shown_count_.load() == 0) return;
  MutexLock lock(mutex_);
  const auto found = shown_.find(NameKey(name.parent.value, name.name));
  if (found == shown_.end()) return;
  std::erase(found->second, file);
  if (found->second.empty()) shown_.erase(found);
  shown_count_.store(shown_.size());
}

DraftTable::File DraftTable::FindShown(NameView name, uint32_t tid) const {
  if (shown_count_.load() == 0) return nullptr;
  std::vector<File> candidates;
  {
    MutexLock lock(mutex_);
    const auto found = shown_.find(NameKey(name.parent.value, name.name));
    if (found == shown_.end()) return nullptr;
    candidates = found->second;
  }
  for (const File& file : candidates) {
    if (ThreadInProcess(tid, file->process)) return file;
  }
  return nullptr;
}

std::vector<DraftTable::File> DraftTable::ShownIn(DirId dir, uint32_t tid) const {
  std::vector<File> files;
  if (shown_count_.load() == 0) return files;
  {
    MutexLock lock(mutex_);
    for (auto at = shown_.lower_bound(NameKey(dir.value, "")); at != shown_.end() && at->first.first == dir.value;
         ++at) {
      files.insert(files.end(), at->second.begin(), at->second.end());
    }
  }
  std::erase_if(files, [tid](const File& file) { return !ThreadInProcess(tid, file->process); });
  return files;
}

bool DraftTable::AnyShownIn(DirId dir) const {
  if (shown_count_.load() == 0) return false;
  MutexLock lock(mutex_);
  const auto at = shown_.lower_bound(NameKey(dir.value, ""));
  return at != shown_.end() && at->first.first == dir.value;
}

void DraftTable::Follow(const File& file, PageId page) {
  MutexLock lock(mutex_);
  followers_[page.value].push_back(file);
}

void DraftTable::Unfollow(const File& file, PageId page) {
  MutexLock lock(mutex_);
  const auto found = followers_.find(page.value);
  if (found == followers_.end()) return;
  std::erase(found->second, file);
  if (found->second.empty()) followers_.erase(found);
}

std::vector<DraftTable::File> DraftTable::Followers(PageId page) const {
  if (files_count_.load() == 0) return {};
  MutexLock lock(mutex_);
  const auto found = followers_.find(page.value);
  return found == followers_.end() ? std::vector<File>() : found->second;
}

bool DraftTable::NeedsAlias(PageId page) const {
  if (files_count_.load() == 0 && alias_count_.load() == 0) return false;
  MutexLock lock(mutex_);
  return files_.contains(page.value) || alias_of_.contains(page.value);
}

uint64_t DraftTable::PublicNode(PageId page, PageId new_alias) {
  if (files_count_.load() == 0 && alias_count_.load() == 0) return page.value;
  MutexLock lock(mutex_);
  const auto known = alias_of_.find(page.value);
  if (known != alias_of_.end()) {
    ++aliases_[known->second].references;
    return known->second;
  }
  if (!files_.contains(page.value) || !new_alias.valid()) return page.value;
  alias_of_[page.value] = new_alias.value;
  aliases_[new_alias.value] = Alias{page, 1};
  alias_count_.store(aliases_.size());
  return new_alias.value;
}

PageId DraftTable::PageOf(uint64_t node_id) const {
  if (alias_count_.load() == 0) return PageId{node_id};
  MutexLock lock(mutex_);
  const auto found = aliases_.find(node_id);
  return found == aliases_.end() ? PageId{node_id} : found->second.page;
}

void DraftTable::DistrustCache(PageId page) {
  MutexLock lock(mutex_);
  distrusted_.insert(page.value);
  distrusted_count_.store(distrusted_.size());
}

bool DraftTable::CacheTrusted(PageId page) const {
  if (distrusted_count_.load() == 0) return true;
  MutexLock lock(mutex_);
  return !distrusted_.contains(page.value);
}

void DraftTable::ForgetPage(PageId page) {
  if (distrusted_count_.load() == 0) return;
  MutexLock lock(mutex_);
  distrusted_.erase(page.value);
  distrusted_count_.store(distrusted_.size());
}

void DraftTable::Forget(uint64_t node_id, uint64_t references) {
  if (alias_count_.load() == 0) return;
  MutexLock lock(mutex_);
  const auto found = aliases_.find(node_id);
  if (found == aliases_.end()) return;
  assert(found->second.references >= references);
  found->second.references -= references;
  if (found->second.references > 0) return;
  alias_of_.erase(found->second.page.value);
  aliases_.erase(found);
  alias_count_.store(aliases_.size());
}

}  // namespace kvpagefs
