#include "meta/record.h"

#include <cassert>
#include <utility>

#include "base/checksum.h"

namespace kvpagefs {
namespace {

enum class Kind : uint8_t { kPage = 1, kDir = 2, kXattrs = 3, kCounter = 4 };

constexpr size_t kChecksumBytes = 8;
constexpr size_t kPageHeaderBytes = 48;
constexpr size_t kDirHeaderBytes = 32;
constexpr uint16_t kModeMask = 07777;

template <class T>
void Put(std::string* out, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) out->push_back(static_cast<char>(static_cast<uint64_t>(value) >> (8 * i)));
}

// Reads fields one after the other; after a read beyond the end everything is zero and ok() false.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  template <class T>
  T Get() {
    uint64_t value = 0;
    const std::string_view raw = Bytes(sizeof(T));
    for (size_t i = 0; i < raw.size(); ++i) value |= uint64_t{static_cast<uint8_t>(raw[i])} << (8 * i);
    return static_cast<T>(value);
  }
  std::string_view Bytes(size_t count) {
    if (count > bytes_.size()) {
      ok_ = false;
      bytes_ = {};
      return {};
    }
    const std::string_view raw = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return raw;
  }
  bool AtEnd() const { return ok_ && bytes_.empty(); }
  bool ok() const { return ok_; }

 private:
  std::string_view bytes_;
  bool ok_ = true;
};

// Over the key too: a record is good only where it was written.
uint64_t ChecksumOf(const RowKey& key, std::string_view body) {
  const std::string bytes = EncodeKey(key).append(body);
  return Checksum(std::as_bytes(std::span(bytes)));
}

std::string Seal(const RowKey& key, std::string body) {
  Put(&body, ChecksumOf(key, body));
  return body;
}

Error Damaged(const char* why) { return {ErrorCode::kInvalid, why}; }

// The fields behind version and kind.
Result<std::string_view> Open(const RowKey& key, std::string_view value, Kind kind) {
  if (value.size() < 2 + kChecksumBytes) return Damaged("too short");
  const std::string_view body = value.substr(0, value.size() - kChecksumBytes);
  if (Reader(value.substr(body.size())).Get<uint64_t>() != ChecksumOf(key, body)) return Damaged("wrong checksum");
  if (static_cast<uint8_t>(body[0]) != kRecordVersion) return Damaged("unknown version");
  if (static_cast<uint8_t>(body[1]) != static_cast<uint8_t>(kind)) return Damaged("wrong kind");
  return body.substr(2);
}

std::string Start(Kind kind) { return {static_cast<char>(kRecordVersion), static_cast<char>(kind)}; }

Ownership GetOwner(Reader* reader) {
  Ownership owner;
  owner.uid = reader->Get<uint32_t>();
  owner.gid = reader->Get<uint32_t>();
  owner.mode = reader->Get<uint16_t>() & kModeMask;
  return owner;
}

void PutNameAndOwner(std::string* out, std::string_view name, const Ownership& owner) {
  assert(name.size() <= kMaxNameBytes);
  Put(out, static_cast<uint16_t>(name.size()));
  Put(out, owner.uid);
  Put(out, owner.gid);
  Put(out, owner.mode);
}

}  // namespace

std::string EncodeKey(const RowKey& key) {
  std::string bytes;
  for (int shift = 56; shift >= 0; shift -= 8) bytes.push_back(static_cast<char>(key.first >> shift));
  if (key.table == Table::kXattrs || key.table == Table::kCounters) return bytes;
  for (int shift = 56; shift >= 0; shift -= 8) bytes.push_back(static_cast<char>(key.second >> shift));
  return bytes;
}

Result<RowKey> DecodeKey(Table table, std::string_view bytes) {
  const bool single = table == Table::kXattrs || table == Table::kCounters;
  if (bytes.size() != (single ? 8u : 16u)) return Damaged("key of a wrong length");
  RowKey key{table, 0, 0};
  for (size_t i = 0; i < 8; ++i) key.first = key.first << 8 | static_cast<uint8_t>(bytes[i]);
  for (size_t i = 8; i < bytes.size(); ++i) key.second = key.second << 8 | static_cast<uint8_t>(bytes[i]);
  return key;
}

std::string EncodePage(const RowKey& key, std::string_view name, const PageInfo& page) {
  std::string body = Start(Kind::kPage);
  body.reserve(kPageHeaderBytes + name.size() + kChecksumBytes);
  PutNameAndOwner(&body, name, page.owner);
  Put(&body, static_cast<uint8_t>(page.pin));
  Put(&body, uint8_t{0});
  Put(&body, page.id.value);
  Put(&body, page.bytes);
  Put(&body, page.checksum);
  Put(&body, page.mtime_ns);
  assert(body.size() == kPageHeaderBytes);
  return Seal(key, std::move(body.append(name)));
}

