// What the kernel's file handles stand for. Private to fs/.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "fs/draft_table.h"
#include "meta/types.h"
#include "spill/memory_tier.h"

namespace kvpagefs {

// What fi->fh points to for files; deleted by RELEASE, or at the end of the session.
struct FileHandle {
  PageHold hold;  // a published page ...
  PageInfo page;
  DraftTable::File file;  // ... or a file that is being written ...
  bool writable = false;
  bool seals = false;                       // closing it may seal: it can write, or it created the file
  bool flushed = true;                      // guarded by file->mutex: nothing written since the last FLUSH
  std::shared_ptr<const std::string> text;  // ... or a virtual file
};

// What fi->fh points to for directories; deleted by RELEASEDIR, or at the end of the session.
struct DirHandle {
  uint64_t node_id = 0;
  bool drafts_read = false;
  std::vector<DraftTable::File> drafts;  // of the caller's process, taken at the end of the published names
};

}  // namespace kvpagefs
