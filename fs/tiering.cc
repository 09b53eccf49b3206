#include "fs/tiering.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "meta/page_description.h"

namespace kvpagefs {
namespace {

// Pages that the history of reads remembers: a 16 KiB page each of memory's size, within these limits.
constexpr uint64_t kHistoryPageBytes = 16 * uint64_t{1024};
constexpr uint64_t kMinHistory = 1024;
constexpr uint64_t kMaxHistory = 1 << 20;
// Reads in memory that make a page worth keeping on SSD.
constexpr uint32_t kReadsWanted = 2;

uint64_t HistorySize(const Options& options) {
  return std::clamp(options.memory_bytes / kHistoryPageBytes, kMinHistory, kMaxHistory);
}

}  // namespace

Tiering::Tiering(const Options& options, Parts parts)
    : parts_(std::move(parts)),
      mode_(options.spill),
      stop_timeout_ms_(options.stop_timeout_ms),
      history_(HistorySize(options)) {}

Result<std::unique_ptr<Tiering>> Tiering::Open(const Options& options, Parts parts) {
  std::unique_ptr<Tiering> tiering(new Tiering(options, std::move(parts)));
  if (options.ssd_dirs.empty()) return tiering;
  SsdTier::Options ssd_options;
  ssd_options.dirs = options.ssd_dirs;
  ssd_options.capacity_bytes = options.ssd_bytes;
  ssd_options.max_page_bytes = options.max_page_bytes;
  ssd_options.owner = "kvpagefs " + options.mount_point;
  ssd_options.listener = tiering.get();
  ssd_options.clock = tiering->parts_.clock;
  ssd_options.log = tiering->parts_.log;
  auto ssd = SsdTier::Open(ssd_options, &tiering->recovered_);
  if (!ssd.ok()) return ssd.error();
  tiering->ssd_ = std::move(*ssd);
  tiering->recovered_at_.reserve(tiering->recovered_.size());
  for (size_t i = 0; i < tiering->recovered_.size(); ++i) tiering->recovered_at_[tiering->recovered_[i].id.value] = i;
  return tiering;
}

Tiering::~Tiering() {
  if (spiller_ != nullptr) spiller_->Stop();
  // Its completions use the other parts.
  ssd_.reset();
}

bool Tiering::Recovered(const PageInfo& page) const {
  const auto found = recovered_at_.find(page.id.value);
  if (found == recovered_at_.end()) return false;
  const SsdTier::Recovered& stored = recovered_[found->second];
  return stored.bytes == page.bytes && stored.checksum == page.checksum;
}

void Tiering::Start(const Node& node) {
  tier_ = node.tier;
  meta_ = node.meta;
  cluster_ = node.cluster;
  if (ssd_ != nullptr) {
    Spiller::Parts spill_parts;
    spill_parts.tier = node.tier;
    spill_parts.ssd = ssd_.get();
    spill_parts.meta = node.meta;
    spill_parts.clock = parts_.clock;
    spill_parts.counters = parts_.counters;
    spill_parts.on_written = [this](PageId id) { NoteTiers(id); };
    spill_parts.log = parts_.log;
    spiller_ = std::make_unique<Spiller>(std::move(spill_parts), mode_);
  }
  if (ssd_ != nullptr || node.remote != nullptr) {
    promoter_ = std::make_unique<Promoter>(Promoter::Parts{.tier = node.tier,
                                                           .ssd = ssd_.get(),
                                                           .spiller = spiller_.get(),
                                                           .remote = node.remote,
                                                           .on_arrived = [this](PageId id) { NoteTiers(id); },
                                                           .clock = parts_.clock,
                                                           .counters = parts_.counters,
                                                           .history = &history_});
  }
  if (ssd_ != nullptr && cluster_ == nullptr) Restore();
  started_.store(true);
  if (spiller_ != nullptr) spiller_->Start();
}

void Tiering::NoteTiers(PageId id) {
  if (cluster_ == nullptr) return;
  const uint8_t tiers = (tier_->Use(id).ok() ? kMemoryTier : kNoTier) | (OnSsd(id) ? kSsdTier : kNoTier);
  if (tiers != kNoTier) cluster_->NoteHeld(id, tiers);
}

std::vector<HeldPage> Tiering::Inventory() const {
  std::vector<HeldPage> held;
  held.reserve(recovered_.size());
  for (const SsdTier::Recovered& stored : recovered_) held.push_back({stored.id, kSsdTier});
  return held;
}

bool Tiering::DescribeRecovered(PageId id, PageDescription* described) const {
  const auto found = recovered_at_.find(id.value);
  if (found == recovered_at_.end()) return false;
  const SsdTier::Recovered& stored = recovered_[found->second];
  Result<PageDescription> decoded = DecodeDescription(stored.description);
  if (!decoded.ok() || decoded->path.empty()) return false;
  *described = std::move(*decoded);
  described->page.id = stored.id;
  described->page.bytes = stored.bytes;
  described->page.checksum = stored.checksum;
  return true;
}

void Tiering::Restore() {
  uint64_t known = 0;
  uint64_t named = 0;
  std::vector<PageId> dropped;
  std::string reason;
  for (const SsdTier::Recovered& stored : recovered_) {
    Result<PageDescription> described = DecodeDescription(stored.description);
    if (!described.ok()) described = PageDescription();
    described->page.id = stored.id;
    described->page.bytes = stored.bytes;
    described->page.checksum = stored.checksum;
    bool was_known = false;
    meta_->Describe(stored.id, [&](const Result<PageDescription>& there) {
      was_known = there.ok();
      if (there.ok()) described = *there;
    });
    Status announced;
    if (!was_known) {
      meta_->Announce(*described, [&](const Result<Namespace::Outcome>& outcome) {
        if (!outcome.ok()) announced = outcome.error();
        if (outcome.ok() && outcome->dropped) dropped.push_back(*outcome->dropped);
        // A page of equal content has the name already.
        if (outcome.ok() && outcome->page.id != stored.id) announced = ErrorCode::kExists;
      });
    }
    if (!announced.ok()) {
      if (reason.empty()) reason = announced.error().Describe();
      dropped.push_back(stored.id);
      continue;
    }
    ++(was_known ? known : named);
    if (described->page.pin != Pin::kNone) SetPin(stored.id, described->page.pin);
  }
  ssd_->Remove(dropped);
  parts_.log.Info("SSD tier: {} pages restored under their names, {} named anew, {} dropped{}", known, named,
                  dropped.size(), reason.empty() ? "" : " (the first: " + reason + ")");
  recovered_ = {};
  recovered_at_ = {};
}

void Tiering::Stop() {
  if (!started_.exchange(false)) return;
  if (promoter_ != nullptr) promoter_->AnswerAll(ErrorCode::kInterrupted);
  if (spills()) {
    const auto progress = [this](size_t left) { parts_.log.Info("stopping: {} pages are still to be written", left); };
    const Status drained = spiller_->Drain(std::chrono::milliseconds(stop_timeout_ms_), progress);
    if (!drained.ok()) parts_.log.Warning("stopping: {}", drained.error().Describe());
  }
  if (spiller_ != nullptr) spiller_->Stop();
}

void Tiering::RegisterMemory(const Segment& segment) {
  if (ssd_ == nullptr) return;
  const iovec whole{.iov_base = segment.base(), .iov_len = segment.bytes()};
  ssd_->RegisterMemory(std::span(&whole, 1));
}

MemoryTier::Copy Tiering::SealCopy() const { return spills() ? MemoryTier::Copy::kDirty : MemoryTier::Copy::kClean; }

void Tiering::OnPublished(const PageInfo& page) {
  if (page.pin != Pin::kNone) SetPin(page.id, page.pin);
  if (spills()) spiller_->Enqueue(page.id);
}

std::vector<PageId> Tiering::LostOf(std::span<const PageId> evicted) const {
  std::vector<PageId> lost;
  for (const PageId id : evicted) {
    if (!OnSsd(id)) lost.push_back(id);
  }
  return lost;
}

void Tiering::Remove(PageId id) {
  if (promoter_ == nullptr) return;
  SetPin(id, Pin::kNone);
  history_.Forget(id);
  promoter_->Forget(id);
  if (spiller_ != nullptr) spiller_->Forget(id);
}

void Tiering::SetPin(PageId id, Pin pin) {
  if (ssd_ == nullptr) return;
  MutexLock lock(mutex_);
  if (pin == Pin::kNone) {
    pins_.erase(id.value);
  } else {
    pins_[id.value] = pin;
  }
}

void Tiering::Fetch(const Promoter::Page& page, const Promoter::Request& request, Promoter::Answer answer) {
  if (!started_.load() || promoter_ == nullptr) return answer(ErrorCode::kNotFound);
  promoter_->Fetch(page, request, std::move(answer));
}

void Tiering::InterruptFetch(uint64_t ticket) {
  if (promoter_ != nullptr) promoter_->Interrupt(ticket);
}

void Tiering::MakeDurable(PageId id, std::function<void(const Status&)> done) {
  spiller_->MakeDurable(id, std::move(done));
}

void Tiering::Sync(const std::function<void(const Status&)>& done) {
  if (ssd_ == nullptr) return done({});
  if (!spills()) return ssd_->Sync(done);
  spiller_->MakeAllDurable(done);
}

void Tiering::Retry(int64_t now_ns) {
  if (promoter_ != nullptr) promoter_->Retry(now_ns);
}

int64_t Tiering::NextDeadline() const { return promoter_ != nullptr ? promoter_->NextDeadline() : 0; }

void Tiering::RequestSpace() {
  if (spiller_ != nullptr) spiller_->RequestSpace();
}

void Tiering::GiveUp(uint64_t bytes) {
  if (spiller_ != nullptr) spiller_->GiveUp(bytes);
}

Spiller::Stats Tiering::spill_stats() const { return spiller_ != nullptr ? spiller_->GetStats() : Spiller::Stats(); }

size_t Tiering::fetches_waiting() const { return promoter_ != nullptr ? promoter_->waiting() : 0; }

bool Tiering::IsWanted(PageId id) {
  {
    MutexLock lock(mutex_);
    if (pins_.contains(id.value)) return true;
  }
  if (history_.Contains(id)) return true;
  if (!started_.load()) return false;
  const Result<PageUse> use = tier_->Use(id);
  return use.ok() && use->reads >= kReadsWanted;
}

void Tiering::OnGone(std::span<const PageId> pages) {
  if (!started_.load()) return;
  std::vector<PageId> lost;
  for (const PageId id : pages) {
    if (tier_->Use(id).ok()) {
      NoteTiers(id);
    } else {
      lost.push_back(id);
    }
  }
  if (!lost.empty()) parts_.on_lost(lost);
}

bool Tiering::Describe(PageId id, std::string* description) {
  if (!started_.load()) return false;
  bool known = false;
  meta_->Describe(id, [&](const Result<PageDescription>& described) {
    if (!described.ok()) return;
    *description = EncodeDescription(*described);
    known = true;
  });
  return known;
}

}  // namespace kvpagefs
