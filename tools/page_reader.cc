#include "tools/page_reader.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "tools/file_ops.h"
#include "tools/page_content.h"
#include "tools/page_name.h"

namespace kvpagefs {

PageReader::PageReader(const Workload& workload, std::string directory)
    : workload_(workload), directory_(std::move(directory)), buffer_(workload.page_bytes) {}

int PageReader::ProcessId() const { return ::getpid(); }

Result<uint32_t> PageReader::Serve(size_t request_index) {
  const WorkloadRequest& request = workload_.requests[request_index];
  uint32_t found = 0;
  while (found < request.prompt_pages) {
    const Result<bool> there = Lookup(PathOf(request.pages[found]));
    if (!there) return there.error();
    if (!*there) break;
    ++found;
  }
  uint32_t hits = 0;
  while (hits < found) {
    const Result<bool> loaded = Load(request.pages[hits]);
    if (!loaded) return loaded.error();
    if (!*loaded) break;
    ++hits;
  }
  stats_.hits_per_request.push_back(hits);
  return hits;
}

Result<bool> PageReader::Lookup(const std::string& path) {
  struct stat status{};
  const int64_t start_ns = clock_.MonotonicNs();
  const int result = ::stat(path.c_str(), &status);
  const int errno_value = errno;
  stats_.lookup_ns.push_back(clock_.MonotonicNs() - start_ns);
  if (result == 0) return true;
  if (errno_value == ENOENT) return false;
  return Error::FromSystem(errno_value, fmt::format("stat '{}'", path));
}

Result<bool> PageReader::Load(uint32_t page) {
  const std::string path = PathOf(page);
  const int64_t start_ns = clock_.MonotonicNs();
  Result<bool> read = ReadTimed(path);
  if (!read || !*read) return read;
  stats_.load_ns.push_back(clock_.MonotonicNs() - start_ns);
  const auto bytes = buffer_.Span(0, workload_.page_bytes);
  const uint64_t seed = ContentSeed(PageFileName(workload_.pages[page], workload_.model));
  if (const auto wrong = FindWrongByte(seed, bytes); wrong.has_value()) {
    return Error(ErrorCode::kLost, fmt::format("page '{}' has a wrong byte at offset {}", path, *wrong));
  }
  ++stats_.loaded_pages;
  stats_.loaded_bytes += bytes.size();
  return true;
}

Result<bool> PageReader::ReadTimed(const std::string& path) {
  Result<UniqueFd> fd = OpenFile(path, O_RDONLY);
  if (!fd) {
    if (fd.code() == ErrorCode::kNotFound) return false;
    return fd.error();
  }
  struct stat status{};
  if (::fstat(fd->get(), &status) != 0) return Error::FromSystem(errno, fmt::format("fstat '{}'", path));
  if (static_cast<uint64_t>(status.st_size) != workload_.page_bytes) {
    return Error(ErrorCode::kLost,
                 fmt::format("page '{}' has {} bytes instead of {}", path, status.st_size, workload_.page_bytes));
  }
  const Status read = ReadWhole(fd->get(), buffer_.Span(0, workload_.page_bytes), path);
  if (!read) return read.error();
  const Status closed = CloseFile(std::move(*fd), path);
  if (!closed) return closed.error();
  return true;
}

std::string PageReader::PathOf(uint32_t page) const {
  return directory_ + '/' + PageFileName(workload_.pages[page], workload_.model);
}

}  // namespace kvpagefs
