// The rows of the store (meta/STORE.md): what a change becomes on disk, and back. Pure.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "absl/container/btree_map.h"
#include "meta/namespace.h"
#include "meta/types.h"

namespace kvpagefs {

inline constexpr uint8_t kRecordVersion = 1;

enum class Table : uint8_t { kDirs, kPages, kXattrs, kCounters };
inline constexpr size_t kTables = 4;

enum class Counter : uint64_t { kNextDirId = 1, kNextPageId = 2 };

// Key of a row: directory and cursor for kDirs and kPages, id and 0 for kXattrs, Counter and 0 for kCounters.
struct RowKey {
  Table table = Table::kDirs;
  uint64_t first = 0;
  uint64_t second = 0;
  auto operator<=>(const RowKey&) const = default;
};

// Big-endian, so that rows lie in the order of their keys: 16 bytes, or 8 where there is no second part.
std::string EncodeKey(const RowKey& key);
// kInvalid when the length is wrong.
Result<RowKey> DecodeKey(Table table, std::string_view bytes);

struct PageRecord {
  std::string name;
  PageInfo page;
};
struct DirRecord {
  std::string name;
  DirInfo dir;  // parent, entries and directories are not part of the record
};

std::string EncodePage(const RowKey& key, std::string_view name, const PageInfo& page);
std::string EncodeDir(const RowKey& key, std::string_view name, const DirInfo& dir);
std::string EncodeXattrs(const RowKey& key, const Xattrs& xattrs);
std::string EncodeCounter(const RowKey& key, uint64_t value);

// kInvalid for anything that the functions above did not make for this key.
Result<PageRecord> DecodePage(const RowKey& key, std::string_view value);
Result<DirRecord> DecodeDir(const RowKey& key, std::string_view value);
Result<Xattrs> DecodeXattrs(const RowKey& key, std::string_view value);
Result<uint64_t> DecodeCounter(const RowKey& key, std::string_view value);

// Changes of rows, the latest of each row only; an empty value deletes the row.
using RowBatch = absl::btree_map<RowKey, std::string>;

// Turns what a namespace tells into rows.
class RowCollector final : public Journal {
 public:
  explicit RowCollector(RowBatch* rows) : rows_(rows) {}
  void PutPage(NameView name, const PageInfo& page, uint64_t cursor) override;
  void PutDir(NameView name, const DirInfo& dir, uint64_t cursor) override;
  void RemovePage(DirId parent, uint64_t cursor) override;
  void RemoveDir(DirId parent, uint64_t cursor) override;
  void PutXattrs(uint64_t id, const Xattrs& xattrs) override;
  void ReserveIds(uint64_t next_dir_id) override;
  void Commit() override {}

 private:
  RowBatch* const rows_;
};

}  // namespace kvpagefs
