#include "spill/transfer.h"

#include <limits.h>
#include <algorithm>
#include <cassert>
#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "spill/disk_error.h"
#include "spill/extent.h"

namespace kvpagefs {
namespace {

constexpr uint64_t kMaxOffset = INT64_MAX;

bool IsPassing(int errno_value) { return errno_value == EINTR || errno_value == EAGAIN || errno_value == ECANCELED; }

}  // namespace

Transfer::Transfer(SsdDisk::Io io, std::shared_ptr<const OpenFile> file) : io_(std::move(io)), file_(std::move(file)) {
  assert(io_.done != nullptr);
  assert(io_.offset % kBlockBytes == 0);
  for (const iovec& piece : io_.pieces) {
    assert(piece.iov_len > 0 && piece.iov_len % kBlockBytes == 0);
    assert(reinterpret_cast<uintptr_t>(piece.iov_base) % kBlockBytes == 0);
    total_bytes_ += piece.iov_len;
  }
  assert(io_.offset <= kMaxOffset && total_bytes_ <= kMaxOffset - io_.offset);
}

std::optional<Status> Transfer::Early() const {
  if (file_ == nullptr) return Status(Error(ErrorCode::kInvalid, fmt::format("file {} is not open", io_.file)));
  if (io_.kind != SsdDisk::IoKind::kSync && total_bytes_ == 0) return Status();
  return std::nullopt;
}

std::span<const iovec> Transfer::Rest() const {
  const std::span<const iovec> rest = std::span(io_.pieces).subspan(first_piece_);
  return rest.first(std::min<size_t>(rest.size(), IOV_MAX));
}

std::optional<Status> Transfer::Advance(int64_t result) {
  if (result < 0) {
    const int errno_value = static_cast<int>(-result);
    if (IsPassing(errno_value)) return TryAgain(errno_value);
    return Status(TransferError(errno_value, Describe()));
  }
  if (io_.kind == SsdDisk::IoKind::kSync) return Status();
  const auto bytes = static_cast<uint64_t>(result);
  // Direct transfers go on at a block only; the started one is transferred again.
  const uint64_t whole = std::min(bytes, total_bytes_ - moved_bytes_) / kBlockBytes * kBlockBytes;
  if (whole == 0) {
    if (io_.kind == SsdDisk::IoKind::kRead) {
      return Status(Error(ErrorCode::kLost, fmt::format("{}: the file ends here", Describe())));
    }
    return TryAgain(EIO);
  }
  Skip(whole);
  tries_ = 0;
  if (moved_bytes_ == total_bytes_) return Status();
  return std::nullopt;
}

std::optional<Status> Transfer::TryAgain(int errno_value) {
  if (++tries_ < kMaxTries) return std::nullopt;
  return Status(TransferError(errno_value, fmt::format("{}: tried {} times", Describe(), tries_)));
}

void Transfer::Skip(uint64_t bytes) {
  moved_bytes_ += bytes;
  while (bytes > 0) {
    iovec& piece = io_.pieces[first_piece_];
    const uint64_t part = std::min<uint64_t>(bytes, piece.iov_len);
    piece.iov_base = static_cast<std::byte*>(piece.iov_base) + part;
    piece.iov_len -= part;
    bytes -= part;
    if (piece.iov_len == 0) ++first_piece_;
  }
}

void Transfer::Finish(const Status& status) {
  assert(io_.done != nullptr);
  std::exchange(io_.done, nullptr)(status);
}

std::function<void(const Status&)> Transfer::TakeDone() { return std::exchange(io_.done, nullptr); }

void Transfer::GiveUp(const std::function<void(const Status&)>& done) {
  done(Error(ErrorCode::kUnavailable, "the disk does not answer"));
}

std::string Transfer::Describe() const {
  const std::string_view path = file_ == nullptr ? "closed file" : std::string_view(file_->path);
  switch (io_.kind) {
    case SsdDisk::IoKind::kRead: return fmt::format("{}: read at {}", path, offset());
    case SsdDisk::IoKind::kWrite: return fmt::format("{}: write at {}", path, offset());
    case SsdDisk::IoKind::kSync: break;
  }
  return fmt::format("{}: sync", path);
}

}  // namespace kvpagefs
