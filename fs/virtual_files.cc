#include "fs/virtual_files.h"

#include <iterator>

#include "fs/report.h"

namespace kvpagefs {
namespace {

constexpr VirtualFile kFiles[] = {
    {kVirtualDirNode + 1, "status", StatusText},   {kVirtualDirNode + 2, "nodes", NodesText},
    {kVirtualDirNode + 3, "metrics", MetricsText}, {kVirtualDirNode + 4, "config", NodeConfigText},
    {kVirtualDirNode + 5, "events", EventsText},
};

}  // namespace

const VirtualFile* FindVirtualFile(std::string_view name) {
  for (const VirtualFile& file : kFiles) {
    if (file.name == name) return &file;
  }
  return nullptr;
}

const VirtualFile* FindVirtualFile(uint64_t node_id) {
  for (const VirtualFile& file : kFiles) {
    if (file.node_id == node_id) return &file;
  }
  return nullptr;
}

const VirtualFile* VirtualFileAt(size_t index) { return index < std::size(kFiles) ? &kFiles[index] : nullptr; }

}  // namespace kvpagefs
