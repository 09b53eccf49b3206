// PageDescription as bytes: stored with the page's record on SSD, and sent between nodes.
//
// Little-endian. version u8 (1), pin u8, mode u16, uid u32, gid u32, mtime i64 (ns since the epoch), components u16,
// each u16 length and bytes; xattrs u16, each u16 key length, u32 value length, key, value. Id, size and checksum are
// not in here: whoever keeps the bytes keeps those. A decoder refuses a version that it does not know and anything that
// does not end where the bytes end.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"
#include "meta/types.h"

namespace kvpagefs {

// A longer path is left out: such a page keeps its name only through the metadata service.
inline constexpr size_t kMaxDescribedPathBytes = 16 * size_t{1024};

std::string EncodeDescription(const PageDescription& described);
// kInvalid. `page` comes out with what is in the bytes.
Result<PageDescription> DecodeDescription(std::string_view bytes);

}  // namespace kvpagefs
