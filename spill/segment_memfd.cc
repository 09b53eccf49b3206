#include <cerrno>
#include <fstream>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <linux/memfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/size.h"
#include "spill/segment_source.h"

namespace kvpagefs {
namespace {

struct HugePagePool {
  uint64_t total = 0;
  uint64_t available = 0;  // free and not promised to anybody
};

// Of the 2 MiB pool; zeros when the system's huge pages have another size.
HugePagePool ReadHugePagePool() {
  uint64_t total = 0;
  uint64_t free = 0;
  uint64_t promised = 0;
  uint64_t size_kib = 0;
  std::ifstream file("/proc/meminfo");
  std::string line;
  while (std::getline(file, line)) {
    unsigned long long value = 0;
    if (std::sscanf(line.c_str(), "HugePages_Total: %llu", &value) == 1) total = value;
    if (std::sscanf(line.c_str(), "HugePages_Free: %llu", &value) == 1) free = value;
    if (std::sscanf(line.c_str(), "HugePages_Rsvd: %llu", &value) == 1) promised = value;
    if (std::sscanf(line.c_str(), "Hugepagesize: %llu", &value) == 1) size_kib = value;
  }
  if (size_kib * 1024 != kHugePageBytes) return {};
  return {.total = total, .available = free > promised ? free - promised : 0};
}

Result<MappedMemory> MapMemfdWith(uint64_t bytes, unsigned int flags, const std::string& option) {
  OwnedFd fd(memfd_create("kvpagefs-segment", MFD_CLOEXEC | flags));
  if (fd.get() < 0) return Error::FromSystem(errno, option + ": memfd_create");
  if (ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) return Error::FromSystem(errno, option + ": ftruncate");
  return MapDescriptor(fd, bytes, option);
}

std::optional<MappedMemory> TryHugePages(uint64_t bytes, const std::string& option) {
  if (ReadHugePagePool().available < bytes / kHugePageBytes) return std::nullopt;
  Result<MappedMemory> mapped = MapMemfdWith(bytes, MFD_HUGETLB | MFD_HUGE_2MB, option);
  if (!mapped.ok()) return std::nullopt;
  mapped->description = "memfd, 2 MiB pages";
  return std::move(*mapped);
}

// A free address that is a multiple of 2 MiB, as a hint for mmap; null when there is none.
void* HugePageAddress(uint64_t bytes) {
  const uint64_t reserved_bytes = bytes + kHugePageBytes;
  void* const reserved = mmap(nullptr, reserved_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) return nullptr;
  munmap(reserved, reserved_bytes);
  const auto address = reinterpret_cast<uintptr_t>(reserved);
  return reinterpret_cast<void*>((address + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes);
}

}  // namespace

OwnedFd::~OwnedFd() {
  if (fd_ >= 0) close(fd_);
}
int OwnedFd::Release() { return std::exchange(fd_, -1); }

Result<MappedMemory> MapDescriptor(OwnedFd& fd, uint64_t bytes, const std::string& option) {
  void* const base = mmap(HugePageAddress(bytes), bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (base == MAP_FAILED) return Error::FromSystem(errno, option + ": mmap");
  madvise(base, bytes, MADV_DONTDUMP);
  return MappedMemory{
      .base = static_cast<std::byte*>(base), .mapped_bytes = bytes, .fd = fd.Release(), .description = {}};
}

Status LockDescriptor(int fd, const std::string& path) {
  if (flock(fd, LOCK_EX | LOCK_NB) == 0) return {};
  if (errno == EWOULDBLOCK) {
    return Error(ErrorCode::kUnavailable,
                 fmt::format("--memory-path {}: in use by another process: give each daemon its own", path));
  }
  return Error::FromSystem(errno, fmt::format("--memory-path {}: flock", path));
}

Result<MappedMemory> MapMemfd(uint64_t bytes, HugePages huge_pages) {
  const std::string option = fmt::format("--memory {}", FormatSize(bytes));
  if (huge_pages != HugePages::kOff) {
    if (std::optional<MappedMemory> mapped = TryHugePages(bytes, option)) return std::move(*mapped);
  }
  if (huge_pages == HugePages::kOn) {
    const HugePagePool pool = ReadHugePagePool();
    const uint64_t needed = bytes / kHugePageBytes;
    const uint64_t missing = needed > pool.available ? needed - pool.available : 0;
    return Error(ErrorCode::kUnavailable,
                 fmt::format("--huge-pages on: {} needs {} huge pages of 2 MiB and {} are free: reserve them with "
                             "`sysctl vm.nr_hugepages={}`, or use --huge-pages auto",
                             option, needed, pool.available, pool.total + missing));
  }
  const uint64_t physical =
      static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  if (bytes > physical) {
    return Error(ErrorCode::kInvalid,
                 fmt::format("{}: this machine has {} of memory: choose a smaller size", option, FormatSize(physical)));
  }
  Result<MappedMemory> mapped = MapMemfdWith(bytes, 0, option);
  if (!mapped.ok()) return mapped;
  madvise(mapped->base, bytes, huge_pages == HugePages::kOff ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);
  mapped->description = "memfd";
  return mapped;
}

}  // namespace kvpagefs
