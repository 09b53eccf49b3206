// A state directory: found to be ours or made so, and owned by this process while the object lives.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"

namespace kvpagefs {

class StateDir {
 public:
  static constexpr const char* kMarkFile = "KVPAGEFS-STATE";
  static constexpr const char* kLockFile = "LOCK";
  static constexpr int kVersion = 1;

  // Creates the directory when only its last component is missing. An empty directory becomes a state directory; any
  // other without our mark is refused untouched. Texts name --state-dir, `path` and the remedy: kNotDirectory,
  // kNotPermitted, kNotFound (no parent), kInvalid (foreign, newer), kUnavailable (in use by process N, I/O).
  static Result<std::unique_ptr<StateDir>> Open(const std::string& path);
  ~StateDir();
  StateDir(const StateDir&) = delete;
  StateDir& operator=(const StateDir&) = delete;

  std::string PathOf(const std::string& file) const { return path_ + "/" + file; }
  // Makes creations, renames and deletions in it durable.
  Status Sync() const;

 private:
  StateDir(std::string path, int dir_fd) : path_(std::move(path)), dir_fd_(dir_fd) {}
  Status CheckMark(bool* marked) const;
  Status TakeLock();
  Status WriteMark() const;
  Error Refuse(int errno_value, const std::string& what) const;
  Error Refuse(ErrorCode code, const std::string& what) const;

  const std::string path_;
  const int dir_fd_;
  int lock_fd_ = -1;
};

}  // namespace kvpagefs
