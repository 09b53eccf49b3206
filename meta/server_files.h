// What the metadata daemon keeps beside its names in the state directory: node numbers and deleted pages. Format:
// meta/STORE.md. One thread at a time; the directory is owned by an open LmdbStore.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "meta/node_table.h"

namespace kvpagefs {

class ServerFiles {
 public:
  static constexpr uint64_t kMaxRecords = uint64_t{1} << 20;  // of one file of deleted pages

  explicit ServerFiles(std::string dir) : dir_(std::move(dir)) {}
  ~ServerFiles();
  ServerFiles(const ServerFiles&) = delete;
  ServerFiles& operator=(const ServerFiles&) = delete;

  // Empty when there is no file. kInvalid when it is damaged; texts name the file.
  Result<std::vector<NodeTable::Known>> LoadNodes() const;
  // All or nothing, durable.
  Status SaveNodes(const std::vector<NodeTable::Known>& nodes) const;

  // Calls `visit` in the order in which they were deleted. Damaged records are left out.
  Status LoadDeleted(const std::function<void(PageId)>& visit);
  // Survives the death of the process at once, that of the machine when the kernel has written it.
  Status AppendDeleted(const std::vector<PageId>& pages);

 private:
  std::string PathOf(const char* file) const { return dir_ + "/" + file; }
  Status OpenDeleted();

  const std::string dir_;
  int deleted_fd_ = -1;
  uint64_t records_ = 0;
};

}  // namespace kvpagefs
