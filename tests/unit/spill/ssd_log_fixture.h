// An SSD log on a simulated disk, in one thread: time, completions and the log's own steps come when the test says so.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/checksum.h"
#include "spill/ssd_log_state.h"
#include "spill/ssd_recovery.h"
#include "unit/spill/sim_disk.h"
#include "unit/spill/tier_fixture.h"

namespace kvpagefs {

// A page's blocks in memory, as the log takes them.
struct PageBuffer {
  explicit PageBuffer(uint64_t page_bytes) : memory(page_bytes), bytes(page_bytes) {}
  PageBuffer(std::span<const std::byte> page) : PageBuffer(page.size()) {  // NOLINT(google-explicit-constructor)
    std::ranges::copy(page, memory.data());
  }
  // In pieces of at most `piece_bytes`.
  std::vector<iovec> Pieces(uint64_t piece_bytes = UINT64_MAX) const {
    std::vector<iovec> out;
    for (uint64_t at = 0; at < memory.size(); at += piece_bytes) {
      out.push_back(memory.piece(at, std::min(piece_bytes, memory.size() - at)));
      if (piece_bytes >= memory.size()) break;
    }
    return out;
  }
  std::span<const std::byte> page() const { return memory.bytes().first(bytes); }

  AlignedBuffer memory;
  uint64_t bytes;
};

class SsdListener : public SsdLog::Listener {
 public:
  bool IsWanted(PageId id) override {
    asked.insert(id.value);
    if (on_asked) on_asked(id);
    return wanted.contains(id.value);
  }
  void OnGone(std::span<const PageId> pages) override {
    for (const PageId id : pages) gone.insert(id.value);
  }
  bool Describe(PageId id, std::string* description) override {
    const auto found = descriptions.find(id.value);
    if (found == descriptions.end()) return false;
    *description = found->second;
    return true;
  }

  std::set<uint64_t> wanted;
  std::set<uint64_t> asked;
  std::set<uint64_t> gone;
  std::map<uint64_t, std::string> descriptions;
  std::function<void(PageId)> on_asked;
};

class SsdLogTest : public testing::Test {
 protected:
  struct Recovered {
    uint64_t bytes = 0;
    uint64_t checksum = 0;
    std::string description;
  };
  static constexpr uint64_t kRegion = uint64_t{64} * kBlockBytes;

  SsdLogTest() { MakeStore(1); }
  void MakeStore(uint64_t seed) { store_ = std::make_shared<SimStore>(seed); }
  static uint64_t CapacityFor(uint64_t regions, uint64_t region_bytes = kRegion) {
    uint64_t capacity = regions * region_bytes;
    while (capacity - RegionTable::ReservedBytes(capacity) < regions * region_bytes) capacity += kBlockBytes;
    return capacity;
  }

