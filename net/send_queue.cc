#include "net/send_queue.h"

#include <cassert>
#include <utility>

namespace kvpagefs {
namespace {

constexpr size_t kCopiedBodyBytes = 4096;          // larger ones are sent from where they are
constexpr size_t kSharedBytes = size_t{64} << 10;  // of a buffer that small frames share
constexpr size_t kMaxSpareBytes = size_t{256} << 10;

}  // namespace

void SendQueue::Push(FrameHeader header, std::string body, Payload payload) {
  header.body_bytes = static_cast<uint32_t>(body.size());
  header.payload_bytes = 0;
  for (const iovec& piece : payload.pieces) header.payload_bytes += piece.iov_len;
  const bool copied = body.size() <= kCopiedBodyBytes;
  bytes_ += kFrameHeaderBytes + body.size();
  std::string& bytes = Open(kFrameHeaderBytes + (copied ? body.size() : 0));
  const size_t at = bytes.size();
  bytes.resize(at + kFrameHeaderBytes);
  EncodeFrame(header, bytes.data() + at);
  if (copied) {
    bytes += body;
  } else {
    segments_.push_back({std::move(body), {}});
  }
  if (header.payload_bytes > 0) segments_.back().payload = std::move(payload);
}

std::string& SendQueue::Open(size_t bytes) {
  if (!segments_.empty()) {
    SendSegment& last = segments_.back();
    if (last.payload.pieces.empty() && last.bytes.size() + bytes <= kSharedBytes) return last.bytes;
  }
  segments_.push_back({std::exchange(spare_, {}), {}});
  return segments_.back().bytes;
}

std::vector<SendSegment> SendQueue::Take(std::string spare) {
  spare_ = std::move(spare);
  taken_bytes_ = std::exchange(bytes_, 0);
  return std::exchange(segments_, {});
}

void SendQueue::Sent(std::string spare) {
  assert(segments_.empty());
  spare_ = std::move(spare);
  taken_bytes_ = 0;
}

void SendCursor::Start(std::vector<SendSegment> segments) {
  segments_ = std::move(segments);
  segment_ = piece_ = offset_ = 0;
}

size_t SendCursor::Fill(std::span<iovec> room) const {
  size_t count = 0;
  size_t piece = piece_;
  size_t offset = offset_;
  for (size_t i = segment_; i < segments_.size(); ++i, piece = 0) {
    const SendSegment& segment = segments_[i];
    for (; piece <= segment.payload.pieces.size(); ++piece, offset = 0) {
      if (count == room.size()) return count;
      const iovec whole = piece == 0 ? iovec{const_cast<char*>(segment.bytes.data()), segment.bytes.size()}
                                     : segment.payload.pieces[piece - 1];
      if (whole.iov_len > offset) room[count++] = {static_cast<char*>(whole.iov_base) + offset, whole.iov_len - offset};
    }
  }
  return count;
}

void SendCursor::Advance(size_t bytes) {
  while (segment_ < segments_.size() && SkipWithin(segments_[segment_], &bytes)) {
    SendSegment sent = std::move(segments_[segment_]);
    if (sent.bytes.capacity() > spare_.capacity() && sent.bytes.capacity() <= kMaxSpareBytes) {
      spare_ = std::move(sent.bytes);
    }
    ++segment_;
    piece_ = offset_ = 0;
  }
  assert(bytes == 0);
}

bool SendCursor::SkipWithin(SendSegment& segment, size_t* bytes) {
  for (; piece_ <= segment.payload.pieces.size(); ++piece_, offset_ = 0) {
    const size_t size = piece_ == 0 ? segment.bytes.size() : segment.payload.pieces[piece_ - 1].iov_len;
    if (*bytes < size - offset_) {
      offset_ += *bytes;
      *bytes = 0;
      return false;
    }
    *bytes -= size - offset_;
  }
  return true;
}

std::string SendCursor::TakeSpare() {
  std::string spare = std::exchange(spare_, {});
  spare.clear();
  return spare;
}

}  // namespace kvpagefs
