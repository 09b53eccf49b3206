// What a node is made of. Private to fs/.
//
// Lock order: DraftFile::mutex, then DraftTable, RetryTable, OpenPages, LiveHandles, SpaceWaiters, LockTable, Keeper,
// EventLog (leaves among each other), then the locks inside Tiering (Spiller, Promoter), SsdLog,
// EmbeddedMeta and MemoryTier. Completions and Listener calls arrive without locks.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "fs/counters.h"
#include "fs/draft_table.h"
#include "fs/event_log.h"
#include "fs/handles.h"
#include "fs/keeper.h"
#include "fs/live_handles.h"
#include "fs/lock_table.h"
#include "fs/node.h"
#include "fs/open_pages.h"
#include "fs/options.h"
#include "fs/read_path.h"
#include "fs/retry_table.h"
#include "fs/space_waiters.h"
#include "fs/tiering.h"
#include "meta/cluster.h"
#include "meta/meta_client.h"
#include "spill/memory_tier.h"

namespace kvpagefs {

class ClusterParts;

struct Node::State final : MemoryTier::Listener {
  State(Options node_options, Log node_log);
  ~State() override;

  // MemoryTier::Listener
  void OnEvicted(std::span<const PageId> pages) override;
  void OnHighWatermark() override;
  void OnSpaceFreed() override;
  // These pages have no copy on this node any more: their names go.
  void OnLost(std::span<const PageId> pages);

  // Of FUSE, where late answers go: destroyed when nothing of the node runs any more.
  std::vector<std::shared_ptr<void>> ended_sessions;
  const Options options;
  const Log log;
  SystemClock clock;
  Counters counters;
  EventLog events;
  std::unique_ptr<MetaClient> meta;
  Cluster* cluster = nullptr;  // the same client; null: standalone
  std::unique_ptr<MemoryTier> tier;
  std::unique_ptr<Tiering> tiering;
  OpenPages open_pages;
  LiveHandles<FileHandle> file_handles;
  LiveHandles<DirHandle> dir_handles;
  DraftTable drafts;
  RetryTable retries;
  SpaceWaiters space{&counters};
  LockTable locks;
  ReadPathChoice read_path;
  std::atomic<uint64_t> next_ticket{1};
  std::atomic<uint64_t> prefaulted_bytes{0};
  std::atomic<bool> handshake_done{false};  // FUSE INIT was answered
  std::atomic<bool> stopping{false};
  int64_t start_wall_ns = 0;
  int64_t start_monotonic_ns = 0;
  std::unique_ptr<ClusterParts> cluster_parts;
  Keeper keeper;
  std::thread prefaulter;
};

}  // namespace kvpagefs
