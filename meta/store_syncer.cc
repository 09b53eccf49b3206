#include "meta/store_syncer.h"

#include <chrono>
#include <utility>

namespace kvpagefs {
namespace {

constexpr std::chrono::seconds kIdleWait{10};

}  // namespace

void StoreSyncer::Start() {
  MutexLock lock(mutex_);
  running_ = true;
  thread_ = std::thread([this] { Run(); });
}

void StoreSyncer::Stop() {
  {
    MutexLock lock(mutex_);
    if (!std::exchange(running_, false)) return;
  }
  wake_.NotifyAll();
  thread_.join();
}

void StoreSyncer::Sync(Done done) {
  {
    MutexLock lock(mutex_);
    if (running_) {
      waiting_.push_back(std::move(done));
      wake_.NotifyOne();
      return;
    }
  }
  done(flush_());
}

bool StoreSyncer::TakeWaiting(std::vector<Done>* waiting) {
  MutexLock lock(mutex_);
  while (running_ && waiting_.empty()) wake_.WaitFor(mutex_, kIdleWait);
  waiting->swap(waiting_);
  return running_ || !waiting->empty();
}

void StoreSyncer::Run() {
  std::vector<Done> waiting;
  while (TakeWaiting(&waiting)) {
    const Status flushed = flush_();
    for (const Done& done : waiting) done(flushed);
    waiting.clear();
  }
}

}  // namespace kvpagefs
