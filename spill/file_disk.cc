#include "spill/file_disk.h"

#include <cassert>
#include <utility>

namespace kvpagefs {

Result<SsdDisk::FileId> FileDisk::Open(std::string_view name, uint64_t bytes_if_new) {
  Result<std::unique_ptr<OpenFile>> opened = files_->Open(name, bytes_if_new);
  if (!opened.ok()) return opened.error();
  std::shared_ptr<OpenFile> file = std::move(*opened);
  OnOpen(file);
  const MutexLock lock(mutex_);
  buffered_seen_ = buffered_seen_ || !file->direct;
  // Ids are not used twice, so that a late use of an old one is an error and not another file's bytes.
  open_.emplace(++last_id_, std::move(file));
  return last_id_;
}

void FileDisk::Close(FileId file) {
  std::shared_ptr<OpenFile> closed;
  {
    const MutexLock lock(mutex_);
    const auto found = open_.find(file);
    assert(found != open_.end());
    closed = std::move(found->second);
    open_.erase(found);
  }
  OnClose(closed);
}

std::vector<std::unique_ptr<Transfer>> FileDisk::MakeTransfers(std::vector<Io> batch) {
  std::vector<std::unique_ptr<Transfer>> transfers;
  transfers.reserve(batch.size());
  const MutexLock lock(mutex_);
  for (Io& io : batch) {
    const auto found = open_.find(io.file);
    transfers.push_back(std::make_unique<Transfer>(std::move(io), found == open_.end() ? nullptr : found->second));
  }
  return transfers;
}

bool FileDisk::IsDirect() const {
  const MutexLock lock(mutex_);
  return files_->direct() && !buffered_seen_;
}

Result<std::vector<std::byte>> FileDisk::ReadSmall(std::string_view name, uint64_t max_bytes) {
  return files_->ReadSmall(name, max_bytes);
}

Status FileDisk::AppendSmall(std::string_view name, std::span<const std::byte> bytes) {
  return files_->AppendSmall(name, bytes);
}

Status FileDisk::ReplaceSmall(std::string_view name, std::span<const std::byte> bytes) {
  return files_->ReplaceSmall(name, bytes);
}

}  // namespace kvpagefs
