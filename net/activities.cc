#include "net/activities.h"

#include <chrono>
#include <utility>

namespace kvpagefs {

uint64_t Activities::Begin(std::function<void()> stop) {
  MutexLock lock(mutex_);
  if (stopping_) return 0;
  stops_.emplace(++last_id_, std::move(stop));
  return last_id_;
}

void Activities::End(uint64_t id) {
  std::function<void()> dropped;  // may hold the last reference to something with a destructor
  MutexLock lock(mutex_);
  const auto found = stops_.find(id);
  if (found == stops_.end()) return;
  dropped = std::move(found->second);
  stops_.erase(found);
  changed_.NotifyAll();
}

void Activities::Enter() {
  MutexLock lock(mutex_);
  ++callbacks_;
}

void Activities::Leave() {
  MutexLock lock(mutex_);
  --callbacks_;
  changed_.NotifyAll();
}

size_t Activities::Count() const {
  MutexLock lock(mutex_);
  return stops_.size();
}

void Activities::StopAndWait() {
  std::map<uint64_t, std::function<void()>> stops;
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    stops = stops_;
  }
  for (const auto& [id, stop] : stops) stop();
  stops.clear();
  MutexLock lock(mutex_);
  while (!stops_.empty() || callbacks_ > 0) changed_.WaitFor(mutex_, std::chrono::seconds(1));
}

}  // namespace kvpagefs
