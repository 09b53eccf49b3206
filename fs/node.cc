#include "fs/node.h"

#include <sys/resource.h>
#include <unistd.h>

#include <utility>
#include <vector>

#include "base/size.h"
#include "fs/cluster_parts.h"
#include "fs/node_state.h"
#include "fs/ops.h"
#include "fs/sealing.h"
#include "meta/embedded_meta.h"

namespace kvpagefs {
namespace {

constexpr size_t kEvictStepPages = 64;
constexpr uint64_t kPrefaultStepBytes = uint64_t{4} << 20;
constexpr int kPrefaultNice = 10;

Ownership RootOwner() { return {geteuid(), getegid(), 0755}; }

void StartKeeper(Node::State& node) {
  Keeper::Work work;
  work.evict_step = [&node] { return node.tier->EvictToLow(kEvictStepPages) > 0 && node.tier->AboveLow(); };
  work.retry_waiters = [&node] {
    const int64_t now_ns = node.clock.MonotonicNs();
    node.space.Retry(now_ns);
    node.tiering->Retry(now_ns);
  };
  work.next_deadline_ns = [&node] {
    const int64_t space_ns = node.space.NextDeadline();
    const int64_t fetch_ns = node.tiering->NextDeadline();
    if (space_ns == 0 || fetch_ns == 0) return std::max(space_ns, fetch_ns);
    return std::min(space_ns, fetch_ns);
  };
  work.now_ns = [&node] { return node.clock.MonotonicNs(); };
  work.chore = [&node] {
    for (const auto& file : node.retries.Expire(node.clock.MonotonicNs())) ReleaseHandle(node, file);
    if (node.cluster_parts != nullptr) node.cluster_parts->Prune();
  };
  node.keeper.Start(std::move(work));
}

// Touches the segment at low priority, so that pages written soon after the start meet memory that is there.
void StartPrefault(Node::State& node) {
  if (!node.options.prefault) return;
  node.prefaulter = std::thread([&node] {
    setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kPrefaultNice);
    const Segment& segment = node.tier->segment();
    for (uint64_t at = 0; at < segment.bytes() && !node.stopping.load(); at += kPrefaultStepBytes) {
      const uint64_t bytes = std::min(kPrefaultStepBytes, segment.bytes() - at);
      const Status status = segment.Prefault(at, bytes);
      if (!status.ok()) {
        node.log.Warning("the memory segment cannot be touched in advance: {}", status.error().Describe());
        return;
      }
      node.prefaulted_bytes.fetch_add(bytes);
    }
    node.tiering->RegisterMemory(segment);
  });
}

Status OpenStandalone(Node::State* state) {
  EmbeddedMeta::Options meta_options;
  meta_options.state_dir = state->options.state_dir;
  meta_options.root_owner = RootOwner();
  meta_options.has_page = [state](const PageInfo& page) { return state->tiering->Recovered(page); };
  auto meta = EmbeddedMeta::Open(meta_options, &state->clock, state->log);
  if (!meta.ok()) return meta.error();
  state->meta = std::move(*meta);
  state->tiering->Start({.tier = state->tier.get(), .meta = state->meta.get()});
  return {};
}

Status OpenCluster(Node::State* state) {
  auto parts = ClusterParts::Open(state);
  if (!parts.ok()) return parts.error();
  state->cluster_parts = std::move(*parts);
  state->tiering->Start({.tier = state->tier.get(),
                         .meta = state->meta.get(),
                         .cluster = state->cluster,
                         .remote = state->cluster_parts->remote()});
  return state->cluster_parts->Join();
}

// In the order in which they may go: nothing that is left uses what went before.
void StopParts(Node::State& state) {
  state.stopping.store(true);
  if (state.tiering != nullptr) state.tiering->Stop();
  if (state.cluster_parts != nullptr) state.cluster_parts->Stop();
  state.keeper.Stop();
  if (state.prefaulter.joinable()) state.prefaulter.join();
  // Its completions still tell the keeper of space.
  state.tiering.reset();
}

}  // namespace

Node::State::State(Options node_options, Log node_log) : options(std::move(node_options)), log(std::move(node_log)) {}

// Also of a node that did not come to be.
Node::State::~State() { StopParts(*this); }

void Node::State::OnEvicted(std::span<const PageId> pages) {
  if (!tiering->has_ssd()) return OnLost(pages);
  const std::vector<PageId> lost = tiering->LostOf(pages);
  if (!lost.empty()) OnLost(lost);
  if (cluster == nullptr || lost.size() == pages.size()) return;
  for (const PageId page : pages) tiering->NoteTiers(page);
}

void Node::State::OnLost(std::span<const PageId> pages) {
  for (const PageId page : pages) drafts.ForgetPage(page);
  meta->DropPages(pages, [this](const Result<std::vector<NameRef>>& names) {
    if (!names.ok()) return;
    counters.Add(Counter::kNamesDropped, names->size());
    for (const NameRef& name : *names) events.Add(clock.WallNs(), "evict", name, 0);
  });
}

void Node::State::OnHighWatermark() {
  keeper.RequestEviction();
  tiering->RequestSpace();
}

void Node::State::OnSpaceFreed() { keeper.RequestRetry(); }

Node::Node(std::unique_ptr<State> state) : state_(std::move(state)) {}

Result<std::unique_ptr<Node>> Node::Create(const Options& options, Log log) {
  auto state = std::make_unique<State>(options, std::move(log));
  Segment::Options segment_options;
  segment_options.bytes = options.memory_bytes;
  segment_options.path = options.memory_path;
  segment_options.huge_pages = options.huge_pages;
  Result<Segment> segment = Segment::Map(segment_options);
  if (!segment.ok()) return segment.error();

  MemoryTier::Options tier_options;
  tier_options.high_watermark = options.high_watermark;
  tier_options.low_watermark = options.low_watermark;
  tier_options.max_page_bytes = options.max_page_bytes;
  auto tier = MemoryTier::Create(std::move(*segment), tier_options, &state->clock, state.get());
  if (!tier.ok()) return tier.error();
  state->tier = std::move(*tier);

  Tiering::Parts parts;
  parts.clock = &state->clock;
  parts.counters = &state->counters;
  parts.log = state->log;
  parts.on_lost = [node = state.get()](std::span<const PageId> pages) { node->OnLost(pages); };
  auto tiering = Tiering::Open(options, std::move(parts));
  if (!tiering.ok()) return tiering.error();
  state->tiering = std::move(*tiering);

  if (Status joined = options.meta_addresses.empty() ? OpenStandalone(state.get()) : OpenCluster(state.get());
      !joined.ok()) {
    return joined.error();
  }

  const Segment& mapped = state->tier->segment();
  state->log.Info("memory segment: {}, {}", FormatSize(mapped.bytes()), mapped.description());
  state->start_wall_ns = state->clock.WallNs();
  state->start_monotonic_ns = state->clock.MonotonicNs();
  state->read_path.wanted = options.read_path;
  StartKeeper(*state);
  StartPrefault(*state);
  return std::unique_ptr<Node>(new Node(std::move(state)));
}

void Node::EndSession() {
  // What waits for other nodes is answered while there is somebody to answer to.
  if (state_->cluster_parts != nullptr) state_->cluster_parts->Stop();
  for (FileHandle* handle : state_->file_handles.TakeAll()) CloseHandle(*state_, handle);
  for (DirHandle* handle : state_->dir_handles.TakeAll()) delete handle;
  for (const auto& file : state_->retries.Expire(INT64_MAX)) ReleaseHandle(*state_, file);
}

Node::~Node() = default;

}  // namespace kvpagefs
