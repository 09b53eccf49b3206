#include "spill/ssd_log_state.h"

#include <algorithm>
#include <chrono>
#include <random>
#include <utility>

namespace kvpagefs {
namespace {

// The log looks at its clock this often: probes, removals that are to be durable within a second.
constexpr std::chrono::milliseconds kTick{250};
// A disk that answers nothing for this long is given up at Open and Close.
constexpr int64_t kPatienceNs = 60'000'000'000;

uint64_t SystemRandom() {
  std::random_device device;
  return uint64_t{device()} << 32 | device();
}

SsdLogHooks WithDefaults(SsdLogHooks hooks) {
  if (!hooks.random) hooks.random = SystemRandom;
  return hooks;
}

}  // namespace

void Give(Answers* answers) {
  for (auto& [done, status] : *answers) done(status);
  answers->clear();
}

SsdLogState::SsdLogState(SsdLogSetup setup)
    : disk(std::move(setup.disk)),
      options(setup.options),
      listener(setup.listener),
      clock(setup.clock),
      log(setup.log),
      hooks(WithDefaults(std::move(setup.hooks))),
      removals(disk.get(), options.node_identity),
      loop(disk.get(), [this] { Wake(); }),
      regions({.capacity_bytes = options.capacity_bytes, .region_bytes = options.region_bytes}) {
  stats.capacity_bytes = options.capacity_bytes;
}

SsdLogState::~SsdLogState() {
  // Its threads run completions that use everything here.
  disk.reset();
}

bool SsdLogState::Step() {
  bool progress = loop.RunReady();
  {
    MutexLock lock(mutex);
    if (recovering) return progress;
  }
  progress = PumpAppends() || progress;
  const int64_t now_ns = clock->MonotonicNs();
  StepClosing();
  const size_t tasks = loop.tasks();
  StartTasks(now_ns);
  KeepRemovals(now_ns);
  return progress || loop.tasks() > tasks;
}

void SsdLogState::Wake() {
  MutexLock lock(wake_mutex);
  woken = true;
  wake_condition.NotifyOne();
}

void SsdLogState::WaitForWork() {
  MutexLock lock(wake_mutex);
  if (!woken) wake_condition.WaitFor(wake_mutex, kTick);
  woken = false;
}

bool SsdLogState::RunUntil(const std::function<bool()>& condition) {
  int64_t since_ns = clock->MonotonicNs();
  for (;;) {
    const bool progress = Step();
    if (condition()) return true;
    if (progress) {
      since_ns = clock->MonotonicNs();
    } else if (clock->MonotonicNs() - since_ns > kPatienceNs) {
      return false;
    } else if (hooks.drive) {
      hooks.drive();
    } else {
      WaitForWork();
    }
  }
}

void SsdLogState::Sync(std::function<void(const Status&)> done) {
  bool closed = false;
  {
    MutexLock lock(mutex);
    closed = closing;
    if (!closed) sync_waiters.push_back(done);
  }
  if (closed) return done(ErrorCode::kUnavailable);
  Wake();
}

void SsdLogState::Close() {
  {
    MutexLock lock(mutex);
    closing = true;
  }
  Wake();
}

bool SsdLogState::Closed() {
  MutexLock lock(mutex);
  if (!closing || writes_in_flight > 0 || reads_in_flight > 0 || loop.tasks() > 0) return false;
  if (!queue.empty() || !moves.empty() || !to_seal.empty() || !sync_waiters.empty()) return false;
  return regions.Find(Region::State::kOpen) == nullptr && regions.Find(Region::State::kReady) == nullptr;
}

SsdLog::Stats SsdLogState::GetStats() const {
  const uint64_t removal_bytes = removals.bytes();
  MutexLock lock(mutex);
  SsdLog::Stats out = stats;
  out.file_bytes = regions.file_bytes() + removal_bytes;
  out.pages = index.size();
  out.regions = regions.regions();
  out.queued_appends = queue.size();
  return out;
}

}  // namespace kvpagefs