Result<PageRecord> DecodePage(const RowKey& key, std::string_view value) {
  const Result<std::string_view> fields = Open(key, value, Kind::kPage);
  if (!fields) return fields.error();
  Reader reader(*fields);
  const auto name_bytes = reader.Get<uint16_t>();
  PageRecord record;
  record.page.owner = GetOwner(&reader);
  const auto pin = reader.Get<uint8_t>();
  reader.Get<uint8_t>();
  record.page.id.value = reader.Get<uint64_t>();
  record.page.bytes = reader.Get<uint64_t>();
  record.page.checksum = reader.Get<uint64_t>();
  record.page.mtime_ns = reader.Get<int64_t>();
  record.name = reader.Bytes(name_bytes);
  if (!reader.AtEnd()) return Damaged("wrong length");
  if (pin > static_cast<uint8_t>(Pin::kHard)) return Damaged("unknown pin");
  record.page.pin = static_cast<Pin>(pin);
  return record;
}

std::string EncodeDir(const RowKey& key, std::string_view name, const DirInfo& dir) {
  std::string body = Start(Kind::kDir);
  PutNameAndOwner(&body, name, dir.owner);
  Put(&body, uint16_t{0});
  Put(&body, dir.id.value);
  Put(&body, dir.mtime_ns);
  assert(body.size() == kDirHeaderBytes);
  return Seal(key, std::move(body.append(name)));
}

Result<DirRecord> DecodeDir(const RowKey& key, std::string_view value) {
  const Result<std::string_view> fields = Open(key, value, Kind::kDir);
  if (!fields) return fields.error();
  Reader reader(*fields);
  const auto name_bytes = reader.Get<uint16_t>();
  DirRecord record;
  record.dir.owner = GetOwner(&reader);
  reader.Get<uint16_t>();
  record.dir.id.value = reader.Get<uint64_t>();
  record.dir.mtime_ns = reader.Get<int64_t>();
  record.dir.parent.value = key.first;
  record.name = reader.Bytes(name_bytes);
  if (!reader.AtEnd()) return Damaged("wrong length");
  return record;
}

std::string EncodeXattrs(const RowKey& key, const Xattrs& xattrs) {
  std::string body = Start(Kind::kXattrs);
  assert(xattrs.size() <= UINT16_MAX);
  Put(&body, static_cast<uint16_t>(xattrs.size()));
  for (const auto& [name, value] : xattrs) {
    assert(name.size() <= UINT16_MAX && value.size() <= kMaxXattrBytes);
    Put(&body, static_cast<uint16_t>(name.size()));
    Put(&body, static_cast<uint32_t>(value.size()));
    body.append(name).append(value);
  }
  return Seal(key, std::move(body));
}

Result<Xattrs> DecodeXattrs(const RowKey& key, std::string_view value) {
  const Result<std::string_view> fields = Open(key, value, Kind::kXattrs);
  if (!fields) return fields.error();
  Reader reader(*fields);
  const auto count = reader.Get<uint16_t>();
  Xattrs xattrs;
  for (size_t i = 0; i < count && reader.ok(); ++i) {
    const auto name_bytes = reader.Get<uint16_t>();
    const auto value_bytes = reader.Get<uint32_t>();
    std::string name(reader.Bytes(name_bytes));
    xattrs.emplace_back(std::move(name), reader.Bytes(value_bytes));
  }
  if (!reader.AtEnd()) return Damaged("wrong length");
  return xattrs;
}

std::string EncodeCounter(const RowKey& key, uint64_t value) {
  std::string body = Start(Kind::kCounter);
  Put(&body, uint16_t{0});
  Put(&body, uint32_t{0});
  Put(&body, value);
  return Seal(key, std::move(body));
}

Result<uint64_t> DecodeCounter(const RowKey& key, std::string_view value) {
  const Result<std::string_view> fields = Open(key, value, Kind::kCounter);
  if (!fields) return fields.error();
  Reader reader(*fields);
  reader.Bytes(6);
  const auto counter = reader.Get<uint64_t>();
  if (!reader.AtEnd()) return Damaged("wrong length");
  return counter;
}

void RowCollector::PutPage(NameView name, const PageInfo& page, uint64_t cursor) {
  const RowKey key{Table::kPages, name.parent.value, cursor};
  (*rows_)[key] = EncodePage(key, name.name, page);
}

void RowCollector::PutDir(NameView name, const DirInfo& dir, uint64_t cursor) {
  const RowKey key{Table::kDirs, name.parent.value, cursor};
  (*rows_)[key] = EncodeDir(key, name.name, dir);
}

void RowCollector::RemovePage(DirId parent, uint64_t cursor) {
  (*rows_)[{Table::kPages, parent.value, cursor}].clear();
}

void RowCollector::RemoveDir(DirId parent, uint64_t cursor) { (*rows_)[{Table::kDirs, parent.value, cursor}].clear(); }

void RowCollector::PutXattrs(uint64_t id, const Xattrs& xattrs) {
  const RowKey key{Table::kXattrs, id, 0};
  (*rows_)[key] = xattrs.empty() ? std::string() : EncodeXattrs(key, xattrs);
}

void RowCollector::ReserveIds(uint64_t next_dir_id) {
  const RowKey key{Table::kCounters, static_cast<uint64_t>(Counter::kNextDirId), 0};
  (*rows_)[key] = EncodeCounter(key, next_dir_id);
}

}  // namespace kvpagefs
