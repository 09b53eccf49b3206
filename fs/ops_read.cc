#include <vector>

#include "fs/ops.h"

namespace kvpagefs {
namespace {

void ReplyPieces(fuse_req_t req, const std::vector<iovec>& pieces, uint64_t bytes) {
  Node::State& node = NodeOf(req);
  node.counters.Add(Counter::kReads);
  node.counters.Add(Counter::kReadBytes, bytes);
  if (pieces.empty()) {
    fuse_reply_buf(req, nullptr, 0);
  } else if (pieces.size() == 1) {
    fuse_reply_buf(req, static_cast<const char*>(pieces[0].iov_base), pieces[0].iov_len);
  } else {
    fuse_reply_iov(req, pieces.data(), static_cast<int>(pieces.size()));
  }
}

}  // namespace

void OpRead(fuse_req_t req, fuse_ino_t, size_t size, off_t offset, fuse_file_info* fi) {
  FileHandle* handle = HandleOf(fi);
  const uint64_t from = static_cast<uint64_t>(offset);
  std::vector<iovec> pieces;
  if (handle->hold) {
    const uint64_t bytes = handle->hold.Read(from, size, &pieces);
    return ReplyPieces(req, pieces, bytes);
  }
  if (handle->file == nullptr) {
    // The reply wakes the reader, whose RELEASE may come before the reply is done with the text.
    const std::shared_ptr<const std::string> shared = handle->text;
    const std::string& text = *shared;
    if (from >= text.size()) return ReplyPieces(req, {}, 0);
    const size_t bytes = std::min(size, text.size() - from);
    fuse_reply_buf(req, text.data() + from, bytes);
    return;
  }
  // The bytes are copied to the kernel under the file's lock, so that no write or truncate moves them meanwhile.
  DraftFile& file = *handle->file;
  MutexLock lock(file.mutex);
  uint64_t bytes = 0;
  if (file.draft) {
    bytes = file.draft->Read(from, size, &pieces);
  } else if (file.sealed) {
    bytes = file.sealed.Read(from, size, &pieces);
  }
  ReplyPieces(req, pieces, bytes);
}

}  // namespace kvpagefs
