// Private to LmdbStore: what its threads share, and the writer.
#pragma once

#include <memory>
#include <string>
#include <thread>

#include "base/mutex.h"
#include "meta/lmdb_file.h"
#include "meta/lmdb_store.h"
#include "meta/record.h"
#include "meta/state_dir.h"

namespace kvpagefs {

struct LmdbStore::State {
  static constexpr const char* kFileName = "names.mdb";
  static constexpr const char* kNewFileName = "names.mdb.new";

  State(Options store_options, Log store_log) : options(std::move(store_options)), log(std::move(store_log)) {}

  // All or nothing, the next rows of the file. The rows are taken.
  void Add(RowBatch* rows);
  bool HasRoomLocked(size_t more) const KVP_REQUIRES(mutex);
  void MergeLocked(RowBatch* rows) KVP_REQUIRES(mutex);
  void DiscardLocked(const std::string& why) KVP_REQUIRES(mutex);

  // The writer's thread.
  void Run();
  // False when the store stops and nothing is left to write.
  bool WaitForWorkLocked() KVP_REQUIRES(mutex);
  Status WriteBatch(const RowBatch& batch);
  Status Rewrite(uint64_t* written);
  Status CopyEverything(LmdbFile* to, uint64_t* written);
  RowBatch TakeChanges(uint64_t* taken);
  void Succeeded(uint64_t written);
  void Failed(const Error& error, RowBatch* batch);

  const Options options;
  const Log log;
  std::unique_ptr<StateDir> dir;
  // Load's, then the writer's. Null after an error, until it is opened again.
  std::unique_ptr<LmdbFile> file;
  RewriteSource source;
  std::thread writer;

  // Under the namespace's lock: the changes since the last Commit.
  RowBatch group;
  RowCollector collector{&group};

  mutable Mutex mutex;
  CondVar work;  // for the writer
  CondVar done;  // for those who wait for it
  RowBatch changes KVP_GUARDED_BY(mutex);
  size_t change_bytes KVP_GUARDED_BY(mutex) = 0;
  uint64_t committed KVP_GUARDED_BY(mutex) = 0;  // groups so far
  uint64_t durable KVP_GUARDED_BY(mutex) = 0;    // of them on disk
  uint64_t failures KVP_GUARDED_BY(mutex) = 0;
  bool lost KVP_GUARDED_BY(mutex) = false;       // changes were discarded: only a rewrite helps
  bool rewriting KVP_GUARDED_BY(mutex) = false;  // changes are collected although some were lost
  bool hurry KVP_GUARDED_BY(mutex) = false;
  bool stopping KVP_GUARDED_BY(mutex) = false;
  std::string problem KVP_GUARDED_BY(mutex);
  uint64_t next_page_id KVP_GUARDED_BY(mutex) = 0;
};

}  // namespace kvpagefs
