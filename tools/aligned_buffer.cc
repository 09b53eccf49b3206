#include "tools/aligned_buffer.h"

#include <cassert>
#include <cstring>
#include <new>

namespace kvpagefs {

AlignedBuffer::AlignedBuffer(size_t bytes)
    : memory_(static_cast<std::byte*>(::operator new(bytes, std::align_val_t{kAlignment}))), bytes_(bytes) {
  std::memset(memory_.get(), 1, bytes);
}

std::span<std::byte> AlignedBuffer::Span(size_t offset, size_t bytes) const {
  assert(offset + bytes <= bytes_);
  return {memory_.get() + offset, bytes};
}

void AlignedBuffer::Free::operator()(std::byte* memory) const {
  ::operator delete(memory, std::align_val_t{kAlignment});
}

}  // namespace kvpagefs
