// The file operations of workloads and measurements, with errors that name the path. Any thread.
#pragma once

#include <fcntl.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"
#include "tools/unique_fd.h"

namespace kvpagefs {

// O_CLOEXEC is added. New files get mode 0644.
Result<UniqueFd> OpenFile(const std::string& path, int flags);

// All bytes, in as few write(2) calls as the file system takes.
Status WriteAll(int fd, std::span<const std::byte> bytes, const std::string& path);

// Exactly one pread(2) of the whole span from offset 0; a short read is kLost.
Status ReadWhole(int fd, std::span<std::byte> bytes, const std::string& path);

// close(2) whose error counts.
Status CloseFile(UniqueFd fd, const std::string& path);

// Removes the file's pages from the page cache: fdatasync, then POSIX_FADV_DONTNEED. No effect on tmpfs.
Status DropCache(int fd, const std::string& path);

// Create, write, close. An existing file is replaced.
Status WriteFile(const std::string& path, std::span<const std::byte> bytes);

// Open, one read, close. The file must have exactly bytes.size() bytes or more.
Status ReadFile(const std::string& path, int flags, std::span<std::byte> bytes);

Status MakeDirectory(const std::string& path);

// kNotDirectory or kNotFound when `path` is no directory that can be searched; the text names `option`.
Status CheckDirectory(const std::string& path, const std::string& option);

// Removes `path` and everything below; what cannot be removed is left.
void RemoveTree(const std::string& path);

}  // namespace kvpagefs
