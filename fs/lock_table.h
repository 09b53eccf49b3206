// Who has locked which bytes of which file, and who waits for it: record locks (fcntl) and flock(2). The kernel's own
// locks are kept per inode and every writer has an inode of its own, so they would not meet; here a file is what its
// name says. Pure: no I/O, no clock.
//
// Record locks have ranges, belong to a process (its lock owner number) and are cut and joined as fcntl(2) demands.
// flock locks cover the whole file and belong to an open file (one handle). The two kinds never conflict. Asking for
// what is held in another way converts it: a record lock is kept while its conversion waits, a flock is let go first,
// as on Linux.
//
// When locks go:
//  - record locks by ReleaseOwner at FLUSH, which the kernel sends for every close of a descriptor opened for writing;
//  - all locks taken through a handle by ReleaseHandle at RELEASE. For descriptors opened only for reading this is the
//    close: their opens are answered with "no FLUSH", because a FLUSH would cost each of the many readers a round trip.
//    So closing such a descriptor frees what was locked through it (and not, as POSIX has it, everything that its
//    process has locked in the file), and a child that inherits one frees its shared record locks when the last copy is
//    closed.
// That is why each lock remembers its handle, and locks of one owner are joined only within one handle.
//
// Invariants:
//  L1 locks of one file and kind that belong to different owners overlap only when both are shared; those of one owner
//     never overlap.
//  L2 every waiting request is answered exactly once: by a lock that goes (in order of arrival, whoever is not in
//  conflict
//     with what is held), Interrupt, ReleaseHandle or Clear. Answers are given without the mutex.
//  L3 at most kMaxLocks are held and kMaxWaiting wait.
//  L4 no request waits that would wait for itself through others (record locks): kDeadlock.
// Any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <absl/container/flat_hash_map.h>

#include "base/mutex.h"
#include "base/result.h"

namespace kvpagefs {

class LockTable {
 public:
  static constexpr size_t kMaxLocks = 65'536;
  static constexpr size_t kMaxWaiting = 1'024;
  static constexpr uint64_t kLastByte = INT64_MAX;

  // The file: directory and name, or for what has no name its page id and "".
  using Key = std::pair<uint64_t, std::string>;
  enum class Kind : uint8_t { kRecord, kFlock };
  enum class Mode : uint8_t { kUnlock, kShared, kExclusive };
  // What is asked for or held.
  struct Claim {
    Kind kind = Kind::kRecord;
    Mode mode = Mode::kUnlock;
    uint64_t first = 0;         // byte
    uint64_t last = kLastByte;  // byte, inclusive
    uint64_t owner = 0;
    uint64_t handle = 0;  // bound; not used again before ReleaseHandle
    int32_t pid = 0;      // told to whoever asks
  };
  using Answer = std::function<void(const Status&)>;

  // The file that the handle locks in: the first Bind decides, so that an unlock meets its lock also after a rename.
  std::optional<Key> KeyOf(uint64_t handle) const;
  void Bind(uint64_t handle, const Key& key);

  // The held lock with the lowest first byte that `claim` would have to wait for.
  std::optional<Claim> Conflict(const Claim& claim) const;
  // Locks or unlocks: kWouldBlock, kNoLocks (also for an unlock that cuts a range in two).
  Status Set(const Claim& claim);
  // For SetOrWait: an Interrupt that comes before it is not lost.
  uint64_t NewTicket();
  // As Set, but in place of kWouldBlock waits without keeping the thread. `answer` may run before this returns; its
  // status may also be kDeadlock or kInterrupted. Ends the ticket's use.
  void SetOrWait(uint64_t ticket, const Claim& claim, Answer answer);
  // Answers the waiting request with kInterrupted; nothing when it was answered before.
  void Interrupt(uint64_t ticket);

  // The owner's record locks in that file, through any handle.
  void ReleaseOwner(const Key& key, uint64_t owner);
  // All locks taken through the handle; unbinds it. What still waits through it is answered with kNoLocks.
  void ReleaseHandle(uint64_t handle);
  // Forgets all locks and answers what waits (end of the session).
  void Clear(const Status& status);

  size_t held() const { return held_count_.load(std::memory_order_relaxed); }
  size_t waiting() const;

 private:
  struct Waiter {
    uint64_t ticket = 0;
    Claim claim;
    Answer answer;
  };
  struct File {
    std::array<std::vector<Claim>, 2> held;  // by kind, in no order
    std::vector<Waiter> waiting;             // in order of arrival
  };
  struct Ticket {
    bool interrupted = false;
    std::optional<Key> waits_in;
  };
  using Answers = std::vector<std::pair<Answer, Status>>;

  static std::vector<Claim>& HeldIn(File& file, Kind kind) { return file.held[static_cast<size_t>(kind)]; }
  static const std::vector<Claim>& HeldIn(const File& file, Kind kind) { return file.held[static_cast<size_t>(kind)]; }
  static void Give(const Answers& answers);

  const Key& BoundLocked(uint64_t handle) const KVP_REQUIRES(mutex_);
  // Takes what can be taken at once: kWouldBlock, kNoLocks.
  Status TryLocked(File& file, const Claim& claim) KVP_REQUIRES(mutex_);
  // TryLocked, then whatever that lets others have.
  Status ApplyLocked(File& file, const Claim& claim, Answers* answers) KVP_REQUIRES(mutex_);
  template <class Condition>
  void EraseLocked(File& file, Kind kind, Condition condition) KVP_REQUIRES(mutex_);
  void GrantLocked(File& file, Answers* answers) KVP_REQUIRES(mutex_);
  void ForgetIdleLocked(const Key& key) KVP_REQUIRES(mutex_);
  bool WouldDeadlockLocked(const File& file, const Claim& claim) const KVP_REQUIRES(mutex_);

  mutable Mutex mutex_;
  absl::flat_hash_map<uint64_t, Key> handles_ KVP_GUARDED_BY(mutex_);
  absl::flat_hash_map<Key, File> files_ KVP_GUARDED_BY(mutex_);
  absl::flat_hash_map<uint64_t, Ticket> tickets_ KVP_GUARDED_BY(mutex_);
  uint64_t next_ticket_ KVP_GUARDED_BY(mutex_) = 1;
  size_t waiting_count_ KVP_GUARDED_BY(mutex_) = 0;
  // So that a close pays nothing while nobody locks.
  std::atomic<size_t> held_count_{0};
  std::atomic<size_t> bound_count_{0};
};

}  // namespace kvpagefs
