#include "tools/page_writer.h"

#include <dirent.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <string_view>
#include <utility>

#include <absl/container/flat_hash_set.h>
#include <fmt/format.h>

#include "tools/file_ops.h"
#include "tools/page_content.h"
#include "tools/page_name.h"
#include "tools/text_table.h"

namespace kvpagefs {
namespace {

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

}  // namespace

PageWriter::PageWriter(const Workload& workload, std::string directory)
    : workload_(workload),
      directory_(std::move(directory)),
      random_(std::random_device{}()),
      buffer_(workload.page_bytes) {}

Status PageWriter::StoreFrom(const WorkloadRequest& request, uint32_t first) {
  for (size_t i = first; i < request.pages.size(); ++i) {
    if (Status stored = Store(request.pages[i]); !stored) return stored;
  }
  return {};
}

Status PageWriter::Store(uint32_t page) {
  const std::string name = PageFileName(workload_.pages[page], workload_.model);
  FillContent(ContentSeed(name), buffer_.Span(0, workload_.page_bytes));
  const int64_t start_ns = clock_.MonotonicNs();
  Status written = WriteAndRename(name);
  if (!written && written.code() == ErrorCode::kNoSpace) {
    return Error(ErrorCode::kNoSpace, fmt::format("{}; the workload needs {} in all", written.error().text(),
                                                  ShortSize(workload_.total_bytes())));
  }
  if (!written) return written;
  stats_.store_ns.push_back(clock_.MonotonicNs() - start_ns);
  ++stats_.stored_pages;
  stats_.stored_bytes += workload_.page_bytes;
  return {};
}

Status PageWriter::WriteAndRename(const std::string& name) {
  const std::string path = directory_ + '/' + name;
  const std::string temporary = directory_ + '/' + TemporaryFileName(name, random_);
  const auto give_up = [&temporary](const Error& error) {
    ::unlink(temporary.c_str());
    return error;
  };
  Result<UniqueFd> fd = OpenFile(temporary, O_WRONLY | O_CREAT | O_EXCL);
  if (!fd) return fd.error();
  if (Status written = WriteAll(fd->get(), buffer_.Span(0, workload_.page_bytes), temporary); !written) {
    return give_up(written.error());
  }
  if (Status closed = CloseFile(std::move(*fd), temporary); !closed) return give_up(closed.error());
  if (std::rename(temporary.c_str(), path.c_str()) != 0) {
    return give_up(Error::FromSystem(errno, fmt::format("rename to '{}'", path)));
  }
  return {};
}

Result<uint64_t> PageWriter::RemovePages() {
  absl::flat_hash_set<std::string, std::hash<std::string>> names;
  for (const PageKey& key : workload_.pages) names.insert(PageFileName(key, workload_.model));
  const std::unique_ptr<DIR, CloseDirectory> directory(::opendir(directory_.c_str()));
  if (directory == nullptr) return Error::FromSystem(errno, fmt::format("open directory '{}'", directory_));
  std::vector<std::string> present;
  while (const dirent* entry = ::readdir(directory.get())) {
    if (names.contains(std::string(entry->d_name))) present.emplace_back(entry->d_name);
  }
  for (const std::string& name : present) {
    const std::string path = directory_ + '/' + name;
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) {
      return Error::FromSystem(errno, fmt::format("unlink '{}'", path));
    }
  }
  return uint64_t{present.size()};
}

}  // namespace kvpagefs
