// Files inside a directory that other programs may also write to: found by descriptor, never through a link, and only
// what is a plain file of our own. Private to spill/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sys/stat.h>

#include "base/result.h"

namespace kvpagefs {

// A directory that is open. `path` is for texts only.
struct DirectoryRef {
  int fd = -1;
  std::string_view path;
  std::string PathOf(std::string_view name) const;
};

// Whether this is a regular file with one name that belongs to this process's user: everything else is foreign.
bool IsOwnFile(const struct stat& info);

// Looks before it opens, so that a fifo or a device in the file's place is left alone, and looks again at what it got.
// `flags` without O_CREAT. The descriptor is the caller's. kNotFound; kInvalid: foreign (the text says what).
Result<int> OpenOwnFile(const DirectoryRef& directory, std::string_view name, int flags);
// Makes the file, mode 0600. kExists; kNoSpace.
Result<int> MakeOwnFile(const DirectoryRef& directory, std::string_view name, int flags);

// Everything up to `max_bytes`; kNotFound, kInvalid (foreign), kTooLarge.
Result<std::vector<std::byte>> ReadOwnFile(const DirectoryRef& directory, std::string_view name, uint64_t max_bytes);
// By NAME.new, fsync, rename and fsync of the directory: the old bytes or the new ones, whatever happens.
Status ReplaceOwnFile(const DirectoryRef& directory, std::string_view name, std::span<const std::byte> bytes);
// Appends all of them, or an errno.
int WriteAll(int fd, std::span<const std::byte> bytes);
Status SyncDirectoryRef(const DirectoryRef& directory);

}  // namespace kvpagefs
