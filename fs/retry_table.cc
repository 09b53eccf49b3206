#include "fs/retry_table.h"

#include <utility>

namespace kvpagefs {
namespace {

bool IsName(const NameRef& name, NameView view) { return name.parent == view.parent && name.name == view.name; }

}  // namespace

bool RetryTable::Expect(uint32_t tid, Purpose purpose, int64_t now_ns) {
  Read earlier;  // its hold goes behind the lock
  MutexLock lock(mutex_);
  const auto [at, fresh] = reads_.try_emplace(tid);
  const bool waits =
      !fresh && !at->second.granted && !at->second.missing && now_ns - at->second.since_ns < kRepeatedWithinNs;
  if (waits) {
    reads_.erase(at);
  } else {
    earlier = std::exchange(at->second, Read{now_ns, purpose, std::nullopt, std::nullopt});
  }
  CountLocked();
  return !waits;
}

std::shared_ptr<DraftFile> RetryTable::ExpectWrite(uint32_t tid, std::shared_ptr<DraftFile> file, NameRef name,
                                                   int64_t now_ns) {
  MutexLock lock(mutex_);
  Write& write = writes_[tid];
  std::shared_ptr<DraftFile> earlier = std::move(write.file);
  write = Write{now_ns + kLifetimeNs, std::move(file), std::move(name)};
  CountLocked();
  return earlier;
}

std::optional<RetryTable::Purpose> RetryTable::Expected(uint32_t tid, NameView name, int64_t now_ns) const {
  MutexLock lock(mutex_);
  const auto found = reads_.find(tid);
  if (found == reads_.end()) return std::nullopt;
  const Read& read = found->second;
  if (read.missing && (!IsName(*read.missing, name) || now_ns - read.since_ns >= kRepeatedWithinNs))
    return std::nullopt;
  return read.purpose;
}

void RetryTable::FoundNothing(uint32_t tid, NameView name) {
  MutexLock lock(mutex_);
  const auto found = reads_.find(tid);
  if (found == reads_.end() || found->second.granted) return;
  if (found->second.missing) {
    reads_.erase(found);
  } else {
    found->second.missing = NameRef{name.parent, std::string(name.name)};
  }
  CountLocked();
}

void RetryTable::Fulfil(uint32_t tid) {
  MutexLock lock(mutex_);
  reads_.erase(tid);
  CountLocked();
}

void RetryTable::Grant(uint32_t tid, Granted granted) {
  std::optional<Granted> mine(std::move(granted));  // an earlier one goes behind the lock
  MutexLock lock(mutex_);
  const auto found = reads_.find(tid);
  if (found != reads_.end()) std::swap(found->second.granted, mine);
}

std::shared_ptr<DraftFile> RetryTable::WriteExpected(uint32_t tid, NameView name) const {
  MutexLock lock(mutex_);
  const auto found = writes_.find(tid);
  if (found == writes_.end()) return nullptr;
  const Write& write = found->second;
  return IsName(write.name, name) ? write.file : nullptr;
}

std::optional<RetryTable::Granted> RetryTable::TakeGrant(uint32_t tid, PageId page) {
  if (!any()) return std::nullopt;
  std::optional<Granted> granted;  // one for another page goes behind the lock
  MutexLock lock(mutex_);
  const auto found = reads_.find(tid);
  if (found == reads_.end() || !found->second.granted) return std::nullopt;
  granted.swap(found->second.granted);
  reads_.erase(found);
  CountLocked();
  if (granted->page.id != page) return std::nullopt;
  return granted;
}

std::optional<PageInfo> RetryTable::GrantedPage(uint32_t tid, PageId page) const {
  if (!any()) return std::nullopt;
  MutexLock lock(mutex_);
  const auto found = reads_.find(tid);
  if (found == reads_.end() || !found->second.granted || found->second.granted->page.id != page) return std::nullopt;
  return found->second.granted->page;
}

bool RetryTable::FinishWrite(uint32_t tid, const DraftFile* file) {
  if (!any()) return false;
  MutexLock lock(mutex_);
  const auto found = writes_.find(tid);
  if (found == writes_.end() || found->second.file.get() != file) return false;
  writes_.erase(found);
  CountLocked();
  return true;
}

std::vector<std::shared_ptr<DraftFile>> RetryTable::Expire(int64_t now_ns) {
  std::vector<std::shared_ptr<DraftFile>> abandoned;
  if (!any()) return abandoned;
  std::vector<Read> dropped;  // their holds go behind the lock
  MutexLock lock(mutex_);
  absl::erase_if(reads_, [&](auto& item) {
    if (now_ns - item.second.since_ns < kLifetimeNs) return false;
    dropped.push_back(std::move(item.second));
    return true;
  });
  absl::erase_if(writes_, [&](auto& item) {
    if (item.second.expires_ns > now_ns) return false;
    abandoned.push_back(std::move(item.second.file));
    return true;
  });
  CountLocked();
  return abandoned;
}

}  // namespace kvpagefs
