#include "spill/uring_thread.h"

#include <cassert>
#include <cerrno>
#include <system_error>

#include <sys/eventfd.h>
#include <unistd.h>

namespace kvpagefs {
namespace {

using std::chrono::nanoseconds;

constexpr nanoseconds kCheck = std::chrono::seconds(1);
constexpr int64_t kSecondNs = 1'000'000'000;
constexpr int64_t kStartLimitNs = 30 * kSecondNs;
constexpr int64_t kGraceNs = 10 * kSecondNs;  // for the thread to notice that the time is over

}  // namespace

UringThread::UringThread(Options options, int eventfd) : options_(std::move(options)), eventfd_(eventfd) {}

Result<std::shared_ptr<UringThread>> UringThread::Start(Options options) {
  const int wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake < 0) return Error::FromSystem(errno, "eventfd");
  std::shared_ptr<UringThread> made(new UringThread(std::move(options), wake));
  try {
    made->thread_ = std::thread([made] { made->Main(); });
  } catch (const std::system_error& error) {
    return Error::FromSystem(error.code().value(), "thread for io_uring");
  }
  std::optional<Status> set_up;
  {
    const MutexLock lock(made->mutex_);
    const int64_t deadline = made->clock_.MonotonicNs() + kStartLimitNs;
    while (!made->set_up_.has_value() && made->clock_.MonotonicNs() < deadline) {
      made->changed_.WaitFor(made->mutex_, kCheck);
    }
    set_up = made->set_up_;
  }
  if (set_up.has_value() && set_up->ok()) return made;
  if (!set_up.has_value()) {
    made->thread_.detach();
    return Error(ErrorCode::kUnavailable, "io_uring: the kernel does not answer");
  }
  made->thread_.join();
  return set_up->error();
}

void UringThread::Submit(std::vector<std::unique_ptr<Transfer>> batch) {
  bool wake = false;
  {
    const MutexLock lock(mutex_);
    assert(stop_deadline_ns_ == 0);
    for (std::unique_ptr<Transfer>& transfer : batch) {
      if (queue_.size() < options_.max_queued) {
        queue_.push_back(std::move(transfer));
      } else {
        refused_.push_back(std::move(transfer));
      }
    }
    wake = std::exchange(asleep_, false);
  }
  if (wake) Wake();
}

Status UringThread::Run(Call call, int64_t limit_ns) {
  if (std::this_thread::get_id() == thread_.get_id()) {
    RunCommands();
    return call(*ring_);
  }
  const auto command = std::make_shared<Command>(Command{.call = std::move(call), .result = std::nullopt});
  bool wake = false;
  {
    const MutexLock lock(mutex_);
    commands_.push_back(command);
    wake = std::exchange(asleep_, false);
  }
  if (wake) Wake();
  if (limit_ns == 0) return {};
  const int64_t deadline = clock_.MonotonicNs() + limit_ns;
  const MutexLock lock(mutex_);
  while (!command->result.has_value()) {
    const int64_t left = deadline - clock_.MonotonicNs();
    if (left <= 0) return Error(ErrorCode::kUnavailable, "io_uring: the kernel takes too long");
    changed_.WaitFor(mutex_, nanoseconds(left));
  }
  return *command->result;
}

void UringThread::Stop() {
  assert(std::this_thread::get_id() != thread_.get_id());
  const int64_t start = clock_.MonotonicNs();
  {
    const MutexLock lock(mutex_);
    stop_deadline_ns_ = start + options_.drain_ns;
    asleep_ = false;
  }
  Wake();
  End end = End::kNotYet;
  {
    const MutexLock lock(mutex_);
    while (end_ == End::kNotYet && clock_.MonotonicNs() < start + options_.drain_ns + kGraceNs) {
      changed_.WaitFor(mutex_, kCheck);
    }
    end = end_;
  }
  if (end == End::kClean) {
    thread_.join();
  } else {
    // It keeps this object, and with it all that the kernel may still use.
    thread_.detach();
  }
}

void UringThread::Wake() {
  const uint64_t one = 1;
  // Fails only when 2^64 wake-ups are waiting.
  if (write(eventfd_.get(), &one, sizeof(one)) < 0) errno = 0;
}

void UringThread::Main() {
  Status set_up = SetUp();
  const bool ok = set_up.ok();
  {
    const MutexLock lock(mutex_);
    set_up_ = std::move(set_up);
  }
  changed_.NotifyAll();
  if (ok) Loop();
  ring_.reset();
}

}  // namespace kvpagefs
