// What is to be sent over one link, in order. Small frames share a buffer, large bodies and payloads stay where they
// are.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "net/frame.h"
#include "net/rpc.h"

namespace kvpagefs {

struct SendSegment {
  std::string bytes;
  Payload payload;  // behind them
};

// One thread at a time.
class SendQueue {
 public:
  // body_bytes and payload_bytes of the header are filled in. The pieces of the payload are of kMaxPayloadBytes
  // together at most.
  void Push(FrameHeader header, std::string body, Payload payload);
  bool empty() const { return segments_.empty(); }
  // Of headers and bodies, of what is queued and what was taken last.
  size_t bytes() const { return bytes_ + taken_bytes_; }
  // All of it; what was taken before has been sent. `spare` is a buffer to use again.
  std::vector<SendSegment> Take(std::string spare);
  // What was taken has been sent, and there is no more.
  void Sent(std::string spare);

 private:
  std::string& Open(size_t bytes);

  std::vector<SendSegment> segments_;
  size_t bytes_ = 0;
  size_t taken_bytes_ = 0;
  std::string spare_;
};

// Walks through taken segments as they go out. One thread.
class SendCursor {
 public:
  void Start(std::vector<SendSegment> segments);
  bool done() const { return segment_ == segments_.size(); }
  // The next bytes; returns how many entries of `room` are used.
  size_t Fill(std::span<iovec> room) const;
  // Lets go of the segments that are sent.
  void Advance(size_t bytes);
  // A buffer that is not needed any more.
  std::string TakeSpare();
  void Clear() { Start({}); }

 private:
  bool SkipWithin(SendSegment& segment, size_t* bytes);

  std::vector<SendSegment> segments_;
  size_t segment_ = 0;
  size_t piece_ = 0;   // of the segment: 0 are its bytes, then the payload's pieces
  size_t offset_ = 0;  // in the piece
  std::string spare_;
};

}  // namespace kvpagefs
