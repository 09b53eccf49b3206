// Turns bytes of a stream into frames. Knows no socket: says where the next bytes go, and is told how many came.
//
// Payloads go straight to their place, all but what came together with the header. One thread at a time.
#pragma once

#include <sys/uio.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "net/frame.h"

namespace kvpagefs {

class FrameReader {
 public:
  struct Place {
    bool discard = true;      // the payload is of a call that has ended
    std::vector<iovec> into;  // else: payload_bytes together
  };
  class Events {
   public:
    virtual ~Events() = default;
    // A header with a payload. An error ends the stream.
    virtual Result<Place> OnPayload(const FrameHeader& header) = 0;
    // The frame is complete. An error ends the stream.
    virtual Status OnFrame(const FrameHeader& header, std::string body) = 0;
  };

  explicit FrameReader(Events* events);

  // Fills `room` (at least 3) and returns how many entries. Behind a frame at most `ahead` bytes are asked for: a
  // payload is copied once as far as it comes by that way.
  size_t Room(std::span<iovec> room, size_t ahead);
  // `bytes` came into what Room offered. After an error: no further call.
  Status Received(size_t bytes);
  // The rest of a frame is to come.
  bool InFrame() const { return state_ != State::kHeader || begin_ != end_; }

  static constexpr size_t kBufferBytes = size_t{64} << 10;

 private:
  enum class State { kHeader, kBody, kPayload };

  Status ParseBuffer();
  Status StartFrame();
  // Of the bytes in the buffer, into body and payload.
  void FillFromBuffer();
  void AdvancePayload(uint64_t bytes);

  Events* events_;
  std::unique_ptr<char[]> buffer_;
  size_t begin_ = 0;  // of what is not parsed
  size_t end_ = 0;
  State state_ = State::kHeader;
  FrameHeader header_;
  std::string body_;
  size_t body_filled_ = 0;
  Place place_;
  size_t piece_ = 0;  // of place_.into; pieces before it are full, it and those behind it are what is left
  uint64_t payload_left_ = 0;
};

}  // namespace kvpagefs
