#include "fs/spiller.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "fs/joined.h"
#include "meta/page_description.h"

namespace kvpagefs {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr nanoseconds kIdleWait = std::chrono::seconds(1);
// Reads count as active for so long after the last one ended.
constexpr int64_t kReadsLinger = 20'000'000;
// While reads are active, the pause after each write, in times of its duration: a fifth of the time at most is writing.
constexpr int64_t kGentlePause = 4;
// After the SSD refused, and when it has too much to do.
constexpr int64_t kRefusedPauseNs = 1'000'000'000;
constexpr int64_t kBusyPauseNs = 10'000'000;
constexpr milliseconds kStopLimit{30'000};

}  // namespace

Spiller::Spiller(Parts parts, SpillMode mode) : parts_(std::move(parts)), mode_(mode) {}

Spiller::~Spiller() { Stop(); }

void Spiller::Start() {
  MutexLock lock(mutex_);
  running_ = true;
  thread_ = std::thread([this] { Run(); });
}

void Spiller::Stop() {
  {
    MutexLock lock(mutex_);
    running_ = false;
    wake_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
  absl::flat_hash_map<uint64_t, std::vector<Done>> unanswered;
  {
    MutexLock lock(mutex_);
    const auto end = std::chrono::steady_clock::now() + kStopLimit;
    while ((!writing_.empty() || finishing_ > 0) && std::chrono::steady_clock::now() < end)
      drained_.WaitFor(mutex_, milliseconds(100));
    unanswered.swap(waiting_);
  }
  for (const auto& [id, waiters] : unanswered) {
    for (const Done& done : waiters) done(ErrorCode::kUnavailable);
  }
}

void Spiller::Enqueue(PageId id) {
  MutexLock lock(mutex_);
  queue_.push_back({id, parts_.clock->WallNs()});
  if (mode_ == SpillMode::kWriteBehind) wake_.NotifyOne();
}

void Spiller::MakeDurable(PageId id, Done done) {
  {
    MutexLock lock(mutex_);
    if (!running_ && !draining_) {
      // Below, without the lock.
    } else if (writing_.contains(id.value) || !parts_.ssd->Has(id)) {
      waiting_[id.value].push_back(std::move(done));
      if (!writing_.contains(id.value)) urgent_.push_back(id);
      wake_.NotifyOne();
      return;
    }
  }
  if (!parts_.ssd->Has(id)) return done(ErrorCode::kUnavailable);
  parts_.ssd->Sync(done);
}

void Spiller::MakeAllDurable(Done done) {
  std::vector<PageId> pages;
  {
    MutexLock lock(mutex_);
    for (const Queued& queued : queue_) pages.push_back(queued.id);
    pages.insert(pages.end(), urgent_.begin(), urgent_.end());
    for (const auto& [id, writing] : writing_) pages.push_back(PageId{id});
  }
  const auto joined = std::make_shared<Joined>(pages.size() + 1, std::move(done));
  for (const PageId id : pages) {
    MakeDurable(id, [joined](const Status& status) {
      const bool gone = !status.ok() && status.code() == ErrorCode::kNotFound;
      joined->Add(gone ? Status() : status);
    });
  }
  // Removals, and what became clean just now.
  parts_.ssd->Sync([joined](const Status& status) { joined->Add(status); });
}

void Spiller::Forget(PageId id) {
  {
    MutexLock lock(mutex_);
    const auto found = writing_.find(id.value);
    if (found != writing_.end()) {
      found->second.removed = true;
      return;
    }
  }
  parts_.ssd->Remove(std::span(&id, 1));
}

void Spiller::RequestSpace() {
  MutexLock lock(mutex_);
  space_wanted_ = true;
  wake_.NotifyOne();
}

void Spiller::GiveUp(uint64_t bytes) {
  std::vector<PageId> given_up;
  {
    MutexLock lock(mutex_);
    while (bytes > 0 && !queue_.empty()) {
      const PageId id = queue_.front().id;
      queue_.pop_front();
      const Result<PageUse> use = parts_.tier->Use(id);
      if (!use.ok() || !use->dirty) continue;
      given_up.push_back(id);
      bytes -= std::min(bytes, use->resident_bytes);
    }
  }
  parts_.counters->Add(Counter::kSpillsGivenUp, given_up.size());
  for (const PageId id : given_up) parts_.tier->MarkClean(id);
}

void Spiller::BeginRead() { reads_.fetch_add(1); }

void Spiller::EndRead() {
  last_read_ns_.store(parts_.clock->MonotonicNs());
  reads_.fetch_sub(1);
}

bool Spiller::ReadsAreActive(int64_t now_ns) const {
  return reads_.load() > 0 || now_ns - last_read_ns_.load() < kReadsLinger;
}

// So much is dirty, or so little else is left, that writers would soon wait: no more consideration for reads.
bool Spiller::UnderPressure() const {
  const MemoryTier::Stats stats = parts_.tier->GetStats();
  return stats.dirty_bytes > stats.capacity_bytes / 2 ||
         stats.free_bytes + stats.evictable_bytes < stats.capacity_bytes / 10;
}

Status Spiller::Drain(milliseconds limit, const std::function<void(size_t)>& progress) {
  const auto end = std::chrono::steady_clock::now() + limit;
  auto next_report = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  MutexLock lock(mutex_);
  draining_ = true;
  wake_.NotifyAll();
  const auto left = [this]()
                        KVP_REQUIRES(mutex_) { return queue_.size() + urgent_.size() + writing_.size() + finishing_; };
  while (left() > 0 && std::chrono::steady_clock::now() < end) {
    drained_.WaitFor(mutex_, milliseconds(50));
    if (std::chrono::steady_clock::now() < next_report) continue;
    next_report += std::chrono::seconds(1);
    progress(left());
  }
  draining_ = false;
  if (left() == 0) return {};
  return Error(ErrorCode::kUnavailable, fmt::format("{} pages were not written to SSD in time", left()));
}

Spiller::Stats Spiller::GetStats() const {
  MutexLock lock(mutex_);
  return {.queued_pages = queue_.size() + urgent_.size(),
          .pages_in_flight = writing_.size(),
          .bytes_in_flight = bytes_in_flight_};
}

void Spiller::Run() {
  for (;;) {
    PageId next;
    {
      MutexLock lock(mutex_);
      for (;;) {
        if (!running_) return;
        nanoseconds wait = kIdleWait;
        if (TakeNextLocked(&next, &wait)) break;
        wake_.WaitFor(mutex_, wait);
      }
    }
    Write(next);
  }
}

bool Spiller::TakeNextLocked(PageId* next, nanoseconds* wait) {
  const int64_t now_ns = parts_.clock->MonotonicNs();
  if (now_ns < busy_until_ns_) {
    *wait = std::min(*wait, nanoseconds(busy_until_ns_ - now_ns));
    return false;
  }
  const bool gentle = !draining_ && urgent_.empty() && ReadsAreActive(now_ns) && !UnderPressure();
  if (bytes_in_flight_ >= (gentle ? kGentleBytes : kMaxBytesInFlight)) return false;
  if (!urgent_.empty()) {
    *next = urgent_.front();
    urgent_.pop_front();
  } else {
    if (now_ns < not_before_ns_) {
      *wait = std::min(*wait, nanoseconds(not_before_ns_ - now_ns));
      return false;
    }
    if (!TakeQueuedLocked(next)) return false;
  }
  // One and the same page is not written twice at a time.
  if (writing_.contains(next->value)) return false;
  Writing& writing = writing_[next->value];
  writing.begin_ns = gentle ? now_ns : 0;
  return true;
}

bool Spiller::TakeQueuedLocked(PageId* next) {
  if (mode_ == SpillMode::kOff) {
    queue_.clear();
    return false;
  }
  const bool now = draining_ || mode_ == SpillMode::kWriteBehind || space_wanted_;
  if (!now) return false;
  if (mode_ == SpillMode::kOnEvict && !draining_ && !UnderPressure()) {
    space_wanted_ = false;
    return false;
  }
  // On eviction, a page that was read since it was queued has its turn later.
  for (size_t tries = queue_.size(); tries > 0; --tries) {
    Queued first = queue_.front();
    queue_.pop_front();
    if (mode_ == SpillMode::kOnEvict && !draining_ && tries > 1) {
      const Result<PageUse> use = parts_.tier->Use(first.id);
      if (use.ok() && use->last_read_ns > first.since_ns) {
        queue_.push_back({first.id, use->last_read_ns});
        continue;
      }
    }
    *next = first.id;
    return true;
  }
  return false;
}

void Spiller::Write(PageId id) {
  Result<PageHold> hold = parts_.tier->Hold(id, MemoryTier::Touch::kNone);
  if (parts_.ssd->Has(id)) return Finish(id, {});
  if (!hold.ok()) return Finish(id, hold.error());
  const auto shared = std::make_shared<PageHold>(std::move(*hold));
  parts_.meta->Describe(id, [this, id, shared](const Result<PageDescription>& described) {
    // Without a name nobody will ask for it.
    if (!described.ok()) return Finish(id, ErrorCode::kNotFound);
    Append(id, shared, *described);
  });
}

void Spiller::Append(PageId id, const std::shared_ptr<PageHold>& hold, const PageDescription& described) {
  SsdLog::AppendRequest request;
  request.id = id;
  request.bytes = hold->bytes();
  request.checksum = hold->checksum();
  request.description = EncodeDescription(described);
  hold->Blocks(&request.pieces);
  request.done = [this, id, hold](const Status& status) {
    *hold = PageHold();
    Finish(id, status);
  };
  {
    MutexLock lock(mutex_);
    Writing& writing = writing_[id.value];
    writing.bytes = std::max<uint64_t>(hold->bytes(), 1);
    bytes_in_flight_ += writing.bytes;
  }
  parts_.ssd->Append(std::move(request));
}

void Spiller::Finish(PageId id, const Status& status) {
  const bool written = status.ok();
  const bool later = !written && status.code() == ErrorCode::kWouldBlock;
  const bool refused = !written && !later && status.code() != ErrorCode::kNotFound;
  std::vector<Done> waiters;
  bool removed = false;
  {
    MutexLock lock(mutex_);
    const auto found = writing_.find(id.value);
    const Writing writing = found->second;
    writing_.erase(found);
    ++finishing_;
    bytes_in_flight_ -= writing.bytes;
    removed = writing.removed;
    PlanNextLocked(id, writing, status);
    const auto waiting = waiting_.find(id.value);
    if (waiting != waiting_.end() && (!later || removed)) {
      waiters = std::move(waiting->second);
      waiting_.erase(waiting);
    }
  }
  if (refused) parts_.counters->Add(Counter::kSpillFailures);
  if (!later) parts_.tier->MarkClean(id);
  if (removed && written) parts_.ssd->Remove(std::span(&id, 1));
  if (!removed && written && parts_.on_written) parts_.on_written(id);
  AnswerDurable(std::move(waiters), status);
  MutexLock lock(mutex_);
  --finishing_;
  wake_.NotifyOne();
  drained_.NotifyAll();
}

void Spiller::PlanNextLocked(PageId id, const Writing& writing, const Status& status) {
  const int64_t now_ns = parts_.clock->MonotonicNs();
  if (writing.begin_ns != 0) not_before_ns_ = now_ns + kGentlePause * (now_ns - writing.begin_ns);
  if (status.ok() || writing.removed) return;
  if (status.code() == ErrorCode::kWouldBlock) {
    busy_until_ns_ = now_ns + kBusyPauseNs;
    // Somebody waits for it: not to be left to a turn that may never come.
    if (waiting_.contains(id.value)) {
      urgent_.push_front(id);
    } else {
      queue_.push_front({id, parts_.clock->WallNs()});
    }
  } else if (status.code() == ErrorCode::kUnavailable && !draining_) {
    // The page may be evicted meanwhile, and is lost then; if it is still here it is tried again.
    not_before_ns_ = now_ns + kRefusedPauseNs;
    queue_.push_back({id, parts_.clock->WallNs()});
  }
}

void Spiller::AnswerDurable(std::vector<Done> waiters, const Status& status) {
  if (waiters.empty()) return;
  if (!status.ok()) {
    for (const Done& done : waiters) done(status);
    return;
  }
  parts_.ssd->Sync([waiters = std::move(waiters)](const Status& synced) {
    for (const Done& done : waiters) done(synced);
  });
}

}  // namespace kvpagefs
