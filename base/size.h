// Sizes as people write them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace kvpagefs {

// "4GiB", "512M", "64k", "1.5T", "4096", with or without "iB"/"B"; always powers of 1024; case does not matter.
// kInvalid with a text that names the input and what would be right.
Result<uint64_t> ParseSize(std::string_view text);

// The largest unit with at most one decimal: "4.0 GiB", "76.0 KiB", "12 B".
std::string FormatSize(uint64_t bytes);

}  // namespace kvpagefs
