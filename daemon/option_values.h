// Parsing and printing of option values that are not sizes. For the option tables of the daemons.
// Errors are kInvalid and name the text and what would be right.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "base/result.h"

namespace kvpagefs {

struct SizeRange {
  uint64_t min_bytes;
  uint64_t max_bytes;
};
// ParseSize with limits.
Result<uint64_t> ParseSizeIn(std::string_view text, SizeRange range);
// The largest unit that loses nothing: "4GiB", "1536MiB", "65537".
std::string ExactSize(uint64_t bytes);

struct TimeRange {
  int64_t min_ms;
  int64_t max_ms;
};
// "500ms", "2s", "1.5s", "0". A number without a unit is refused: it would be read in two ways.
Result<int64_t> ParseTime(std::string_view text, TimeRange range);
std::string ExactTime(int64_t ms);

// "95" or "95%" is 0.95; from 1 to 100.
Result<double> ParsePercent(std::string_view text);
std::string ExactPercent(double share);

Result<uint32_t> ParseCount(std::string_view text, uint32_t max);

// yes, no, and what people also write: true, false, on, off, 1, 0.
Result<bool> ParseYesNo(std::string_view text);

// The index of `text` among `words`.
Result<size_t> ParseWord(std::string_view text, std::initializer_list<std::string_view> words);

}  // namespace kvpagefs
