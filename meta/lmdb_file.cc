#include "meta/lmdb_file.h"

#include <lmdb.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <type_traits>

namespace kvpagefs {
namespace {

static_assert(std::is_same_v<MDB_dbi, unsigned>);

constexpr const char* kTableNames[kTables] = {"dirs", "pages", "xattrs", "counters"};
constexpr size_t kFirstMapBytes = size_t{64} << 20;

MDB_val ValueOf(std::string_view bytes) { return {bytes.size(), const_cast<char*>(bytes.data())}; }
std::string_view ViewOf(const MDB_val& value) { return {static_cast<const char*>(value.mv_data), value.mv_size}; }

// LMDB's own codes are negative; the rest are errno values.
ErrorCode CodeOf(int code) {
  if (code == MDB_INVALID || code == MDB_CORRUPTED || code == MDB_VERSION_MISMATCH || code == MDB_PAGE_NOTFOUND ||
      code == MDB_INCOMPATIBLE) {
    return ErrorCode::kInvalid;
  }
  return code > 0 ? FromErrno(code) : ErrorCode::kUnavailable;
}

uint64_t FileBytes(const std::string& path) {
  struct stat info{};
  return stat(path.c_str(), &info) == 0 ? static_cast<uint64_t>(info.st_size) : 0;
}

// LMDB calls a write that was cut short by a full disk an I/O error.
bool IsFull(const std::string& path) {
  constexpr uint64_t kNothingLeftBytes = 64 << 10;
  struct statvfs info{};
  return statvfs(path.c_str(), &info) == 0 && uint64_t{info.f_bavail} * info.f_frsize < kNothingLeftBytes;
}

}  // namespace

Error LmdbFile::Failed(int code, const char* what) const {
  return {CodeOf(code), path_ + ": " + what + ": " + mdb_strerror(code)};
}

Result<std::unique_ptr<LmdbFile>> LmdbFile::Open(const std::string& path, Durability durability) {
  MDB_env* env = nullptr;
  if (const int code = mdb_env_create(&env); code != 0) return Error(CodeOf(code), path + ": " + mdb_strerror(code));
  std::unique_ptr<LmdbFile> file(new LmdbFile(env, path));
  // The state directory's lock keeps other processes out, and only one thread comes here: no lock file, no reader
  // table.
  unsigned flags = MDB_NOSUBDIR | MDB_NOLOCK | MDB_NOTLS;
  if (durability == Durability::kOnSync) flags |= MDB_NOSYNC;
  const uint64_t map_bytes = std::max<uint64_t>(kFirstMapBytes, FileBytes(path) * 2);
  int code = mdb_env_set_maxdbs(env, kTables);
  if (code == 0) code = mdb_env_set_mapsize(env, map_bytes);
  if (code == 0) code = mdb_env_open(env, path.c_str(), flags, 0600);
  if (code != 0) return file->Failed(code, "open");
  if (Status length = file->CheckLength(); !length) return length.error();
  if (Status tables = file->OpenTables(); !tables) return tables.error();
  return file;
}

LmdbFile::~LmdbFile() { mdb_env_close(env_); }

// LMDB reads through a mapping: what is missing at the end of a file that was cut off would be a SIGBUS.
Status LmdbFile::CheckLength() const {
  MDB_envinfo info;
  MDB_stat stat;
  int code = mdb_env_info(env_, &info);
  if (code == 0) code = mdb_env_stat(env_, &stat);
  if (code != 0) return Failed(code, "inspect");
  const uint64_t bytes = FileBytes(path_);
  const uint64_t used = (info.me_last_pgno + 1) * stat.ms_psize;
  if (bytes >= used) return {};
  // Pages at the end that a transaction took and gave back may never have been written, and are never read.
  const uint64_t never_written = std::max<uint64_t>(used / 16, uint64_t{256} * stat.ms_psize);
  if (bytes + never_written >= used) {
    if (truncate(path_.c_str(), static_cast<off_t>(used)) == 0) return {};
    return Error::FromSystem(errno, path_ + ": truncate");
  }
  return Error(ErrorCode::kInvalid,
               path_ + ": damaged: " + std::to_string(bytes) + " bytes long, but " + std::to_string(used) + " in use");
}

Status LmdbFile::OpenTables() {
  MDB_txn* txn = nullptr;
  if (const int code = mdb_txn_begin(env_, nullptr, 0, &txn); code != 0) return Failed(code, "begin");
  for (size_t i = 0; i < kTables; ++i) {
    if (const int code = mdb_dbi_open(txn, kTableNames[i], MDB_CREATE, &tables_[i]); code != 0) {
      mdb_txn_abort(txn);
      return Failed(code, "open table");
    }
  }
  if (const int code = mdb_txn_commit(txn); code != 0) return Failed(code, "commit");
  return {};
}

Status LmdbFile::Apply(const RowBatch& rows) {
  if (rows.empty()) return {};
  int code = Write(rows);
  while (code == MDB_MAP_FULL) {
    if (Status grown = GrowMap(); !grown) return grown;
    code = Write(rows);
  }
  if (code == EIO && IsFull(path_)) code = ENOSPC;
  if (code != 0) return Failed(code, "write");
  return {};
}

int LmdbFile::Write(const RowBatch& rows) {
  MDB_txn* txn = nullptr;
  if (const int code = mdb_txn_begin(env_, nullptr, 0, &txn); code != 0) return code;
  for (const auto& [key, value] : rows) {
    const std::string key_bytes = EncodeKey(key);
    MDB_val key_value = ValueOf(key_bytes);
    MDB_val data = ValueOf(value);
    const MDB_dbi table = tables_[static_cast<size_t>(key.table)];
    int code = value.empty() ? mdb_del(txn, table, &key_value, nullptr) : mdb_put(txn, table, &key_value, &data, 0);
    if (value.empty() && code == MDB_NOTFOUND) code = 0;
    if (code != 0) {
      mdb_txn_abort(txn);
      return code;
    }
  }
  return mdb_txn_commit(txn);
}

Status LmdbFile::GrowMap() {
  MDB_envinfo info;
  int code = mdb_env_info(env_, &info);
  if (code == 0) code = mdb_env_set_mapsize(env_, info.me_mapsize * 2);
  if (code != 0) return Failed(code, "grow the map");
  return {};
}

Status LmdbFile::Sync() {
  if (const int code = mdb_env_sync(env_, 1); code != 0) return Failed(code, "sync");
  return {};
}

Status LmdbFile::MakeDurable() {
  if (Status synced = Sync(); !synced) return synced;
  if (const int code = mdb_env_set_flags(env_, MDB_NOSYNC, 0); code != 0) return Failed(code, "make durable");
  return {};
}

Status LmdbFile::ForEach(Table table,
                         const std::function<void(std::string_view key, std::string_view value)>& visit) const {
  MDB_txn* txn = nullptr;
  if (const int code = mdb_txn_begin(env_, nullptr, MDB_RDONLY, &txn); code != 0) return Failed(code, "begin");
  MDB_cursor* cursor = nullptr;
  int code = mdb_cursor_open(txn, tables_[static_cast<size_t>(table)], &cursor);
  MDB_val key;
  MDB_val value;
  if (code == 0) code = mdb_cursor_get(cursor, &key, &value, MDB_FIRST);
  while (code == 0) {
    visit(ViewOf(key), ViewOf(value));
    code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
  }
  if (cursor != nullptr) mdb_cursor_close(cursor);
  mdb_txn_abort(txn);
  if (code != MDB_NOTFOUND) return Failed(code, "read");
  return {};
}

}  // namespace kvpagefs
