// What stands in the segment in front of a page's life: 64 bytes that say which page an extent list belongs to. A
// reader that has only the segment (a peer, a debugger) validates a page with it. Little-endian.
//
// Headers live in header blocks: 4 KiB blocks of the segment, 32 slots of 128 bytes each, the first 64 the header, the
// second 64 the owner's own state (links, holds), which nobody else may read meaning into.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/ids.h"
#include "spill/extent.h"

namespace kvpagefs {

inline constexpr uint32_t kPageHeaderMagic = 0x4750564B;  // "KVPG"
inline constexpr uint16_t kPageHeaderVersion = 1;

struct PageHeader {
  uint32_t magic = 0;    // kPageHeaderMagic while the page may be read, 0 in a free slot
  uint16_t version = 0;  // kPageHeaderVersion
  uint16_t flags = 0;    // 0
  uint64_t page_id = 0;
  uint64_t bytes = 0;
  uint64_t checksum = 0;  // XXH3 of the page's bytes
  uint32_t extent_count = 0;
  uint32_t reserved = 0;
  Extent extents[2] = {};        // the first two; more are kept by the owner
  uint64_t header_checksum = 0;  // XXH3 of the 56 bytes before it
};
static_assert(sizeof(PageHeader) == 64);
static_assert(offsetof(PageHeader, header_checksum) == 56);

// Fills header_checksum.
void SealHeader(PageHeader* header);
// Magic, version, checksum and sanity (extent count against bytes).
bool ValidateHeader(const PageHeader& header);

}  // namespace kvpagefs
