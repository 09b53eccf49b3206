// Shared by the tests of this layer.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "meta/namespace.h"

namespace kvpagefs::testing {

inline PageInfo Page(uint64_t counter, uint64_t content = 0, int64_t mtime_ns = 5) {
  PageInfo page;
  page.id = PageId::Make(1, counter);
  page.bytes = 1000 + content;
  page.checksum = content != 0 ? content : counter;
  page.mtime_ns = mtime_ns;
  page.owner = {10, 20, 0644};
  return page;
}

inline bool Same(const PageInfo& a, const PageInfo& b) {
  return a.id == b.id && a.bytes == b.bytes && a.checksum == b.checksum && a.mtime_ns == b.mtime_ns &&
         a.owner == b.owner && a.pin == b.pin;
}

// A page or directory as text, to compare whole trees.
inline std::string Describe(const Namespace& names, const ListedEntry& entry) {
  std::string text = std::to_string(entry.id) + " c" + std::to_string(entry.cursor);
  Ownership owner;
  if (entry.is_directory) {
    const DirInfo dir = *names.FindDir(DirId{entry.id});
    owner = dir.owner;
    text += " dir t" + std::to_string(dir.mtime_ns) + " n" + std::to_string(dir.entries) + " d" +
            std::to_string(dir.directories);
  } else {
    const PageInfo page = *names.FindPage(PageId{entry.id});
    owner = page.owner;
    text += " page t" + std::to_string(page.mtime_ns) + " b" + std::to_string(page.bytes) + " s" +
            std::to_string(page.checksum) + " p" + std::to_string(static_cast<int>(page.pin));
  }
  text += " o" + std::to_string(owner.uid) + ":" + std::to_string(owner.gid) + ":" + std::to_string(owner.mode);
  const Xattrs xattrs = names.GetXattrs(entry.id);
  const std::map<std::string, std::string> sorted(xattrs.begin(), xattrs.end());
  for (const auto& [key, value] : sorted) text += " " + key + "=" + value;
  return text;
}

// Everything below a directory, by path.
inline void Collect(const Namespace& names, DirId dir, const std::string& prefix,
                    std::map<std::string, std::string>* out) {
  uint64_t cursor = 0;
  for (;;) {
    const auto listed = names.List(dir, cursor, 100, SIZE_MAX);
    if (!listed.ok() || listed->empty()) return;
    for (const ListedEntry& entry : *listed) {
      (*out)[prefix + entry.name] = Describe(names, entry);
      if (entry.is_directory) Collect(names, DirId{entry.id}, prefix + entry.name + "/", out);
    }
    cursor = listed->back().cursor;
  }
}

inline std::map<std::string, std::string> Tree(const Namespace& names) {
  std::map<std::string, std::string> tree;
  tree["/"] = Describe(names, {.cursor = 0, .is_directory = true, .id = kRootDir.value, .name = ""});
  Collect(names, kRootDir, "/", &tree);
  return tree;
}

}  // namespace kvpagefs::testing
