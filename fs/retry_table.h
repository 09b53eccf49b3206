// What was promised to a thread whose request was answered "stale, look the name up again".
//
// The kernel keeps inodes in its caches that no name stands for any more, and it sends an open for writing to the inode
// of the published page. Both are answered with ESTALE; the kernel then repeats the same system call once, this time
// looking up every component afresh (do_filp_open, user_path_at with LOOKUP_REVAL). A second ESTALE would reach the
// program, so the answer to that second look-up is kept usable for the thread:
//   read   the page that the look-up answers is held, so that the open behind it succeeds although it was replaced or
//          evicted in between;
//   write  the look-up of that name answers a DraftFile, made ready here.
// Promises last until they are used, or kLifetimeNs. A promised file counts as one handle of it, which the caller of
// ExpectWrite, FinishWrite or Expire gives back. Any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <absl/container/flat_hash_map.h>

#include "base/mutex.h"
#include "fs/draft_file.h"
#include "meta/types.h"
#include "spill/memory_tier.h"

namespace kvpagefs {

class RetryTable {
 public:
  static constexpr int64_t kLifetimeNs = 5'000'000'000;
  // The kernel repeats a call at once: an expectation that is older belongs to a call that found nothing.
  static constexpr int64_t kRepeatedWithinNs = 200'000'000;

  struct Granted {
    PageHold hold;
    PageInfo page;
  };

  // What the repeated system call is going to do with what it finds.
  enum class Purpose : uint8_t { kRead, kWrite };

  // The name is not known yet: whatever page the thread looks up next. False when the thread already waits for a retry
  // that its look-up did not serve: it must get a final answer.
  bool Expect(uint32_t tid, Purpose purpose, int64_t now_ns);
  // Returns the file of an earlier promise to the same thread that is now void; null: none.
  std::shared_ptr<DraftFile> ExpectWrite(uint32_t tid, std::shared_ptr<DraftFile> file, NameRef name, int64_t now_ns);

  // For look-ups.
  bool any() const { return count_.load(std::memory_order_relaxed) != 0; }
  std::optional<Purpose> Expected(uint32_t tid, NameView name, int64_t now_ns) const;
  void Grant(uint32_t tid, Granted granted);
  std::shared_ptr<DraftFile> WriteExpected(uint32_t tid, NameView name) const;

  // The look-up became the promise of a file: no expectation any more.
  void Fulfil(uint32_t tid);
  // The look-up found no page. The kernel looks a name up twice in one go, first to see whether its cached entry still
  // holds, so the expectation lasts for one more look-up of the same name.
  void FoundNothing(uint32_t tid, NameView name);

  // The facts of a page that the thread was granted; nothing: no such grant.
  std::optional<PageInfo> GrantedPage(uint32_t tid, PageId page) const;

  // For opens.
  std::optional<Granted> TakeGrant(uint32_t tid, PageId page);
  // True when the promise was about this file; it is now fulfilled.
  bool FinishWrite(uint32_t tid, const DraftFile* file);

  // Drops what is too old; returns the draft files that nobody came for.
  std::vector<std::shared_ptr<DraftFile>> Expire(int64_t now_ns);

 private:
  struct Read {
    int64_t since_ns = 0;
    Purpose purpose = Purpose::kRead;
    std::optional<Granted> granted;
    std::optional<NameRef> missing;  // found nothing once
  };
  struct Write {
    int64_t expires_ns = 0;
    std::shared_ptr<DraftFile> file;
    NameRef name;
  };
  void CountLocked() KVP_REQUIRES(mutex_) { count_.store(reads_.size() + writes_.size()); }

  mutable Mutex mutex_;
  absl::flat_hash_map<uint32_t, Read> reads_ KVP_GUARDED_BY(mutex_);    // by thread
  absl::flat_hash_map<uint32_t, Write> writes_ KVP_GUARDED_BY(mutex_);  // by thread
  std::atomic<size_t> count_{0};
};

}  // namespace kvpagefs
