// The writer's side of LmdbStore: batches, failures, and the rewrite after changes were lost.

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "meta/lmdb_store_state.h"

namespace kvpagefs {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::chrono::seconds kIdleWait{10};

}  // namespace

void LmdbStore::State::Run() {
  for (;;) {
    RowBatch batch;
    uint64_t written = 0;
    bool rewrite = false;
    {
      MutexLock lock(mutex);
      if (!WaitForWorkLocked()) return;
      rewrite = lost;
      hurry = false;
      batch.swap(changes);
      change_bytes = 0;
      written = committed;
    }
    done.NotifyAll();
    const Status result = rewrite ? Rewrite(&written) : WriteBatch(batch);
    if (result.ok()) {
      Succeeded(written);
      continue;
    }
    Failed(result.error(), &batch);
    MutexLock lock(mutex);
    if (!stopping) continue;
    log.Error("state directory {}: the last changes were not written: {}", options.dir, problem);
    return;
  }
}

bool LmdbStore::State::WaitForWorkLocked() {
  auto start = SteadyClock::now();
  while (!stopping && !hurry) {
    const auto now = SteadyClock::now();
    const bool has_work = lost || !changes.empty();
    if (!has_work) {
      work.WaitFor(mutex, kIdleWait);
      start = SteadyClock::now();
      continue;
    }
    const bool failing = !problem.empty();
    if (!failing && (lost || changes.size() >= options.batch_changes)) break;
    const auto due = start + (failing ? options.retry_interval : options.batch_interval);
    if (now >= due) break;
    work.WaitFor(mutex, due - now);
  }
  return !stopping || lost || !changes.empty();
}

Status LmdbStore::State::WriteBatch(const RowBatch& batch) {
  if (file == nullptr) {
    auto opened = LmdbFile::Open(dir->PathOf(kFileName), LmdbFile::Durability::kEveryApply);
    if (!opened) {
      MutexLock lock(mutex);
      if (opened.code() == ErrorCode::kInvalid) DiscardLocked("the file is damaged");
      return opened.error();
    }
    file = std::move(*opened);
  }
  Status applied = file->Apply(batch);
  if (!applied) file = nullptr;
  return applied;
}

Status LmdbStore::State::Rewrite(uint64_t* written) {
  const std::string path = dir->PathOf(kFileName);
  const std::string new_path = dir->PathOf(kNewFileName);
  // Room for the new file where there is little.
  unlink(new_path.c_str());
  auto opened = LmdbFile::Open(new_path, LmdbFile::Durability::kOnSync);
  Status result = opened.ok() ? CopyEverything(opened->get(), written) : Status(opened.error());
  if (result.ok() && std::rename(new_path.c_str(), path.c_str()) != 0) {
    result = Error::FromSystem(errno, new_path + ": rename");
  }
  if (result.ok()) {
    file = std::move(*opened);
    result = dir->Sync();
  }
  MutexLock lock(mutex);
  if (result.ok()) {
    log.Info("state directory {}: everything was written anew", options.dir);
    lost = false;
  } else {
    unlink(new_path.c_str());
    changes.clear();
    change_bytes = 0;
  }
  rewriting = false;
  return result;
}

// Order makes it right: of one row, a change taken later is never older than what the walk told, and the other way
// round, and both are applied in the order in which they were taken.
Status LmdbStore::State::CopyEverything(LmdbFile* to, uint64_t* written) {
  RowBatch first;
  {
    MutexLock lock(mutex);
    rewriting = true;
    const RowKey key{Table::kCounters, static_cast<uint64_t>(Counter::kNextPageId), 0};
    first[key] = EncodeCounter(key, next_page_id);
  }
  if (Status applied = to->Apply(first); !applied) return applied;
  Namespace::WalkPosition position;
  for (bool complete = false; !complete;) {
    if (Status applied = to->Apply(TakeChanges(written)); !applied) return applied;
    RowBatch rows;
    RowCollector sink(&rows);
    complete = source(&position, &sink);
    if (Status applied = to->Apply(rows); !applied) return applied;
  }
  if (Status applied = to->Apply(TakeChanges(written)); !applied) return applied;
  if (Status durable_now = to->MakeDurable(); !durable_now) return durable_now;
  MutexLock lock(mutex);
  if (!rewriting) return Error(ErrorCode::kUnavailable, "changes come faster than the disk takes them");
  return {};
}

RowBatch LmdbStore::State::TakeChanges(uint64_t* taken) {
  RowBatch batch;
  MutexLock lock(mutex);
  batch.swap(changes);
  change_bytes = 0;
  *taken = committed;
  return batch;
}

void LmdbStore::State::Succeeded(uint64_t written) {
  MutexLock lock(mutex);
  durable = written;
  if (!problem.empty()) log.Info("state directory {}: writing works again", options.dir);
  problem.clear();
  done.NotifyAll();
}

void LmdbStore::State::Failed(const Error& error, RowBatch* batch) {
  MutexLock lock(mutex);
  if (problem != error.text()) {
    log.Error("state directory {}: cannot write, going on from memory: {}", options.dir, error.text());
  }
  problem = error.Describe();
  ++failures;
  if (!lost) {
    // What came meanwhile is newer.
    RowBatch newer;
    newer.swap(changes);
    change_bytes = 0;
    MergeLocked(batch);
    MergeLocked(&newer);
    if (!HasRoomLocked(0)) DiscardLocked("too many changes wait for the disk");
  }
  done.NotifyAll();
}

}  // namespace kvpagefs
