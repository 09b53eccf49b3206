// Headers of frames: net/PROTOCOL.md.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.h"

namespace kvpagefs {

inline constexpr size_t kFrameHeaderBytes = 32;
inline constexpr uint16_t kNetVersion = 1;

enum class FrameType : uint8_t { kRequest = 1, kAnswer = 2, kError = 3 };

struct FrameHeader {
  FrameType type = FrameType::kRequest;
  uint16_t code = 0;  // request: method; error: its number; answer: 0
  uint64_t call = 0;
  uint32_t body_bytes = 0;
  uint64_t payload_bytes = 0;
  bool operator==(const FrameHeader&) const = default;
};

// kFrameHeaderBytes at `out`.
void EncodeFrame(const FrameHeader& header, char* out);
// kInvalid for what no peer of ours sends: the text names the field. Lengths are within kMaxBodyBytes and
// kMaxPayloadBytes, and only answers have a payload.
Result<FrameHeader> DecodeFrame(const char* bytes);

// Errors have numbers of their own on the wire; a number that is not known comes out as kUnavailable.
uint16_t ToWireNumber(ErrorCode code);
ErrorCode FromWireNumber(uint16_t number);

}  // namespace kvpagefs
