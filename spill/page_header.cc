#include "spill/page_header.h"

#include <algorithm>
#include <bit>
#include <span>

#include "base/checksum.h"

namespace kvpagefs {
namespace {

static_assert(std::endian::native == std::endian::little, "page headers are little-endian");

uint64_t HeaderChecksum(const PageHeader& header) {
  return Checksum(std::as_bytes(std::span(&header, 1)).first(offsetof(PageHeader, header_checksum)));
}

}  // namespace

void SealHeader(PageHeader* header) { header->header_checksum = HeaderChecksum(*header); }

bool ValidateHeader(const PageHeader& header) {
  if (header.magic != kPageHeaderMagic || header.version != kPageHeaderVersion) return false;
  if (header.header_checksum != HeaderChecksum(header)) return false;
  const uint64_t blocks = BlocksFor(header.bytes);
  if (header.extent_count > blocks || (header.extent_count == 0) != (blocks == 0)) return false;
  uint64_t here = 0;
  for (uint32_t i = 0; i < std::min<uint32_t>(header.extent_count, std::size(header.extents)); ++i) {
    if (header.extents[i].count == 0) return false;
    here += header.extents[i].count;
  }
  // Extents that are kept elsewhere have at least one block each.
  const uint64_t elsewhere = header.extent_count - std::min<uint32_t>(header.extent_count, std::size(header.extents));
  return elsewhere == 0 ? here == blocks : here + elsewhere <= blocks;
}

}  // namespace kvpagefs
