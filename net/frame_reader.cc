#include "net/frame_reader.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

namespace kvpagefs {

FrameReader::FrameReader(Events* events)
    : events_(events), buffer_(std::make_unique_for_overwrite<char[]>(kBufferBytes)) {}

size_t FrameReader::Room(std::span<iovec> room, size_t ahead) {
  assert(room.size() >= 3);
  // Less than a header is left, if anything.
  std::memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  size_t count = 0;
  if (body_filled_ < body_.size()) room[count++] = {body_.data() + body_filled_, body_.size() - body_filled_};
  if (!place_.discard) {
    for (size_t i = piece_; i < place_.into.size(); ++i) {
      if (count + 1 == room.size()) return count;
      room[count++] = place_.into[i];
    }
  }
  // What is thrown away passes through the buffer.
  const bool throws_away = place_.discard && payload_left_ > 0;
  const size_t wanted = throws_away ? kBufferBytes : std::max(ahead, kFrameHeaderBytes);
  room[count++] = {buffer_.get() + end_, std::min(wanted, kBufferBytes - end_)};
  return count;
}

Status FrameReader::Received(size_t bytes) {
  const size_t of_body = std::min(bytes, body_.size() - body_filled_);
  body_filled_ += of_body;
  bytes -= of_body;
  if (!place_.discard) {
    const size_t of_payload = std::min<uint64_t>(bytes, payload_left_);
    AdvancePayload(of_payload);
    bytes -= of_payload;
  }
  end_ += bytes;
  assert(end_ <= kBufferBytes);
  return ParseBuffer();
}

Status FrameReader::ParseBuffer() {
  for (;;) {
    if (state_ == State::kHeader) {
      if (end_ - begin_ < kFrameHeaderBytes) return {};
      if (Status started = StartFrame(); !started.ok()) return started;
    }
    FillFromBuffer();
    if (body_filled_ < body_.size() || payload_left_ > 0) return {};
    state_ = State::kHeader;
    place_ = Place{};
    body_filled_ = 0;
    if (Status handled = events_->OnFrame(header_, std::exchange(body_, {})); !handled.ok()) return handled;
  }
}

Status FrameReader::StartFrame() {
  const Result<FrameHeader> header = DecodeFrame(buffer_.get() + begin_);
  if (!header.ok()) return header.error();
  begin_ += kFrameHeaderBytes;
  header_ = *header;
  state_ = State::kBody;
  piece_ = 0;
  payload_left_ = header_.payload_bytes;
  if (payload_left_ > 0) {
    Result<Place> place = events_->OnPayload(header_);
    if (!place.ok()) return place.error();
    place_ = std::move(*place);
  }
  const size_t at_hand = std::min<size_t>(header_.body_bytes, end_ - begin_);
  body_.assign(buffer_.get() + begin_, at_hand);
  body_.resize(header_.body_bytes);
  body_filled_ = at_hand;
  begin_ += at_hand;
  return {};
}

void FrameReader::FillFromBuffer() {
  if (body_filled_ < body_.size() || payload_left_ == 0) return;
  state_ = State::kPayload;
  if (place_.discard) {
    const size_t skipped = std::min<uint64_t>(payload_left_, end_ - begin_);
    begin_ += skipped;
    payload_left_ -= skipped;
    return;
  }
  while (payload_left_ > 0 && begin_ < end_) {
    const iovec& piece = place_.into[piece_];
    const size_t bytes = std::min(piece.iov_len, end_ - begin_);
    if (bytes > 0) std::memcpy(piece.iov_base, buffer_.get() + begin_, bytes);
    begin_ += bytes;
    AdvancePayload(bytes);
  }
}

void FrameReader::AdvancePayload(uint64_t bytes) {
  payload_left_ -= bytes;
  while (piece_ < place_.into.size()) {
    iovec& piece = place_.into[piece_];
    const size_t step = std::min<uint64_t>(bytes, piece.iov_len);
    piece.iov_base = static_cast<char*>(piece.iov_base) + step;
    piece.iov_len -= step;
    bytes -= step;
    if (piece.iov_len > 0) return;
    ++piece_;
  }
  assert(bytes == 0);
}

}  // namespace kvpagefs
