// XXH3, 64 bits, seed 0 (https://github.com/Cyan4973/xxHash): the checksum of page bytes, headers and records.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace kvpagefs {

uint64_t Checksum(std::span<const std::byte> bytes);

// The same value for bytes that come in pieces. One thread at a time. About 600 bytes.
class StreamingChecksum {
 public:
  StreamingChecksum();
  ~StreamingChecksum();
  StreamingChecksum(StreamingChecksum&&) noexcept;
  StreamingChecksum& operator=(StreamingChecksum&&) noexcept;

  void Reset();
  void Update(std::span<const std::byte> bytes);
  uint64_t Digest() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace kvpagefs
