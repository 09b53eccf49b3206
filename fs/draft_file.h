// A file that somebody has open for writing: the kernel-side inode that is private to its writer.
//
// Why a private inode: the kernel caches bytes and size per inode. A published page never changes, so everybody may
// share its inode and its cache; bytes in the making live under an inode that only the writing process is led to.
// Opening a published page for writing therefore leads to a fresh DraftFile (RetryTable), and while a DraftFile
// is open the page it published is shown to others under an alias (DraftTable).
//
// States, by what it holds:
//   new      draft, nothing published            (create)
//   opened   sealed, nothing published by it     (opened for writing, not written yet)
//   writing  draft, published or opened before   (written again)
//   clean    sealed, published                   (flushed)
//   dropped  !linked                             (unlinked, replaced or its writer was killed)
// Transitions: new -> clean by seal; opened -> writing by write; writing -> clean by seal; clean -> writing by write;
// any -> dropped.
// Invariants:
//  D1 exactly one of draft and sealed is set, but for the moment of a transition under the mutex.
//  D2 a dropped file never publishes.
//  D3 a page with a failed write is never published.
//  D4 publications of one file happen one after the other, and an operation that must see a publication done is
//  answered
//     after it (publishing, after_publish).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "meta/types.h"
#include "spill/memory_tier.h"

namespace kvpagefs {

// A write that did not succeed: without its bytes the page is not whole, and sealing refuses with its error.
struct FailedWrite {
  uint64_t offset = 0;
  ErrorCode code = ErrorCode::kNoSpace;
};

struct DraftFile {
  DraftFile(uint64_t id, uint32_t opener) : node_id(id), process(opener) {}

  const uint64_t node_id;  // also the page id of the first page that it seals
  const uint32_t process;  // that opened it; 0: unknown

  Mutex mutex;
  NameRef name KVP_GUARDED_BY(mutex);
  bool linked KVP_GUARDED_BY(mutex) = true;
  std::unique_ptr<Draft> draft KVP_GUARDED_BY(mutex);
  PageHold sealed KVP_GUARDED_BY(mutex);
  PageId follows KVP_GUARDED_BY(mutex);             // the page it published last or was opened on; invalid: none yet
  bool node_id_used KVP_GUARDED_BY(mutex) = false;  // as a page id
  std::optional<FailedWrite> failed_write KVP_GUARDED_BY(mutex);  // until a later write covers its offset
  // Other processes that wrote to it through an inherited descriptor, and the thread that was last found to be a
  // writer.
  std::vector<uint32_t> more_writers KVP_GUARDED_BY(mutex);
  uint32_t last_writer_tid KVP_GUARDED_BY(mutex) = 0;
  uint32_t handles KVP_GUARDED_BY(mutex) = 0;
  bool closed KVP_GUARDED_BY(mutex) = false;     // the last handle went: nobody may join any more
  uint32_t unflushed KVP_GUARDED_BY(mutex) = 0;  // write handles with changes (or creations) not yet flushed
  Ownership owner KVP_GUARDED_BY(mutex);
  bool shown KVP_GUARDED_BY(mutex) = false;  // findable by name for its process
  Pin pin KVP_GUARDED_BY(mutex) = Pin::kNone;
  Xattrs xattrs KVP_GUARDED_BY(mutex);
  int64_t mtime_ns KVP_GUARDED_BY(mutex) = 0;
  bool mtime_set KVP_GUARDED_BY(mutex) = false;  // by utimensat: sealing does not change it
  bool publishing KVP_GUARDED_BY(mutex) = false;
  std::vector<std::function<void()>> after_publish KVP_GUARDED_BY(mutex);

  uint64_t BytesLocked() const KVP_REQUIRES(mutex) { return draft ? draft->bytes() : sealed ? sealed.bytes() : 0; }
};

}  // namespace kvpagefs
