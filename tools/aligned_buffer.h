// Memory for O_DIRECT: 4 KiB aligned, every page of it touched when it is made.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace kvpagefs {

class AlignedBuffer {
 public:
  static constexpr size_t kAlignment = 4096;

  AlignedBuffer() = default;
  explicit AlignedBuffer(size_t bytes);

  size_t size() const { return bytes_; }
  std::span<std::byte> Span(size_t offset, size_t bytes) const;

 private:
  struct Free {
    void operator()(std::byte* memory) const;
  };
  std::unique_ptr<std::byte, Free> memory_;
  size_t bytes_ = 0;
};

}  // namespace kvpagefs
