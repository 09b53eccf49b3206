// Little-endian numbers in byte buffers.
#pragma once

#include <bit>
#include <cstring>

namespace kvpagefs {

static_assert(std::endian::native == std::endian::little,
              "the wire is little-endian, and numbers are copied as they are");

template <class Number>
void PutNumber(char* at, Number number) {
  std::memcpy(at, &number, sizeof(number));
}

template <class Number>
Number GetNumber(const char* at) {
  Number number;
  std::memcpy(&number, at, sizeof(number));
  return number;
}

}  // namespace kvpagefs
