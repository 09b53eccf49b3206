#include "net/frame.h"

#include <cassert>
#include <string>

#include "net/rpc.h"
#include "net/wire_bytes.h"

namespace kvpagefs {
namespace {

constexpr uint32_t kFrameMagic = 0x5250564B;  // "KVPR"

struct ErrorNumber {
  ErrorCode code;
  uint16_t number;
};

// A number is never given to another error.
constexpr ErrorNumber kErrorNumbers[] = {
    {ErrorCode::kNotFound, 1},       {ErrorCode::kExists, 2},           {ErrorCode::kNotDirectory, 3},
    {ErrorCode::kIsDirectory, 4},    {ErrorCode::kNotEmpty, 5},         {ErrorCode::kNameTooLong, 6},
    {ErrorCode::kNoSpace, 7},        {ErrorCode::kTooLarge, 8},         {ErrorCode::kInvalid, 9},
    {ErrorCode::kNotPermitted, 10},  {ErrorCode::kNotSupported, 11},    {ErrorCode::kTooManyFiles, 12},
    {ErrorCode::kInterrupted, 13},   {ErrorCode::kStale, 14},           {ErrorCode::kNoAttribute, 15},
    {ErrorCode::kRangeTooSmall, 16}, {ErrorCode::kTooBigAttribute, 17}, {ErrorCode::kLost, 18},
    {ErrorCode::kUnavailable, 19},   {ErrorCode::kWouldBlock, 20},      {ErrorCode::kNoLocks, 21},
    {ErrorCode::kDeadlock, 22},
};

Error Malformed(const std::string& what) { return {ErrorCode::kInvalid, "malformed frame: " + what}; }

}  // namespace

void EncodeFrame(const FrameHeader& header, char* out) {
  assert(header.body_bytes <= kMaxBodyBytes && header.payload_bytes <= kMaxPayloadBytes);
  PutNumber<uint32_t>(out, kFrameMagic);
  PutNumber<uint8_t>(out + 4, kNetVersion);
  PutNumber<uint8_t>(out + 5, static_cast<uint8_t>(header.type));
  PutNumber<uint16_t>(out + 6, header.code);
  PutNumber<uint64_t>(out + 8, header.call);
  PutNumber<uint32_t>(out + 16, header.body_bytes);
  PutNumber<uint32_t>(out + 20, 0);
  PutNumber<uint64_t>(out + 24, header.payload_bytes);
}

Result<FrameHeader> DecodeFrame(const char* bytes) {
  if (GetNumber<uint32_t>(bytes) != kFrameMagic) return Malformed("wrong magic");
  const auto version = GetNumber<uint8_t>(bytes + 4);
  if (version != kNetVersion) return Malformed("version " + std::to_string(version));
  const auto type = GetNumber<uint8_t>(bytes + 5);
  if (type < static_cast<uint8_t>(FrameType::kRequest) || type > static_cast<uint8_t>(FrameType::kError)) {
    return Malformed("type " + std::to_string(type));
  }
  FrameHeader header;
  header.type = static_cast<FrameType>(type);
  header.code = GetNumber<uint16_t>(bytes + 6);
  header.call = GetNumber<uint64_t>(bytes + 8);
  header.body_bytes = GetNumber<uint32_t>(bytes + 16);
  header.payload_bytes = GetNumber<uint64_t>(bytes + 24);
  if (GetNumber<uint32_t>(bytes + 20) != 0) return Malformed("reserved bytes are not 0");
  if (header.body_bytes > kMaxBodyBytes) return Malformed("body of " + std::to_string(header.body_bytes) + " bytes");
  if (header.payload_bytes > kMaxPayloadBytes) {
    return Malformed("payload of " + std::to_string(header.payload_bytes) + " bytes");
  }
  if (header.payload_bytes != 0 && header.type != FrameType::kAnswer) return Malformed("payload outside an answer");
  return header;
}

uint16_t ToWireNumber(ErrorCode code) {
  for (const ErrorNumber& row : kErrorNumbers) {
    if (row.code == code) return row.number;
  }
  return ToWireNumber(ErrorCode::kUnavailable);
}

ErrorCode FromWireNumber(uint16_t number) {
  for (const ErrorNumber& row : kErrorNumbers) {
    if (row.number == number) return row.code;
  }
  return ErrorCode::kUnavailable;
}

}  // namespace kvpagefs
