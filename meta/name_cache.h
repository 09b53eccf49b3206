// What a node remembers of names that the metadata service keeps: those of pages that it has a copy of, of which the
// service tells when they change, and of directories that it came by. And names that only this node knows: of pages
// that are temporary, or that could not be published yet. Pure; the caller locks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <absl/container/flat_hash_map.h>

#include "meta/types.h"

namespace kvpagefs {

struct CachedPage {
  enum class State : uint8_t {
    kPublished,  // the service knows it
    kTemporary,  // its name stays on this node until it is renamed
    kUnsent,     // to be published when the service is there again
  };
  PageInfo page;
  NameRef name;
  Xattrs xattrs;  // of a page that the service does not know
  State state = State::kPublished;
  uint64_t session = 0;  // with the service, in which this was learnt
  bool local() const { return state != State::kPublished; }
};

class NameCache {
 public:
  static constexpr size_t kMaxDirs = 100'000;

  const CachedPage* Find(PageId id) const;
  const CachedPage* Find(NameView name) const;
  // Under its name there is nothing else afterwards. Returns a local page that had the name and is gone now.
  std::optional<PageId> Put(CachedPage page);
  // Changes to what Find answers, but for the id, the name and the state.
  CachedPage* Change(PageId id);
  void Erase(PageId id);
  std::vector<PageId> Unsent() const;
  bool any_unsent() const { return unsent_ != 0; }
  size_t pages() const { return pages_.size(); }

  // The name is empty for the root, or not known.
  void PutDir(const DirInfo& dir, const NameRef& name, int64_t now_ns);
  void EraseDir(DirId id);
  std::optional<DirInfo> FindDir(DirId id) const;
  // Learnt at `since_ns` or later.
  std::optional<DirInfo> FindFreshDir(DirId id, int64_t since_ns) const;
  std::optional<DirInfo> FindDir(NameView name) const;
  // Components from the root; nothing when a directory on the way is not remembered.
  std::optional<std::vector<std::string>> PathOf(const NameRef& name) const;

 private:
  struct CachedDir {
    DirInfo dir;
    NameRef name;
    int64_t learnt_ns = 0;
  };
  static std::string KeyOf(DirId parent, std::string_view name);

  absl::flat_hash_map<uint64_t, CachedPage> pages_;  // by id
  size_t unsent_ = 0;
  absl::flat_hash_map<std::string, uint64_t, std::hash<std::string>, std::equal_to<>> page_ids_;  // by KeyOf
  absl::flat_hash_map<uint64_t, CachedDir> dirs_;
  absl::flat_hash_map<std::string, uint64_t, std::hash<std::string>, std::equal_to<>> dir_ids_;
};

}  // namespace kvpagefs
