#include "spill/removal_file.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "base/checksum.h"
#include "spill/region_format.h"

namespace kvpagefs {
namespace {

// 40 million marks: more than the records of 300 GiB of the smallest pages.
constexpr uint64_t kMaxRemovalFileBytes = uint64_t{1} << 30;

template <class T>
uint32_t EntryChecksum(const T& entry) {
  return static_cast<uint32_t>(Checksum(std::as_bytes(std::span(&entry, 1)).first(offsetof(T, checksum))));
}

}  // namespace

std::vector<std::byte> EncodeRemovalHeader(uint64_t node_identity) {
  RemovalFileHeader header{.version = kSsdFormatVersion, .node_identity = node_identity};
  header.checksum = EntryChecksum(header);
  const auto bytes = std::as_bytes(std::span(&header, 1));
  return {bytes.begin(), bytes.end()};
}

std::vector<std::byte> EncodeRemovals(std::span<const RemovalMark> marks) {
  std::vector<std::byte> out(marks.size() * sizeof(RemovalEntry));
  std::byte* at = out.data();
  for (const RemovalMark& mark : marks) {
    RemovalEntry entry{.page_id = mark.id.value, .sequence = mark.sequence, .block = mark.block};
    entry.checksum = EntryChecksum(entry);
    std::memcpy(at, &entry, sizeof(entry));
    at += sizeof(entry);
  }
  return out;
}

Result<DecodedRemovals> DecodeRemovals(std::span<const std::byte> bytes, uint64_t node_identity) {
  DecodedRemovals out;
  RemovalFileHeader header;
  out.whole = bytes.size() >= sizeof(header) && bytes.size() % kRemovalEntryBytes == 0;
  if (bytes.size() < sizeof(header)) return out;
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (header.magic == kRemovalMagic && header.checksum == EntryChecksum(header)) {
    if (header.version != kSsdFormatVersion || header.entry_bytes != kRemovalEntryBytes) {
      return Error(ErrorCode::kNotSupported, "the removal file is of another format version");
    }
    if (header.node_identity != node_identity) {
      return Error(ErrorCode::kNotPermitted, "the removal file belongs to another node");
    }
  } else {
    out.whole = false;
  }
  out.marks.reserve(bytes.size() / kRemovalEntryBytes);
  for (uint64_t at = sizeof(header); at + kRemovalEntryBytes <= bytes.size(); at += kRemovalEntryBytes) {
    RemovalEntry entry;
    std::memcpy(&entry, bytes.data() + at, sizeof(entry));
    if (entry.checksum != EntryChecksum(entry)) {
      out.whole = false;
      continue;
    }
    out.marks.push_back({.id = PageId{entry.page_id}, .sequence = entry.sequence, .block = entry.block});
  }
  return out;
}

Result<DecodedRemovals> RemovalFile::Load() {
  MutexLock lock(mutex_);
  Result<std::vector<std::byte>> bytes = disk_->ReadSmall(kRemovalFileName, kMaxRemovalFileBytes);
  if (!bytes.ok() && bytes.code() != ErrorCode::kNotFound) return bytes.error();
  DecodedRemovals decoded;
  decoded.whole = false;
  if (bytes.ok()) {
    Result<DecodedRemovals> read = DecodeRemovals(*bytes, node_identity_);
    if (!read.ok()) return read;
    decoded = std::move(*read);
    bytes_ = bytes->size();
  }
  Count(decoded.marks);
  if (!decoded.whole) {
    if (const Status written = Rewrite(decoded.marks); !written.ok()) {
      // Readable is enough to start with: a full or read-only disk gets its marks later.
      torn_ = true;
    }
  }
  // What an earlier process appended may not be on the medium yet.
  dirty_ = true;
  return decoded;
}

Status RemovalFile::Append(std::span<const RemovalMark> marks) {
  if (marks.empty()) return {};
  MutexLock lock(mutex_);
  if (torn_) {
    Result<std::vector<std::byte>> bytes = disk_->ReadSmall(kRemovalFileName, kMaxRemovalFileBytes);
    if (!bytes.ok() && bytes.code() != ErrorCode::kNotFound) return bytes.error();
    DecodedRemovals decoded;
    if (bytes.ok()) {
      Result<DecodedRemovals> read = DecodeRemovals(*bytes, node_identity_);
      if (!read.ok()) return read.error();
      decoded = std::move(*read);
    }
    if (const Status written = Rewrite(decoded.marks); !written.ok()) return written;
  }
  const std::vector<std::byte> bytes = EncodeRemovals(marks);
  if (const Status written = disk_->AppendSmall(kRemovalFileName, bytes); !written.ok()) {
    torn_ = true;
    return written;
  }
  bytes_ += bytes.size();
  dirty_ = true;
  Count(marks);
  return {};
}

Status RemovalFile::Sync() {
  MutexLock lock(mutex_);
  if (!dirty_) return {};
  if (const Status synced = disk_->SyncSmall(kRemovalFileName); !synced.ok()) return synced;
  dirty_ = false;
  return {};
}

Status RemovalFile::CompactIfLarge(uint64_t min_sequence, uint64_t threshold_bytes) {
  MutexLock lock(mutex_);
  if (bytes_ <= threshold_bytes || bytes_ <= 2 * NeededBytes(min_sequence)) return {};
  Result<std::vector<std::byte>> bytes = disk_->ReadSmall(kRemovalFileName, kMaxRemovalFileBytes);
  if (!bytes.ok()) return bytes.error();
  Result<DecodedRemovals> decoded = DecodeRemovals(*bytes, node_identity_);
  if (!decoded.ok()) return decoded.error();
  std::erase_if(decoded->marks, [&](const RemovalMark& mark) { return mark.sequence < min_sequence; });
  return Rewrite(decoded->marks);
}

Status RemovalFile::Rewrite(std::span<const RemovalMark> marks) {
  std::vector<std::byte> bytes = EncodeRemovalHeader(node_identity_);
  const std::vector<std::byte> entries = EncodeRemovals(marks);
  bytes.insert(bytes.end(), entries.begin(), entries.end());
  if (const Status written = disk_->ReplaceSmall(kRemovalFileName, bytes); !written.ok()) return written;
  bytes_ = bytes.size();
  torn_ = false;
  dirty_ = false;
  marks_by_sequence_.clear();
  Count(marks);
  return {};
}

void RemovalFile::Count(std::span<const RemovalMark> marks) {
  for (const RemovalMark& mark : marks) ++marks_by_sequence_[mark.sequence];
}

uint64_t RemovalFile::NeededBytes(uint64_t min_sequence) const {
  uint64_t marks = 0;
  for (auto it = marks_by_sequence_.lower_bound(min_sequence); it != marks_by_sequence_.end(); ++it) {
    marks += it->second;
  }
  return sizeof(RemovalFileHeader) + marks * kRemovalEntryBytes;
}

uint64_t RemovalFile::bytes() const {
  MutexLock lock(mutex_);
  return bytes_;
}

bool RemovalFile::dirty() const {
  MutexLock lock(mutex_);
  return dirty_;
}

}  // namespace kvpagefs
