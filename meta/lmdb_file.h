// Private to LmdbStore: one LMDB file, one table (LMDB: named database) per Table. One thread at a time.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "meta/record.h"

struct MDB_env;

namespace kvpagefs {

class LmdbFile {
 public:
  enum class Durability : uint8_t {
    kEveryApply,  // Apply returns when the rows are on disk
    kOnSync,      // only Sync makes rows durable; a crash before leaves an unusable file
  };

  // Creates the file when it is missing. kNoSpace, kNotPermitted, kUnavailable; kInvalid when it is not a file of ours
  // or shorter than its contents.
  static Result<std::unique_ptr<LmdbFile>> Open(const std::string& path, Durability durability);
  ~LmdbFile();
  LmdbFile(const LmdbFile&) = delete;
  LmdbFile& operator=(const LmdbFile&) = delete;

  // All rows or, on an error, none. After an error the object is only good for being destroyed.
  Status Apply(const RowBatch& rows);
  Status Sync();
  // From now on Apply is durable.
  Status MakeDurable();

  // Every row of the table in the order of the keys; `visit` must not touch the file.
  Status ForEach(Table table, const std::function<void(std::string_view key, std::string_view value)>& visit) const;

 private:
  LmdbFile(MDB_env* env, std::string path) : env_(env), path_(std::move(path)) {}
  Status OpenTables();
  Status CheckLength() const;
  int Write(const RowBatch& rows);
  Status GrowMap();
  Error Failed(int code, const char* what) const;

  MDB_env* const env_;
  const std::string path_;
  unsigned tables_[kTables] = {};
};

}  // namespace kvpagefs
