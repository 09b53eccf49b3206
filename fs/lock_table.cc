#include "fs/lock_table.h"

#include <algorithm>
#include <cassert>

#include <absl/container/flat_hash_set.h>

namespace kvpagefs {
namespace {

using Claim = LockTable::Claim;
using Kind = LockTable::Kind;
using Mode = LockTable::Mode;

bool Overlap(const Claim& a, const Claim& b) { return a.first <= b.last && b.first <= a.last; }

bool Blocks(const Claim& held, const Claim& claim) {
  return claim.mode != Mode::kUnlock && held.owner != claim.owner &&
         (held.mode == Mode::kExclusive || claim.mode == Mode::kExclusive) && Overlap(held, claim);
}

bool Joinable(const Claim& a, const Claim& b) {
  return a.owner == b.owner && a.mode == b.mode && a.handle == b.handle &&
         (a.last + 1 == b.first || b.last + 1 == a.first);
}

// What is left of `lock` outside of `cut`, which it overlaps.
void AddRemainders(const Claim& lock, const Claim& cut, std::vector<Claim>* to) {
  if (lock.first < cut.first) {
    to->push_back(lock);
    to->back().last = cut.first - 1;
  }
  if (lock.last > cut.last) {
    to->push_back(lock);
    to->back().first = cut.last + 1;
  }
}

}  // namespace

std::optional<LockTable::Key> LockTable::KeyOf(uint64_t handle) const {
  if (bound_count_.load() == 0) return std::nullopt;
  MutexLock lock(mutex_);
  const auto found = handles_.find(handle);
  if (found == handles_.end()) return std::nullopt;
  return found->second;
}

void LockTable::Bind(uint64_t handle, const Key& key) {
  MutexLock lock(mutex_);
  handles_.try_emplace(handle, key);
  bound_count_.store(handles_.size());
}

const LockTable::Key& LockTable::BoundLocked(uint64_t handle) const {
  const auto found = handles_.find(handle);
  assert(found != handles_.end());
  return found->second;
}

std::optional<LockTable::Claim> LockTable::Conflict(const Claim& claim) const {
  MutexLock lock(mutex_);
  const auto file = files_.find(BoundLocked(claim.handle));
  if (file == files_.end()) return std::nullopt;
  std::optional<Claim> lowest;
  for (const Claim& held : HeldIn(file->second, claim.kind)) {
    if (Blocks(held, claim) && (!lowest || held.first < lowest->first)) lowest = held;
  }
  return lowest;
}

template <class Condition>
void LockTable::EraseLocked(File& file, Kind kind, Condition condition) {
  held_count_.fetch_sub(std::erase_if(HeldIn(file, kind), condition));
}

Status LockTable::TryLocked(File& file, const Claim& claim) {
  std::vector<Claim>& held = HeldIn(file, claim.kind);
  const auto replaced = [&claim](const Claim& lock) { return lock.owner == claim.owner && Overlap(lock, claim); };
  std::vector<Claim> remainders;
  size_t gone = 0;
  for (const Claim& lock : held) {
    if (Blocks(lock, claim)) return ErrorCode::kWouldBlock;
    if (!replaced(lock)) continue;
    ++gone;
    AddRemainders(lock, claim, &remainders);
  }
  const size_t added = remainders.size() + (claim.mode == Mode::kUnlock ? 0 : 1);
  if (added > gone && held_count_.load() + added - gone > kMaxLocks) return ErrorCode::kNoLocks;
  EraseLocked(file, claim.kind, replaced);
  held.insert(held.end(), remainders.begin(), remainders.end());
  held_count_.fetch_add(remainders.size());
  if (claim.mode == Mode::kUnlock) return {};
  Claim whole = claim;
  EraseLocked(file, claim.kind, [&whole](const Claim& lock) {
    if (!Joinable(lock, whole)) return false;
    whole.first = std::min(whole.first, lock.first);
    whole.last = std::max(whole.last, lock.last);
    return true;
  });
  held.push_back(whole);
  held_count_.fetch_add(1);
  return {};
}

Status LockTable::ApplyLocked(File& file, const Claim& claim, Answers* answers) {
  Status status = TryLocked(file, claim);
  if (!status.ok() && claim.kind == Kind::kFlock) {
    EraseLocked(file, claim.kind, [&claim](const Claim& lock) { return lock.owner == claim.owner; });
  }
  GrantLocked(file, answers);
  return status;
}

// Again from the start after each grant: a record lock that is granted may convert its owner's exclusive lock to a
// shared one, which an earlier request waits for.
void LockTable::GrantLocked(File& file, Answers* answers) {
  for (size_t at = 0; at < file.waiting.size();) {
    Waiter& waiter = file.waiting[at];
    const Status status = TryLocked(file, waiter.claim);
    if (!status.ok() && status.code() == ErrorCode::kWouldBlock) {
      ++at;
      continue;
    }
    answers->emplace_back(std::move(waiter.answer), status);
    tickets_.erase(waiter.ticket);
    --waiting_count_;
    file.waiting.erase(file.waiting.begin() + static_cast<ptrdiff_t>(at));
    at = 0;
  }
}

void LockTable::ForgetIdleLocked(const Key& key) {
  const auto found = files_.find(key);
  if (found == files_.end()) return;
  const File& file = found->second;
  if (file.held[0].empty() && file.held[1].empty() && file.waiting.empty()) files_.erase(found);
}

// Goes from the claim to those who hold what it needs, to what these wait for, and so on.
bool LockTable::WouldDeadlockLocked(const File& file, const Claim& claim) const {
  using Wait = std::pair<const File*, const Claim*>;
  absl::flat_hash_map<uint64_t, std::vector<Wait>> waits_of;  // by owner
  absl::flat_hash_set<const File*> read;
  for (const auto& [ticket, state] : tickets_) {
    if (!state.waits_in) continue;
    const File& in = files_.find(*state.waits_in)->second;
    if (!read.insert(&in).second) continue;
    for (const Waiter& waiter : in.waiting) {
      if (waiter.claim.kind == Kind::kRecord) waits_of[waiter.claim.owner].emplace_back(&in, &waiter.claim);
    }
  }
  absl::flat_hash_set<uint64_t> seen;
  std::vector<Wait> open = {{&file, &claim}};
  while (!open.empty()) {
    const auto [in, wait] = open.back();
    open.pop_back();
    for (const Claim& held : HeldIn(*in, Kind::kRecord)) {
      if (!Blocks(held, *wait)) continue;
      if (held.owner == claim.owner) return true;
      if (!seen.insert(held.owner).second) continue;
      const auto next = waits_of.find(held.owner);
      if (next != waits_of.end()) open.insert(open.end(), next->second.begin(), next->second.end());
    }
  }
  return false;
}

void LockTable::Give(const Answers& answers) {
  for (const auto& [answer, status] : answers) answer(status);
}

Status LockTable::Set(const Claim& claim) {
  Answers answers;
  Status status;
  {
    MutexLock lock(mutex_);
    const Key& key = BoundLocked(claim.handle);
    status = ApplyLocked(files_[key], claim, &answers);
    ForgetIdleLocked(key);
  }
  Give(answers);
  return status;
}

uint64_t LockTable::NewTicket() {
  MutexLock lock(mutex_);
  tickets_.emplace(next_ticket_, Ticket{});
  return next_ticket_++;
}

void LockTable::SetOrWait(uint64_t ticket, const Claim& claim, Answer answer) {
  Answers answers;
  {
    MutexLock lock(mutex_);
    const auto found = tickets_.find(ticket);
    assert(found != tickets_.end());
    const bool interrupted = found->second.interrupted;
    tickets_.erase(found);
    const Key& key = BoundLocked(claim.handle);
    File& file = files_[key];
    Status status = interrupted ? Status(ErrorCode::kInterrupted) : ApplyLocked(file, claim, &answers);
    bool wait = !status.ok() && status.code() == ErrorCode::kWouldBlock;
    if (wait && waiting_count_ >= kMaxWaiting) {
      wait = false;
      status = ErrorCode::kNoLocks;
    } else if (wait && claim.kind == Kind::kRecord && WouldDeadlockLocked(file, claim)) {
      wait = false;
      status = ErrorCode::kDeadlock;
    }
    if (wait) {
      file.waiting.push_back(Waiter{ticket, claim, std::move(answer)});
      tickets_.emplace(ticket, Ticket{false, key});
      ++waiting_count_;
    } else {
      answers.emplace_back(std::move(answer), status);
      ForgetIdleLocked(key);
    }
  }
  Give(answers);
}

void LockTable::Interrupt(uint64_t ticket) {
  Answers answers;
  {
    MutexLock lock(mutex_);
    const auto found = tickets_.find(ticket);
    if (found == tickets_.end()) return;
    found->second.interrupted = true;
    if (!found->second.waits_in) return;
    const Key key = *found->second.waits_in;
    std::vector<Waiter>& waiting = files_[key].waiting;
    const auto waiter =
        std::find_if(waiting.begin(), waiting.end(), [ticket](const Waiter& each) { return each.ticket == ticket; });
    assert(waiter != waiting.end());
    answers.emplace_back(std::move(waiter->answer), ErrorCode::kInterrupted);
    waiting.erase(waiter);
    tickets_.erase(found);
    --waiting_count_;
    ForgetIdleLocked(key);
  }
  Give(answers);
}

void LockTable::ReleaseOwner(const Key& key, uint64_t owner) {
  if (held() == 0) return;
  Answers answers;
  {
    MutexLock lock(mutex_);
    const auto found = files_.find(key);
    if (found == files_.end()) return;
    EraseLocked(found->second, Kind::kRecord, [owner](const Claim& held) { return held.owner == owner; });
    GrantLocked(found->second, &answers);
    ForgetIdleLocked(key);
  }
  Give(answers);
}

void LockTable::ReleaseHandle(uint64_t handle) {
  if (bound_count_.load() == 0) return;
  Answers answers;
  {
    MutexLock lock(mutex_);
    const auto bound = handles_.find(handle);
    if (bound == handles_.end()) return;
    const Key key = std::move(bound->second);
    handles_.erase(bound);
    bound_count_.store(handles_.size());
    const auto found = files_.find(key);
    if (found == files_.end()) return;
    File& file = found->second;
    std::erase_if(file.waiting, [&](Waiter& waiter) KVP_REQUIRES(mutex_) {
      if (waiter.claim.handle != handle) return false;
      answers.emplace_back(std::move(waiter.answer), ErrorCode::kNoLocks);
      tickets_.erase(waiter.ticket);
      --waiting_count_;
      return true;
    });
    for (const Kind kind : {Kind::kRecord, Kind::kFlock}) {
      EraseLocked(file, kind, [handle](const Claim& held) { return held.handle == handle; });
    }
    GrantLocked(file, &answers);
    ForgetIdleLocked(key);
  }
  Give(answers);
}

void LockTable::Clear(const Status& status) {
  Answers answers;
  {
    MutexLock lock(mutex_);
    for (auto& [key, file] : files_) {
      for (Waiter& waiter : file.waiting) answers.emplace_back(std::move(waiter.answer), status);
    }
    files_.clear();
    tickets_.clear();
    handles_.clear();
    waiting_count_ = 0;
    held_count_.store(0);
    bound_count_.store(0);
  }
  Give(answers);
}

size_t LockTable::waiting() const {
  MutexLock lock(mutex_);
  return waiting_count_;
}

}  // namespace kvpagefs
