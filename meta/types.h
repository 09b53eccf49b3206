// The vocabulary of the namespace.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/pin.h"
#include "base/result.h"

namespace kvpagefs {

inline constexpr size_t kMaxNameBytes = 1023;                // one component, any bytes but '/' and NUL
inline constexpr size_t kMaxXattrBytes = size_t{64} * 1024;  // names and values of one page or directory, in all

// Stored and shown; enforced only by the kernel, with default_permissions.
struct Ownership {
  uint32_t uid = 0;
  uint32_t gid = 0;
  uint16_t mode = 0;  // permission bits, 07777
  bool operator==(const Ownership&) const = default;
};

// Name (with "user." prefix) and value, in no particular order. Virtual attributes are not in here.
using Xattrs = std::vector<std::pair<std::string, std::string>>;

// A published page.
struct PageInfo {
  PageId id;
  uint64_t bytes = 0;
  uint64_t checksum = 0;  // XXH3 of the content
  int64_t mtime_ns = 0;   // seal time, or as set
  Ownership owner;
  Pin pin = Pin::kNone;
};

// A page with all that is known of it but its bytes: what a node keeps beside them.
struct PageDescription {
  PageInfo page;
  std::vector<std::string> path;  // components from the root; empty: too long to be kept, or not known
  Xattrs xattrs;
};

struct DirInfo {
  DirId id;
  DirId parent;  // the root is its own parent
  int64_t mtime_ns = 0;
  Ownership owner;
  uint64_t entries = 0;      // pages and directories
  uint64_t directories = 0;  // of them directories
};

using EntryInfo = std::variant<PageInfo, DirInfo>;

struct NameRef {
  DirId parent;
  std::string name;
};

// A name as an operation gets it; the bytes are the caller's.
struct NameView {
  DirId parent;
  std::string_view name;
};

// Which attributes of a page or directory to change.
struct AttributeChange {
  bool set_mode = false, set_uid = false, set_gid = false, set_mtime = false;
  Ownership owner;
  int64_t mtime_ns = 0;
};

struct ListedEntry {
  uint64_t cursor = 0;  // hand it back to go on behind this entry
  bool is_directory = false;
  uint64_t id = 0;  // PageId or DirId
  std::string name;
};

struct NamespaceStats {
  uint64_t pages = 0;
  uint64_t page_bytes = 0;   // sum of sizes
  uint64_t directories = 0;  // with the root
};

}  // namespace kvpagefs
