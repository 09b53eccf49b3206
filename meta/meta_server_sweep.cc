// What time brings: silent nodes, waits that are over, names without a copy, files.
#include <algorithm>

#include "meta/meta_server_state.h"

namespace kvpagefs {
namespace {

constexpr int64_t kNsPerMs = 1'000'000;
// Work is done for so long at a time; the disk has to keep up with what it makes.
constexpr int64_t kWorkNs = 10 * kNsPerMs;
constexpr int64_t kBusyDelayMs = 20;
constexpr int64_t kIdleDelayMs = 100;
// Under the lock: a few milliseconds.
constexpr size_t kSweepPages = 4096;
constexpr size_t kWalkNames = 1024;
constexpr size_t kDropNames = 512;
// A node that tells what it has for longer than this holds up nothing any more.
constexpr int64_t kInventoryTimeouts = 12;

}  // namespace

int64_t MetaServer::State::Tick() {
  const int64_t start_ns = Now();
  bool more = true;
  for (bool first = true; more && (first || Now() - start_ns < kWorkNs); first = false) {
    {
      MutexLock lock(mutex);
      if (first) CheckTimesLocked(start_ns);
      more = StepLocked(start_ns);
    }
    CloseLinks();
  }
  (void)SaveFiles();  // status shows what is wrong
  return more ? kBusyDelayMs : kIdleDelayMs;
}

void MetaServer::State::CheckTimesLocked(int64_t now_ns) {
  const NodeTable::Ticked ticked = nodes.Tick(now_ns);
  if (ticked.paused_ns > 0) log.Warning("this process did not run for {} ms", ticked.paused_ns / kNsPerMs);
  grace_end_ns += ticked.paused_ns;
  std::set<NodeSlot> silent;
  for (const auto& waiting : waiting_answers) {
    waiting->deadline_ns += ticked.paused_ns;
    if (now_ns >= waiting->deadline_ns) silent.insert(waiting->slots.begin(), waiting->slots.end());
  }
  for (const NodeSlot slot : ticked.ended) {
    const auto session = sessions.find(slot);
    if (session == sessions.end()) continue;
    log.Warning("node {} (number {}) is down: nothing heard for {} ms", session->second.name, nodes.NumberOf(slot),
                options.timeout_ms);
    ForgetSessionLocked(slot, nullptr);
  }
  for (const NodeSlot slot : silent) {
    EndSessionLocked(slot, "it did not acknowledge in time what is gone");
  }
}

bool MetaServer::State::StepLocked(int64_t now_ns) {
  if (!orphans.empty()) {
    DropOrphansLocked();
    return true;
  }
  // What a node that is telling has, nobody else may have.
  const bool telling = nodes.AnyJoining(now_ns, kInventoryTimeouts * options.timeout_ms * kNsPerMs);
  if (sweeping.empty() && !telling) {
    const std::vector<NodeSlot> slots = nodes.Sweepable(now_ns);
    sweeping.insert(slots.begin(), slots.end());
    sweep_position = {};
  }
  if (!sweeping.empty()) return SweepStepLocked();
  if (!walked && !telling && now_ns >= grace_end_ns) return WalkStepLocked();
  if (swept_names > 0) log.Info("{} names went because no node has their pages", std::exchange(swept_names, 0));
  return false;
}

bool MetaServer::State::SweepStepLocked() {
  const ReplicaTable::Sweeping what{
      .is_dead = [this](NodeSlot slot) KVP_NO_THREAD_SAFETY_ANALYSIS { return sweeping.contains(slot); },
      .orphan = [this](PageId page) KVP_NO_THREAD_SAFETY_ANALYSIS { orphans.push_back(page); }};
  if (!replicas.Sweep(&sweep_position, kSweepPages, what)) return true;
  for (const NodeSlot slot : sweeping) nodes.Free(slot);
  sweeping.clear();
  return true;
}

bool MetaServer::State::WalkStepLocked() {
  walked = meta->WalkPages(&walk_position, kWalkNames, [this](const PageInfo& page) KVP_NO_THREAD_SAFETY_ANALYSIS {
    if (!replicas.HasAny(page.id)) orphans.push_back(page.id);
  });
  return true;
}

void MetaServer::State::DropOrphansLocked() {
  std::vector<PageId> pages;
  for (size_t i = 0; i < kDropNames && !orphans.empty(); ++i) {
    if (!replicas.HasAny(orphans.front())) pages.push_back(orphans.front());
    orphans.pop_front();
  }
  swept_names += DropPagesLocked(pages).size();
}

std::vector<NameRef> MetaServer::State::DropPagesLocked(const std::vector<PageId>& pages) {
  if (pages.empty()) return {};
  auto names = Answered<std::vector<NameRef>>([&](auto done) { meta->DropPages(pages, done); });
  return names.ok() ? *std::move(names) : std::vector<NameRef>();
}

Status MetaServer::State::SaveFiles() {
  MutexLock saving(save_mutex);
  std::vector<NodeTable::Known> kept;
  uint64_t version = 0;
  {
    MutexLock lock(mutex);
    const std::vector<PageId> more = deleted.TakeUnsaved();
    if (files == nullptr) return {};
    unsaved_deleted.insert(unsaved_deleted.end(), more.begin(), more.end());
    version = nodes.kept_version();
    if (version != saved_nodes) kept = nodes.Kept();
  }
  Status saved = files->AppendDeleted(unsaved_deleted);
  if (saved.ok()) {
    unsaved_deleted.clear();
  } else if (unsaved_deleted.size() > ServerFiles::kMaxRecords) {
    unsaved_deleted.erase(unsaved_deleted.begin(), unsaved_deleted.end() - ServerFiles::kMaxRecords);
  }
  if (version != saved_nodes) {
    const Status nodes_saved = files->SaveNodes(kept);
    if (nodes_saved.ok()) saved_nodes = version;
    if (saved.ok()) saved = nodes_saved;
  }
  SetProblem(saved);
  return saved;
}

void MetaServer::State::SetProblem(const Status& saved) {
  const std::string text = saved.ok() ? "" : saved.error().Describe();
  MutexLock lock(mutex);
  if (text == problem) return;
  if (text.empty()) {
    log.Info("state directory {}: writing works again", options.state_dir);
  } else {
    log.Error("state directory {}: cannot write, going on from memory: {}", options.state_dir, text);
  }
  problem = text;
}

}  // namespace kvpagefs
