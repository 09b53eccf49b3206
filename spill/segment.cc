#include "spill/segment.h"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cerrno>
#include <utility>

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/size.h"
#include "spill/extent.h"
#include "spill/segment_source.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

namespace kvpagefs {
namespace {

constexpr uint64_t kMinBytes = uint64_t{4} << 20;
constexpr uint64_t kMaxBytes = (uint64_t{UINT32_MAX} * kBlockBytes) / kHugePageBytes * kHugePageBytes;

Result<MappedMemory> MapSource(const Segment::Options& options, uint64_t bytes) {
  if (options.path.empty()) return MapMemfd(bytes, options.huge_pages);
  if (options.huge_pages == HugePages::kOn) {
    return Error(ErrorCode::kInvalid,
                 fmt::format("--huge-pages on: does not go with --memory-path {}: leave one out", options.path));
  }
  struct stat info = {};
  if (stat(options.path.c_str(), &info) == 0 && S_ISCHR(info.st_mode)) return MapDevice(options.path, bytes);
  return MapFile(options.path, bytes);
}

}  // namespace

Result<Segment> Segment::Map(const Options& options) {
  const uint64_t bytes = options.bytes / kHugePageBytes * kHugePageBytes;
  if (bytes < kMinBytes || bytes > kMaxBytes) {
    return Error(ErrorCode::kInvalid, fmt::format("--memory {}: must be from {} to {}", FormatSize(options.bytes),
                                                  FormatSize(kMinBytes), FormatSize(kMaxBytes)));
  }
  Result<MappedMemory> mapped = MapSource(options, bytes);
  if (!mapped.ok()) return mapped.error();
  Segment segment;
  segment.base_ = mapped->base;
  segment.bytes_ = bytes;
  segment.mapped_bytes_ = mapped->mapped_bytes;
  segment.fd_ = mapped->fd;
  segment.description_ = std::move(mapped->description);
  return segment;
}

Segment::Segment(Segment&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      mapped_bytes_(std::exchange(other.mapped_bytes_, 0)),
      fd_(std::exchange(other.fd_, -1)),
      description_(std::move(other.description_)) {}

Segment& Segment::operator=(Segment&& other) noexcept {
  if (this == &other) return *this;
  Release();
  base_ = std::exchange(other.base_, nullptr);
  bytes_ = std::exchange(other.bytes_, 0);
  mapped_bytes_ = std::exchange(other.mapped_bytes_, 0);
  fd_ = std::exchange(other.fd_, -1);
  description_ = std::move(other.description_);
  return *this;
}

Segment::~Segment() { Release(); }

void Segment::Release() {
  if (base_ != nullptr) munmap(base_, mapped_bytes_);
  if (fd_ >= 0) close(fd_);
  base_ = nullptr;
  fd_ = -1;
}

Status Segment::Prefault(uint64_t offset, uint64_t bytes) const {
  if (offset >= bytes_) return {};
  const uint64_t begin = offset / kBlockBytes * kBlockBytes;
  const uint64_t end = std::min(bytes_, BlocksFor(offset + std::min(bytes, bytes_ - offset)) * kBlockBytes);
  const uint64_t first_huge = (begin + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes;
  if (first_huge > begin) {
    if (Status populated = Populate(begin, std::min(first_huge, end)); !populated) return populated;
  }
  uint64_t at = first_huge;
  while (at + kHugePageBytes <= end && Collapse(at)) at += kHugePageBytes;
  if (at < end) return Populate(at, end);
  return {};
}

// As one huge page, also where the system does not give those for shared memory by itself: zeroing and mapping 2 MiB at
// once is quicker than 512 times 4 KiB, and so is every later transfer. False where there is none to be had.
bool Segment::Collapse(uint64_t offset) const {
  // The kernel refuses a range with nothing in it.
  if (madvise(base_ + offset, kBlockBytes, MADV_POPULATE_WRITE) != 0) return false;
  return madvise(base_ + offset, kHugePageBytes, MADV_COLLAPSE) == 0;
}

Status Segment::Populate(uint64_t begin, uint64_t end) const {
  while (madvise(base_ + begin, end - begin, MADV_POPULATE_WRITE) != 0) {
    if (errno == EINTR || errno == EAGAIN) continue;
    if (errno != EINVAL) {
      return Error::FromSystem(errno, fmt::format("prefault of the memory segment ({})", description_));
    }
    // A kernel before 5.14.
    for (uint64_t at = begin; at < end; at += kBlockBytes) Touch(at);
    break;
  }
  return {};
}

// Adding nothing keeps the contents, whatever others write at the same time.
void Segment::Touch(uint64_t offset) const {
  std::atomic_ref<uint8_t>(reinterpret_cast<uint8_t&>(base_[offset])).fetch_or(0, std::memory_order_relaxed);
}

}  // namespace kvpagefs
