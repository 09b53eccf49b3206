#include "spill/ssd_log.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "spill/ssd_log_state.h"
#include "spill/ssd_recovery.h"

namespace kvpagefs {
namespace {

constexpr uint64_t kPreferredMinRegionBytes = uint64_t{16} << 20;
constexpr uint64_t kPreferredMaxRegionBytes = uint64_t{256} << 20;
constexpr uint64_t kDefaultPageBytes = uint64_t{8} << 20;
// A disk that does not answer holds up the end of the log this long.
constexpr int64_t kClosePatienceNs = 60'000'000'000;

}  // namespace

uint64_t SsdLog::RegionBytesFor(uint64_t capacity_bytes, uint64_t max_page_bytes) {
  const uint64_t reserved = RegionTable::ReservedBytes(capacity_bytes);
  const uint64_t quarter = capacity_bytes > reserved ? (capacity_bytes - reserved) / 4 : 0;
  const uint64_t most = std::min(quarter, kMaxRegionBytes) / kBlockBytes * kBlockBytes;
  // A 64th: what a reclaim takes at once, and what a crash may cost to search, stays small against the whole.
  uint64_t bytes = std::clamp(capacity_bytes / 64, kPreferredMinRegionBytes, kPreferredMaxRegionBytes);
  bytes = std::max(bytes, RegionBytesForOne(std::min(max_page_bytes, kMaxRegionBytes), kMaxDescriptionBytes));
  return std::max(std::min(RoundUpToBlock(bytes), most), kMinRegionBytes);
}

// The log's thread, and what it runs.
struct SsdLog::State {
  explicit State(SsdLogSetup setup) : log(std::move(setup)) {}
  ~State() {
    if (!thread.joinable()) return;
    give_up_ns = log.clock->MonotonicNs() + kClosePatienceNs;
    log.Close();
    thread.join();
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  void Run() {
    while (!log.Closed() && log.clock->MonotonicNs() < give_up_ns) {
      if (!log.Step()) log.WaitForWork();
    }
    (void)log.FlushMarks();
  }

  SsdLogState log;
  std::atomic<int64_t> give_up_ns = INT64_MAX;
  std::thread thread;
};

Result<std::unique_ptr<SsdLog>> SsdLog::Open(Setup setup, const RecoverySink& sink, RecoveryCounts* counts) {
  Options options = setup.options;
  if (options.region_bytes == 0) options.region_bytes = RegionBytesFor(options.capacity_bytes, kDefaultPageBytes);
  if (options.region_bytes % kBlockBytes != 0 || options.region_bytes < kMinRegionBytes ||
      options.region_bytes > kMaxRegionBytes) {
    return Error(ErrorCode::kInvalid,
                 fmt::format("a region of {} bytes: it must be a multiple of 4 KiB between {} and {}",
                             options.region_bytes, kMinRegionBytes, kMaxRegionBytes));
  }
  auto state = std::make_unique<State>(SsdLogSetup{.disk = std::move(setup.disk),
                                                   .options = options,
                                                   .listener = setup.listener,
                                                   .clock = setup.clock,
                                                   .log = std::move(setup.log),
                                                   .hooks = {}});
  SsdRecovery recovery(&state->log, sink, counts);
  if (const Status recovered = recovery.Run(); !recovered.ok()) return recovered.error();
  State* const running = state.get();
  state->thread = std::thread([running] { running->Run(); });
  return std::unique_ptr<SsdLog>(new SsdLog(std::move(state)));
}

SsdLog::SsdLog(std::unique_ptr<State> state) : state_(std::move(state)) {}
SsdLog::~SsdLog() = default;

void SsdLog::Append(AppendRequest request) { state_->log.Append(std::move(request)); }

void SsdLog::Read(PageId id, std::vector<iovec> pieces, std::function<void(const Status&)> done) {
  state_->log.Read(id, std::move(pieces), std::move(done));
}

void SsdLog::Sync(std::function<void(const Status&)> done) { state_->log.Sync(std::move(done)); }

Status SsdLog::Remove(PageId id) {
  size_t found = 0;
  Status removed = state_->log.Remove(std::span(&id, 1), &found);
  if (!removed.ok()) return removed;
  return found > 0 ? Status() : Status(ErrorCode::kNotFound);
}

Status SsdLog::Remove(std::span<const PageId> ids) {
  size_t found = 0;
  return state_->log.Remove(ids, &found);
}

Result<SsdLog::PageLocation> SsdLog::Find(PageId id) const { return state_->log.Find(id); }
SsdLog::Stats SsdLog::GetStats() const { return state_->log.GetStats(); }
SsdDisk::Info SsdLog::disk_info() const { return state_->log.disk->GetInfo(); }
Status SsdLog::RegisterMemory(std::span<const iovec> memory) { return state_->log.disk->RegisterMemory(memory); }

}  // namespace kvpagefs
