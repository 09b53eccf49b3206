// /.kvpagefs: a read-only directory of text files about this node. Not listed in the root. Private to fs/.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "fs/node_state.h"

namespace kvpagefs {

inline constexpr uint64_t kVirtualDirNode = 2;
inline constexpr std::string_view kVirtualDirName = ".kvpagefs";

struct VirtualFile {
  uint64_t node_id;
  std::string_view name;
  std::string (*text)(Node::State& node);
};

// Null when there is none.
const VirtualFile* FindVirtualFile(std::string_view name);
const VirtualFile* FindVirtualFile(uint64_t node_id);
// By position; null behind the last.
const VirtualFile* VirtualFileAt(size_t index);

inline bool IsVirtual(uint64_t node_id) { return node_id >= kVirtualDirNode && node_id < kFirstFreeDirId; }
inline bool IsVirtualName(uint64_t parent, std::string_view name) {
  return parent == kRootDir.value && name == kVirtualDirName;
}

}  // namespace kvpagefs
