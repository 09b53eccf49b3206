// One process at a time has an SSD directory: a lock on DIR/owner.lock, which also says who that is. Private to spill/.
//
// The lock goes with the process, however it ends. The file stays, and says nothing when nobody holds the lock.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "spill/owned_files.h"
#include "spill/segment_source.h"

namespace kvpagefs {

class OwnerLock {
 public:
  // `owner_text`: one line for people, such as "kvpagefs /mnt/kv". kUnavailable: "DIR is in use by process 1234
  // (kvpagefs /mnt/kv)"; kInvalid: the file is foreign; the disk's errors.
  static Result<std::unique_ptr<OwnerLock>> Take(const DirectoryRef& directory, const std::string& owner_text);

 private:
  explicit OwnerLock(int fd) : fd_(fd) {}
  const OwnedFd fd_;
};

}  // namespace kvpagefs
