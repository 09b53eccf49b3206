// Values and arrays over a stream socket between two processes of one program.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "base/result.h"

namespace kvpagefs {

// All bytes or an error; kUnavailable when the other end is closed.
Status SendBytes(int fd, std::span<const std::byte> bytes);
Status ReceiveBytes(int fd, std::span<std::byte> bytes);

template <class T>
Status SendValue(int fd, const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  return SendBytes(fd, std::as_bytes(std::span(&value, 1)));
}

template <class T>
Status ReceiveValue(int fd, T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  return ReceiveBytes(fd, std::as_writable_bytes(std::span(&value, 1)));
}

// A std::vector or std::string of trivially copyable elements: count, then elements.
template <class Container>
Status SendArray(int fd, const Container& values) {
  if (Status sent = SendValue(fd, values.size()); !sent) return sent;
  return SendBytes(fd, std::as_bytes(std::span(values)));
}

template <class Container>
Status ReceiveArray(int fd, Container& values) {
  size_t count = 0;
  if (Status received = ReceiveValue(fd, count); !received) return received;
  values.resize(count);
  return ReceiveBytes(fd, std::as_writable_bytes(std::span(values)));
}

}  // namespace kvpagefs
