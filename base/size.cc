#include "base/size.h"

#include <charconv>
#include <cmath>

#include <fmt/format.h>

namespace kvpagefs {
namespace {

constexpr std::string_view kUnits = "KMGTPE";

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// The power of two that a unit stands for, or -1.
int UnitShift(std::string_view unit) {
  if (unit.empty() || (unit.size() == 1 && Lower(unit[0]) == 'b')) return 0;
  int shift = 0;
  for (size_t i = 0; i < kUnits.size(); ++i) {
    if (Lower(unit[0]) == Lower(kUnits[i])) shift = static_cast<int>(i + 1) * 10;
  }
  if (shift == 0) return -1;
  unit.remove_prefix(1);
  if (unit.empty()) return shift;
  if (Lower(unit[0]) == 'i') unit.remove_prefix(1);
  return unit.size() == 1 && Lower(unit[0]) == 'b' ? shift : -1;
}

}  // namespace

Result<uint64_t> ParseSize(std::string_view text) {
  const auto bad = [text](std::string_view why) {
    return Error(ErrorCode::kInvalid,
                 fmt::format("size '{}' {}: write a number and a unit, such as 512M, 4GiB or 65536", text, why));
  };
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc() || !(number >= 0)) return bad("is not a size");
  std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  while (!unit.empty() && unit.front() == ' ') unit.remove_prefix(1);
  const int shift = UnitShift(unit);
  if (shift < 0) return bad("has an unknown unit");
  const double bytes = std::ldexp(number, shift);
  if (bytes >= 9.2e18) return bad("is too large");
  return static_cast<uint64_t>(bytes);
}

std::string FormatSize(uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  for (value /= 1024; value >= 1023.95 && unit + 1 < kUnits.size(); value /= 1024) ++unit;
  return fmt::format("{:.1f} {}iB", value, kUnits[unit]);
}

}  // namespace kvpagefs
