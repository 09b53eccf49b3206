#include "meta/lmdb_store.h"

#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <utility>

#include "meta/lmdb_store_state.h"

namespace kvpagefs {
namespace {

using SteadyClock = std::chrono::steady_clock;

// What a change costs besides its record: key and tree.
constexpr size_t kChangeOverheadBytes = 96;

}  // namespace

LmdbStore::LmdbStore(std::unique_ptr<State> state) : state_(std::move(state)) {}

Result<std::unique_ptr<LmdbStore>> LmdbStore::Open(const Options& options, Log log) {
  auto dir = StateDir::Open(options.dir);
  if (!dir) return dir.error();
  auto state = std::make_unique<State>(options, std::move(log));
  state->dir = std::move(*dir);
  // Of a rewrite that a crash ended.
  unlink(state->dir->PathOf(State::kNewFileName).c_str());
  auto file = LmdbFile::Open(state->dir->PathOf(State::kFileName), LmdbFile::Durability::kEveryApply);
  if (!file) {
    std::string text = "--state-dir " + options.dir + ": " + file.error().text();
    if (file.code() == ErrorCode::kInvalid) text += "; move the directory away to start empty";
    return Error(file.code(), std::move(text));
  }
  state->file = std::move(*file);
  return std::unique_ptr<LmdbStore>(new LmdbStore(std::move(state)));
}

LmdbStore::~LmdbStore() { Stop(); }

void LmdbStore::Start(RewriteSource source) {
  assert(!state_->writer.joinable());
  state_->source = std::move(source);
  state_->writer = std::thread([state = state_.get()] { state->Run(); });
}

void LmdbStore::Stop() {
  if (!state_->writer.joinable()) return;
  {
    MutexLock lock(state_->mutex);
    state_->stopping = true;
    state_->work.NotifyAll();
  }
  state_->writer.join();
}

Status LmdbStore::Flush(std::chrono::milliseconds limit) {
  State& state = *state_;
  const auto deadline = SteadyClock::now() + limit;
  MutexLock lock(state.mutex);
  const uint64_t wanted = state.committed;
  // The first failure may be of an attempt that was under way already.
  const uint64_t failures = state.failures;
  while (state.durable < wanted) {
    if (state.failures >= failures + 2) return Error(ErrorCode::kUnavailable, state.problem);
    const auto now = SteadyClock::now();
    if (now >= deadline) {
      const std::string slow = "state directory " + state.options.dir + ": writing takes too long";
      return Error(ErrorCode::kUnavailable, state.problem.empty() ? slow : state.problem);
    }
    state.hurry = true;
    state.work.NotifyOne();
    state.done.WaitFor(state.mutex, deadline - now);
  }
  return {};
}

std::string LmdbStore::Problem() const {
  MutexLock lock(state_->mutex);
  return state_->problem;
}

uint64_t LmdbStore::next_page_id() const {
  MutexLock lock(state_->mutex);
  return state_->next_page_id;
}

void LmdbStore::ReservePageIds(uint64_t next_page_id) {
  {
    MutexLock lock(state_->mutex);
    state_->next_page_id = next_page_id;
  }
  const RowKey key{Table::kCounters, static_cast<uint64_t>(Counter::kNextPageId), 0};
  RowBatch rows;
  rows[key] = EncodeCounter(key, next_page_id);
  state_->Add(&rows);
}

void LmdbStore::PutPage(NameView name, const PageInfo& page, uint64_t cursor) {
  state_->collector.PutPage(name, page, cursor);
}
void LmdbStore::PutDir(NameView name, const DirInfo& dir, uint64_t cursor) {
  state_->collector.PutDir(name, dir, cursor);
}
void LmdbStore::RemovePage(DirId parent, uint64_t cursor) { state_->collector.RemovePage(parent, cursor); }
void LmdbStore::RemoveDir(DirId parent, uint64_t cursor) { state_->collector.RemoveDir(parent, cursor); }
void LmdbStore::PutXattrs(uint64_t id, const Xattrs& xattrs) { state_->collector.PutXattrs(id, xattrs); }
void LmdbStore::ReserveIds(uint64_t next_dir_id) { state_->collector.ReserveIds(next_dir_id); }
void LmdbStore::Commit() { state_->Add(&state_->group); }

void LmdbStore::State::Add(RowBatch* rows) {
  if (rows->empty()) return;
  MutexLock lock(mutex);
  const auto deadline = SteadyClock::now() + options.full_wait;
  while (!HasRoomLocked(rows->size())) {
    const auto now = SteadyClock::now();
    // Waiting helps only while a writer makes room that does not itself wait for the caller's lock.
    const bool helps = problem.empty() && !lost && !rewriting && !stopping && writer.joinable();
    if (!helps || now >= deadline) {
      if (!lost || rewriting) DiscardLocked("too many changes wait for the disk");
      break;
    }
    hurry = true;
    work.NotifyOne();
    done.WaitFor(mutex, deadline - now);
  }
  ++committed;
  if (!lost || rewriting) MergeLocked(rows);
  rows->clear();
  if (changes.size() >= options.batch_changes || changes.size() == 1) work.NotifyOne();
}

bool LmdbStore::State::HasRoomLocked(size_t more) const {
  return changes.size() + more <= options.max_changes && change_bytes <= options.max_bytes;
}

void LmdbStore::State::MergeLocked(RowBatch* rows) {
  for (auto& [key, value] : *rows) {
    const auto [at, is_new] = changes.try_emplace(key);
    change_bytes += value.size() + (is_new ? kChangeOverheadBytes : 0);
    change_bytes -= at->second.size();
    at->second = std::move(value);
  }
}

void LmdbStore::State::DiscardLocked(const std::string& why) {
  log.Warning("state directory {}: {} changes discarded ({}); everything will be written anew", options.dir,
              changes.size(), why);
  changes.clear();
  change_bytes = 0;
  lost = true;
  rewriting = false;
}

}  // namespace kvpagefs
