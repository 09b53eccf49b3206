#include "meta/entry_index.h"

#include <span>

#include "base/checksum.h"

namespace kvpagefs {

uint64_t HashName(uint32_t parent, std::string_view packed_name) {
  return Checksum(std::as_bytes(std::span(packed_name))) ^ HashId(parent);
}

}  // namespace kvpagefs