  Status TryOpen(SsdLog::Options options) {
    if (options.region_bytes == 0) options.region_bytes = kRegion;
    if (options.capacity_bytes == 0) options.capacity_bytes = CapacityFor(8, options.region_bytes);
    if (options.node_identity == 0) options.node_identity = 77;
    options_ = options;
    auto disk = std::make_unique<SimDisk>(store_);
    disk_ = disk.get();
    recovered_.clear();
    counts_ = {};
    log_ = std::make_unique<SsdLogState>(
        SsdLogSetup{.disk = std::move(disk),
                    .options = options,
                    .listener = &listener_,
                    .clock = &clock_,
                    .hooks = {.drive = [this] { Drive(); }, .random = [this] { return store_->random(); }}});
    const SsdLog::RecoverySink sink = [this](const SsdLog::RecoveredPage& page) {
      const bool added =
          recovered_.try_emplace(page.id.value, page.bytes, page.checksum, std::string(page.description)).second;
      EXPECT_TRUE(added) << "page " << page.id.value << " was told twice";
    };
    SsdRecovery recovery(log_.get(), sink, &counts_);
    const Status status = recovery.Run();
    if (!status.ok()) log_.reset();
    return status;
  }
  void Open(const SsdLog::Options& options = {}) {
    const Status opened = TryOpen(options);
    ASSERT_TRUE(opened.ok()) << opened.error().Describe();
  }
  void Drive() {
    if (!disk_->Step()) clock_.Advance(1'000'000'000);
  }
  // Until nothing moves any more.
  void Settle() {
    while (log_->Step() || disk_->Step()) continue;
  }
  void Close() {
    log_->Close();
    ASSERT_TRUE(log_->RunUntil([this] { return log_->Closed(); }));
    log_.reset();
  }
  void Reopen(const SsdLog::Options& options) {
    Close();
    Open(options);
  }
  void Reopen() { Reopen(options_); }
  // A process that is killed; transfers under way may or may not have happened.
  void Kill() { log_.reset(); }
  void PowerCut() {
    log_.reset();
    store_->PowerCut();
  }

  template <class Start>
  Status Wait(Start start) {
    std::optional<Status> answer;
    start([&answer](const Status& status) { answer = status; });
    EXPECT_TRUE(log_->RunUntil([&answer] { return answer.has_value(); }));
    return answer ? *answer : Status(ErrorCode::kUnavailable);
  }
  static SsdLog::AppendRequest Request(uint64_t counter, const PageBuffer& page, std::string description = "d") {
    return {.id = Id(counter),
            .bytes = page.bytes,
            .checksum = Checksum(page.page()),
            .description = std::move(description),
            .pieces = page.Pieces(),
            .done = nullptr};
  }
  Status Append(uint64_t counter, uint64_t bytes, const std::string& description = "d") {
    const PageBuffer page(Pattern(bytes, counter));
    return Wait([&](auto done) {
      SsdLog::AppendRequest request = Request(counter, page, description);
      request.done = done;
      log_->Append(std::move(request));
    });
  }
  void Put(uint64_t counter, uint64_t bytes, const std::string& description = "d") {
    const Status stored = Append(counter, bytes, description);
    ASSERT_TRUE(stored.ok()) << "page " << counter << ": " << stored.error().Describe();
  }
  Status Read(uint64_t counter, uint64_t bytes) {
    const PageBuffer page(bytes);
    const Status read = Wait([&](auto done) { log_->Read(Id(counter), page.Pieces(), done); });
    if (read.ok()) {
      EXPECT_TRUE(std::ranges::equal(page.page(), Pattern(bytes, counter))) << "page " << counter;
    }
    return read;
  }
  bool Readable(uint64_t counter, uint64_t bytes) { return Read(counter, bytes).ok(); }
  Status Sync() {
    return Wait([&](auto done) { log_->Sync(done); });
  }
  Status Remove(uint64_t counter) {
    size_t found = 0;
    const PageId id = Id(counter);
    Status removed = log_->Remove(std::span(&id, 1), &found);
    if (!removed.ok()) return removed;
    return found > 0 ? Status() : Status(ErrorCode::kNotFound);
  }
  bool Has(uint64_t counter) { return log_->Find(Id(counter)).ok(); }
  std::string FileOf(uint64_t counter) {
    const uint64_t sequence = log_->Find(Id(counter))->region;
    MutexLock lock(log_->mutex);
    std::string name;
    log_->regions.ForEach([&](const Region& region) {
      if (region.key.sequence == sequence) name = region.name;
    });
    return name;
  }
  uint64_t OffsetOf(uint64_t counter) { return log_->Find(Id(counter))->offset; }

  ManualClock clock_;
  SsdListener listener_;
  std::shared_ptr<SimStore> store_;
  SsdLog::Options options_;
  SimDisk* disk_ = nullptr;
  std::map<uint64_t, Recovered> recovered_;
  SsdLog::RecoveryCounts counts_;
  std::unique_ptr<SsdLogState> log_;
};

}  // namespace kvpagefs
