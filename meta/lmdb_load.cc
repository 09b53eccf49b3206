// Reading the store into a namespace.

#include <utility>
#include <vector>

#include "meta/lmdb_store_state.h"

namespace kvpagefs {
namespace {

// Rows are deleted so many in a transaction.
constexpr size_t kDeleteRows = 16384;
// When the counter is lost, ids start so far above those that are known.
constexpr uint64_t kLostIds = uint64_t{1} << 24;

class Loader {
 public:
  Loader(const LmdbFile& file, Namespace* into, const std::function<bool(const PageInfo&)>& keep)
      : file_(file), into_(into), keep_(keep) {}

  Status Run() {
    if (Status read = ReadDirs(); !read) return read;
    if (Status read = ReadPages(); !read) return read;
    if (Status read = ReadXattrs(); !read) return read;
    if (Status read = ReadCounters(); !read) return read;
    if (next_dir_id_ == 0 && !dirs_.empty()) next_dir_id_ = largest_dir_id_ + kLostIds;
    // Which directories were left out is found out one by one below.
    (void)into_->RestoreIds(next_dir_id_);
    CheckDirs();
    counts_.directories = into_->GetStats().directories - 1;
    counts_.pages = into_->GetStats().pages;
    return {};
  }

  const LmdbStore::LoadCounts& counts() const { return counts_; }
  uint64_t next_page_id() const { return next_page_id_; }
  // Rows that are of no use.
  std::vector<RowKey> TakeUseless() { return std::move(useless_); }

 private:
  void Lose(const RowKey& key, uint64_t* count, const Error& why) {
    useless_.push_back(key);
    ++*count;
    if (counts_.first_loss.empty()) counts_.first_loss = why.Describe();
  }

  // Calls `visit` with every row whose key is well formed.
  template <class Visit>
  Status ForEach(Table table, const Visit& visit) {
    return file_.ForEach(table, [&](std::string_view key_bytes, std::string_view value) {
      const Result<RowKey> key = DecodeKey(table, key_bytes);
      if (key) {
        visit(*key, value);
      } else {
        ++counts_.damaged;
      }
    });
  }

  Status ReadDirs() {
    return ForEach(Table::kDirs, [this](const RowKey& key, std::string_view value) {
      const Result<DirRecord> record = DecodeDir(key, value);
      if (!record) return Lose(key, &counts_.damaged, record.error());
      // A directory may be fine and its error be that of one that waited for it, so what counts is CheckDirs.
      (void)into_->RestoreDir({DirId{key.first}, record->name}, record->dir, key.second);
      dirs_.emplace_back(key, record->dir.id.value);
      largest_dir_id_ = std::max(largest_dir_id_, record->dir.id.value);
    });
  }

  Status ReadPages() {
    return ForEach(Table::kPages, [this](const RowKey& key, std::string_view value) {
      const Result<PageRecord> record = DecodePage(key, value);
      if (!record) return Lose(key, &counts_.damaged, record.error());
      if (!keep_ || !keep_(record->page)) {
        useless_.push_back(key);
        ++counts_.gone;
        return;
      }
      const Status restored = into_->RestorePage({DirId{key.first}, record->name}, record->page, key.second);
      if (!restored) Lose(key, &counts_.misfits, restored.error());
    });
  }

  Status ReadXattrs() {
    return ForEach(Table::kXattrs, [this](const RowKey& key, std::string_view value) {
      const Result<Xattrs> xattrs = DecodeXattrs(key, value);
      if (!xattrs) return Lose(key, &counts_.damaged, xattrs.error());
      // Those of pages that are gone go with them.
      if (!into_->RestoreXattrs(key.first, *xattrs)) useless_.push_back(key);
    });
  }

  Status ReadCounters() {
    return ForEach(Table::kCounters, [this](const RowKey& key, std::string_view value) {
      const Result<uint64_t> counter = DecodeCounter(key, value);
      if (!counter) return Lose(key, &counts_.damaged, counter.error());
      if (key.first == static_cast<uint64_t>(Counter::kNextDirId)) next_dir_id_ = *counter;
      if (key.first == static_cast<uint64_t>(Counter::kNextPageId)) next_page_id_ = *counter;
    });
  }

  void CheckDirs() {
    for (const auto& [key, id] : dirs_) {
      if (id == kRootDir.value && key.first == kRootDir.value && key.second == 0) continue;
      const auto listed = key.second == 0 ? Result<std::vector<ListedEntry>>(ErrorCode::kNotFound)
                                          : into_->List(DirId{key.first}, key.second - 1, 1, 1);
      const bool linked =
          listed.ok() && !listed->empty() && listed->front().cursor == key.second && listed->front().id == id;
      if (!linked) {
        Lose(key, &counts_.misfits, Error(ErrorCode::kInvalid, "directory " + std::to_string(id) + " has no place"));
      }
    }
  }

  const LmdbFile& file_;
  Namespace* const into_;
  const std::function<bool(const PageInfo&)>& keep_;
  LmdbStore::LoadCounts counts_;
  std::vector<RowKey> useless_;
  std::vector<std::pair<RowKey, uint64_t>> dirs_;
  uint64_t largest_dir_id_ = 0;
  uint64_t next_dir_id_ = 0;
  uint64_t next_page_id_ = 0;
};

Status DeleteRows(LmdbFile* file, const std::vector<RowKey>& keys) {
  RowBatch batch;
  for (size_t i = 0; i < keys.size(); ++i) {
    batch[keys[i]].clear();
    if (batch.size() < kDeleteRows && i + 1 < keys.size()) continue;
    if (Status applied = file->Apply(batch); !applied) return applied;
    batch.clear();
  }
  return {};
}

}  // namespace

Result<LmdbStore::LoadCounts> LmdbStore::Load(Namespace* into, const std::function<bool(const PageInfo&)>& keep) {
  Loader loader(*state_->file, into, keep);
  if (Status loaded = loader.Run(); !loaded) {
    return Error(loaded.code(), "--state-dir " + state_->options.dir + ": " + loaded.error().text() +
                                    "; move the directory away to start empty");
  }
  const Status deleted = DeleteRows(state_->file.get(), loader.TakeUseless());
  MutexLock lock(state_->mutex);
  state_->next_page_id = loader.next_page_id();
  if (!deleted) {
    state_->file = nullptr;
    state_->problem = deleted.error().Describe();
    state_->DiscardLocked(state_->problem);
  }
  return loader.counts();
}

}  // namespace kvpagefs
