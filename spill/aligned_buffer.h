// Memory that O_DIRECT transfers accept: aligned to 4 KiB, a multiple of 4 KiB long, zeroed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>

#include <sys/uio.h>

#include "spill/extent.h"

namespace kvpagefs {

constexpr uint64_t RoundUpToBlock(uint64_t bytes) { return BlocksFor(bytes) * kBlockBytes; }

class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  // Rounded up to whole blocks.
  explicit AlignedBuffer(uint64_t bytes) : bytes_(RoundUpToBlock(bytes)) {
    if (bytes_ == 0) return;
    data_.reset(static_cast<std::byte*>(::operator new(bytes_, std::align_val_t{kBlockBytes})));
    std::fill_n(data_.get(), bytes_, std::byte{0});
  }

  std::byte* data() const { return data_.get(); }
  uint64_t size() const { return bytes_; }
  std::span<std::byte> bytes() const { return {data_.get(), bytes_}; }
  iovec piece(uint64_t offset, uint64_t bytes) const { return {.iov_base = data_.get() + offset, .iov_len = bytes}; }
  iovec piece() const { return piece(0, bytes_); }

 private:
  struct Free {
    void operator()(std::byte* data) const { ::operator delete(data, std::align_val_t{kBlockBytes}); }
  };
  std::unique_ptr<std::byte, Free> data_;
  uint64_t bytes_ = 0;
};

}  // namespace kvpagefs
