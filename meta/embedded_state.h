// Private to EmbeddedMeta.
#pragma once

#include <atomic>
#include <memory>
#include <utility>

#include "base/mutex.h"
#include "meta/embedded_meta.h"
#include "meta/lmdb_store.h"
#include "meta/namespace.h"
#include "meta/store_syncer.h"

namespace kvpagefs {

struct EmbeddedMeta::State {
  State(const Options& options, const Clock* node_clock, Log node_log)
      : node(options.node), clock(node_clock), log(std::move(node_log)) {}

  int64_t Now() const { return clock->WallNs(); }
  Status Restore(const Options& options);
  void StartStore(uint64_t first_id);
  // Called when `used` page ids are given out and the reservation must grow.
  void ReservePageIds(uint64_t used);

  // The namespace under the lock, the completion without it.
  template <class T, class Call>
  void Answer(const Completion<T>& done, const Call& call) {
    Result<T> result = CallLocked<T>(call);
    done(std::move(result));
  }
  template <class T, class Call>
  Result<T> CallLocked(const Call& call) {
    MutexLock lock(mutex);
    return call(*names);
  }

  const uint16_t node;
  const Clock* const clock;
  const Log log;

  mutable Mutex mutex;
  std::unique_ptr<LmdbStore> store;     // null: nothing is persisted
  std::unique_ptr<StoreSyncer> syncer;  // with the store
  std::unique_ptr<Namespace> names KVP_PT_GUARDED_BY(mutex);

  std::atomic<uint64_t> next_page_id{1};
  std::atomic<uint64_t> reserve_at{UINT64_MAX};
  Mutex reserve_mutex;
};

}  // namespace kvpagefs
