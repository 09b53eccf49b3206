// All files that are open for writing, found by inode and by name, and the aliases of pages whose own inode is still
// a writer's.
//
// Any thread. Lock order: the table's mutex is taken after a DraftFile's, never before.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <absl/container/btree_map.h>
#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>

#include "base/mutex.h"
#include "fs/draft_file.h"
#include "meta/types.h"

namespace kvpagefs {

class DraftTable {
 public:
  using File = std::shared_ptr<DraftFile>;

  void Add(const File& file);
  // Forgets the inode; name and page are undone by Hide and Unfollow.
  void Remove(const File& file);
  File Find(uint64_t node_id) const;  // null

  // Makes the file findable under the name for its own process, until Hide.
  void Show(const File& file, NameView name);
  void Hide(const File& file, NameView name);
  // The file of that name that the thread's process is writing; null.
  File FindShown(NameView name, uint32_t tid) const;
  // All shown files of the directory that belong to the thread's process.
  std::vector<File> ShownIn(DirId dir, uint32_t tid) const;
  bool AnyShownIn(DirId dir) const;

  // The file continues that page: an unlink or a rename of the page concerns the file too.
  void Follow(const File& file, PageId page);
  void Unfollow(const File& file, PageId page);
  std::vector<File> Followers(PageId page) const;

  // The inode under which everybody sees the page: its own, or an alias while a DraftFile has that inode. With
  // `new_alias` valid and an alias needed, that id becomes it when none exists; counts one kernel reference on the
  // alias.
  uint64_t PublicNode(PageId page, PageId new_alias);
  // Whether PublicNode would need an alias.
  bool NeedsAlias(PageId page) const;
  // The page behind an inode that may be an alias.
  PageId PageOf(uint64_t node_id) const;
  void Forget(uint64_t node_id, uint64_t references);

  // The kernel may hold bytes under the page's own inode that were never published (a writer that went on and failed).
  void DistrustCache(PageId page);
  bool CacheTrusted(PageId page) const;
  // The page is gone.
  void ForgetPage(PageId page);

  size_t size() const { return files_count_.load(std::memory_order_relaxed); }

 private:
  using NameKey = std::pair<uint64_t, std::string>;
  struct Alias {
    PageId page;
    uint64_t references = 0;
  };

  mutable Mutex mutex_;
  absl::flat_hash_map<uint64_t, File> files_ KVP_GUARDED_BY(mutex_);
  absl::btree_map<NameKey, std::vector<File>> shown_ KVP_GUARDED_BY(mutex_);
  absl::flat_hash_map<uint64_t, std::vector<File>> followers_ KVP_GUARDED_BY(mutex_);  // by page id
  absl::flat_hash_map<uint64_t, Alias> aliases_ KVP_GUARDED_BY(mutex_);                // by alias
  absl::flat_hash_map<uint64_t, uint64_t> alias_of_ KVP_GUARDED_BY(mutex_);            // by page id
  // So that reads and look-ups pay nothing while nobody writes.
  std::atomic<size_t> files_count_{0};
  std::atomic<size_t> shown_count_{0};
  std::atomic<size_t> alias_count_{0};
  absl::flat_hash_set<uint64_t> distrusted_ KVP_GUARDED_BY(mutex_);  // page ids
  std::atomic<size_t> distrusted_count_{0};
};

}  // namespace kvpagefs
