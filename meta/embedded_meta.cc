#include "meta/embedded_meta.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "meta/embedded_state.h"
#include "meta/page_counter.h"

namespace kvpagefs {
namespace {

constexpr std::chrono::seconds kFlushLimit{10};
// The namespace is locked for so many entries at a time when all are written anew.
constexpr size_t kWalkEntries = 512;
// Page ids are reserved on disk so many at a time; the next block when half of one is used.
constexpr uint64_t kPageIdBlock = uint64_t{1} << 20;

}  // namespace

void EmbeddedMeta::State::ReservePageIds(uint64_t used) {
  MutexLock lock(reserve_mutex);
  if (used < reserve_at.load()) return;
  store->ReservePageIds(used + kPageIdBlock);
  reserve_at.store(used + kPageIdBlock / 2);
}

Status EmbeddedMeta::State::Restore(const Options& options) {
  MutexLock lock(mutex);
  const auto counts = store->Load(names.get(), options.has_page);
  if (!counts) return counts.error();
  log.Info("state directory {}: restored {} directories, {} pages; dropped {} pages whose bytes are gone",
           options.state_dir, counts->directories, counts->pages, counts->gone);
  if (counts->damaged + counts->misfits > 0) {
    log.Warning("state directory {}: {} damaged records and {} that fit nowhere were left out, the first: {}",
                options.state_dir, counts->damaged, counts->misfits, counts->first_loss);
  }
  return {};
}

void EmbeddedMeta::State::StartStore(uint64_t first_id) {
  store->Start([this](Namespace::WalkPosition* position, Journal* sink) {
    MutexLock lock(mutex);
    return names->Walk(position, kWalkEntries, sink);
  });
  reserve_at = 0;
  ReservePageIds(first_id);
  // A disk that is full now is a problem to show, not one to stay down for.
  if (Status flushed = store->Flush(kFlushLimit); !flushed) {
    log.Warning("not writable at start: {}", flushed.error().text());
  }
  syncer = std::make_unique<StoreSyncer>([this] { return store->Flush(kFlushLimit); });
  syncer->Start();
}

EmbeddedMeta::EmbeddedMeta(std::unique_ptr<State> state) : state_(std::move(state)) {}

Result<std::unique_ptr<EmbeddedMeta>> EmbeddedMeta::Open(const Options& options, const Clock* clock, Log log) {
  auto state = std::make_unique<State>(options, clock, std::move(log));
  uint64_t first_id = std::max<uint64_t>(PageCounterByClock(state->Now()), 1);
  if (!options.state_dir.empty()) {
    LmdbStore::Options store_options;
    store_options.dir = options.state_dir;
    auto store = LmdbStore::Open(store_options, state->log);
    if (!store) return store.error();
    state->store = std::move(*store);
  }
  state->names = std::make_unique<Namespace>(state->store.get(), options.root_owner, state->Now());
  if (state->store != nullptr) {
    if (Status restored = state->Restore(options); !restored) return restored.error();
    first_id = std::max(first_id, state->store->next_page_id());
    state->StartStore(first_id);
  }
  state->next_page_id = first_id;
  return std::unique_ptr<EmbeddedMeta>(new EmbeddedMeta(std::move(state)));
}

EmbeddedMeta::~EmbeddedMeta() {
  if (state_->store == nullptr) return;
  state_->syncer->Stop();
  state_->store->Stop();
}

void EmbeddedMeta::Sync(Completion<void> done) {
  if (state_->syncer == nullptr) return done({});
  state_->syncer->Sync(std::move(done));
}

std::string EmbeddedMeta::Problem() const {
  return state_->store == nullptr ? std::string() : state_->store->Problem();
}

PageId EmbeddedMeta::NewPageId() {
  const uint64_t counter = state_->next_page_id.fetch_add(1);
  if (counter >= state_->reserve_at.load()) state_->ReservePageIds(counter);
  return PageId::Make(state_->node, counter);
}

}  // namespace kvpagefs
