#include <sys/xattr.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "fs/ops.h"
#include "fs/virtual_files.h"
#include "fs/virtual_xattrs.h"
#include "meta/xattr_list.h"

namespace kvpagefs {
namespace {

constexpr std::string_view kUserPrefix = "user.";

bool IsUser(std::string_view key) { return key.starts_with(kUserPrefix) && key.size() > kUserPrefix.size(); }
bool IsVirtualXattr(std::string_view key) { return key.starts_with(kVirtualXattrPrefix); }

// A value, or its size when the caller asks for that.
void ReplyValue(fuse_req_t req, std::string_view value, size_t size) {
  if (size == 0) {
    fuse_reply_xattr(req, value.size());
  } else if (value.size() > size) {
    ReplyError(req, ErrorCode::kRangeTooSmall);
  } else {
    fuse_reply_buf(req, value.data(), value.size());
  }
}

// The file when its attributes are still its own: nothing is published that stands for it.
DraftTable::File FindUnpublished(Node::State& node, fuse_ino_t ino) {
  DraftTable::File file = node.drafts.Find(ino);
  if (file == nullptr) return nullptr;
  MutexLock lock(file->mutex);
  return file->follows.valid() ? nullptr : file;
}

// The id under which the metadata knows what the inode shows: directories have their own, a file that is being written
// stands for the page that it published.
uint64_t MetaId(Node::State& node, fuse_ino_t ino) {
  if (IsDirectoryId(ino)) return ino;
  if (const DraftTable::File file = node.drafts.Find(ino)) {
    MutexLock lock(file->mutex);
    return file->follows.value;
  }
  return node.drafts.PageOf(ino).value;
}

// The draft's own copy, which its next version takes along.
void ChangeDraftCopy(Node::State& node, fuse_ino_t ino, const std::function<void(Xattrs&)>& change) {
  const DraftTable::File file = node.drafts.Find(ino);
  if (file == nullptr) return;
  MutexLock lock(file->mutex);
  change(file->xattrs);
}

void SetPinOf(fuse_req_t req, fuse_ino_t ino, std::string_view word) {
  Node::State& node = NodeOf(req);
  const std::optional<Pin> pin = ParsePin(word);
  if (!pin) return ReplyError(req, ErrorCode::kInvalid);
  if (IsDirectoryId(ino)) return ReplyError(req, ErrorCode::kNotPermitted);
  if (const DraftTable::File file = node.drafts.Find(ino)) {
    MutexLock lock(file->mutex);
    file->pin = *pin;
  }
  if (FindUnpublished(node, ino) != nullptr) {
    fuse_reply_err(req, 0);
    return;
  }
  const PageId id{MetaId(node, ino)};
  // Before the names know: from here on it is not evicted.
  const bool in_memory = node.tier->SetPin(id, *pin).ok();
  node.meta->SetPin(id, *pin, [req, id, pin, in_memory](const Status& status) {
    Node::State& at = NodeOf(req);
    if (!status.ok()) return ReplyStatus(req, status);
    // Evicted a moment ago, its name about to go.
    if (!in_memory && at.cluster == nullptr && !at.tiering->OnSsd(id)) return ReplyError(req, ErrorCode::kNotFound);
    // It may have come into memory meanwhile.
    if (!in_memory) (void)at.tier->SetPin(id, *pin);
    at.tiering->SetPin(id, *pin);
    ReplyStatus(req, status);
  });
}

void ReplyVirtualValue(fuse_req_t req, fuse_ino_t ino, const char* key, size_t size) {
  Node::State& node = NodeOf(req);
  if (IsDirectoryId(ino)) return ReplyError(req, ErrorCode::kNoAttribute);
  if (const DraftTable::File file = FindUnpublished(node, ino)) {
    if (key != kPinXattr) return ReplyError(req, ErrorCode::kNoAttribute);
    MutexLock lock(file->mutex);
    return ReplyValue(req, ToString(file->pin), size);
  }
  node.meta->FindPage(PageId{MetaId(node, ino)}, [req, size, name = std::string(key)](const Result<PageInfo>& page) {
    if (!page.ok()) return ReplyError(req, ErrorCode::kNoAttribute);
    const auto reply = [req, size, name, page = *page](const Result<Replicas>& elsewhere) {
      const Replicas none;
      const auto value = VirtualXattr(NodeOf(req), page, elsewhere.ok() ? *elsewhere : none, name);
      if (!value) return ReplyError(req, ErrorCode::kNoAttribute);
      ReplyValue(req, *value, size);
    };
    Cluster* const cluster = NodeOf(req).cluster;
    if (cluster == nullptr) return reply(Replicas());
    // A person wants to know how it is now.
    cluster->ForgetLocation(page->id);
    cluster->Locate(page->id, reply);
  });
}

Namespace::XattrMode ModeOf(int flags) {
  if ((flags & XATTR_CREATE) != 0) return Namespace::XattrMode::kCreate;
  if ((flags & XATTR_REPLACE) != 0) return Namespace::XattrMode::kReplace;
  return Namespace::XattrMode::kEither;
}

std::string JoinNames(const Xattrs& xattrs, bool with_virtual) {
  std::string names;
  for (const auto& [key, value] : xattrs) names.append(key).push_back('\0');
  if (!with_virtual) return names;
  for (const std::string_view name : VirtualXattrNames()) names.append(name).push_back('\0');
  return names;
}

}  // namespace

void OpSetxattr(fuse_req_t req, fuse_ino_t ino, const char* key, const char* value, size_t size, int flags) {
  Node::State& node = NodeOf(req);
  if (!IsUser(key)) return ReplyError(req, ErrorCode::kNotSupported);
  if (IsVirtual(ino)) return ReplyError(req, ErrorCode::kNotPermitted);
  const std::string_view bytes(value, size);
  if (key == kPinXattr) return SetPinOf(req, ino, bytes);
  if (IsVirtualXattr(key)) return ReplyError(req, ErrorCode::kNotPermitted);
  const Namespace::XattrMode mode = ModeOf(flags);
  if (const DraftTable::File file = FindUnpublished(node, ino)) {
    MutexLock lock(file->mutex);
    return ReplyStatus(req, SetXattrIn(file->xattrs, key, bytes, mode));
  }
  ChangeDraftCopy(node, ino, [&](Xattrs& own) { (void)SetXattrIn(own, key, bytes, mode); });
  node.meta->SetXattr(MetaId(node, ino), key, bytes, mode, [req](const Status& status) { ReplyStatus(req, status); });
}

void OpGetxattr(fuse_req_t req, fuse_ino_t ino, const char* key, size_t size) {
  Node::State& node = NodeOf(req);
  if (!IsUser(key)) {
    // The kernel asks for security.* before writes and takes "no data" for an answer; ACLs and others are not offered.
    const bool security = std::string_view(key).starts_with("security.");
    return ReplyError(req, security ? ErrorCode::kNoAttribute : ErrorCode::kNotSupported);
  }
  if (IsVirtual(ino)) return ReplyError(req, ErrorCode::kNoAttribute);
  if (IsVirtualXattr(key)) return ReplyVirtualValue(req, ino, key, size);
  if (const DraftTable::File file = FindUnpublished(node, ino)) {
    MutexLock lock(file->mutex);
    const std::string* value = FindXattr(file->xattrs, key);
    return value != nullptr ? ReplyValue(req, *value, size) : ReplyError(req, ErrorCode::kNoAttribute);
  }
  node.meta->GetXattr(MetaId(node, ino), key, [req, size](const Result<std::string>& value) {
    if (!value.ok()) return ReplyError(req, ErrorCode::kNoAttribute);
    ReplyValue(req, *value, size);
  });
}

void OpListxattr(fuse_req_t req, fuse_ino_t ino, size_t size) {
  Node::State& node = NodeOf(req);
  if (IsVirtual(ino)) return ReplyValue(req, "", size);
  if (const DraftTable::File file = FindUnpublished(node, ino)) {
    MutexLock lock(file->mutex);
    return ReplyValue(req, JoinNames(file->xattrs, false), size);
  }
  node.meta->GetXattrs(MetaId(node, ino), [req, ino, size](const Result<Xattrs>& xattrs) {
    const bool page = !IsDirectoryId(ino);
    ReplyValue(req, JoinNames(xattrs.ok() ? *xattrs : Xattrs(), page && xattrs.ok()), size);
  });
}

void OpRemovexattr(fuse_req_t req, fuse_ino_t ino, const char* key) {
  Node::State& node = NodeOf(req);
  if (!IsUser(key)) return ReplyError(req, ErrorCode::kNotSupported);
  if (IsVirtual(ino) || IsVirtualXattr(key)) return ReplyError(req, ErrorCode::kNotPermitted);
  if (const DraftTable::File file = FindUnpublished(node, ino)) {
    MutexLock lock(file->mutex);
    return ReplyStatus(req, RemoveXattrFrom(file->xattrs, key));
  }
  ChangeDraftCopy(node, ino, [&](Xattrs& own) { (void)RemoveXattrFrom(own, key); });
  node.meta->RemoveXattr(MetaId(node, ino), key, [req](const Status& status) { ReplyStatus(req, status); });
}

}  // namespace kvpagefs
