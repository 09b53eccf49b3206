#include "daemon/option_values.h"

#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "base/size.h"

namespace kvpagefs {
namespace {

// A plain decimal number at the start of `text`, which is left with the rest.
std::optional<double> TakeNumber(std::string_view* text) {
  double number = 0;
  const auto [end, error] =
      std::from_chars(text->data(), text->data() + text->size(), number, std::chars_format::fixed);
  if (error != std::errc() || !std::isfinite(number)) return std::nullopt;
  text->remove_prefix(static_cast<size_t>(end - text->data()));
  return number;
}

}  // namespace

Result<uint64_t> ParseSizeIn(std::string_view text, SizeRange range) {
  Result<uint64_t> bytes = ParseSize(text);
  if (!bytes.ok()) return bytes;
  if (*bytes < range.min_bytes || *bytes > range.max_bytes) {
    return Error(ErrorCode::kInvalid, fmt::format("size '{}' is out of range: choose from {} to {}", text,
                                                  ExactSize(range.min_bytes), ExactSize(range.max_bytes)));
  }
  return bytes;
}

std::string ExactSize(uint64_t bytes) {
  constexpr std::array kUnits = {"", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  for (; bytes != 0 && bytes % 1024 == 0 && unit + 1 < kUnits.size(); bytes /= 1024) ++unit;
  return fmt::format("{}{}", bytes, kUnits[unit]);
}

Result<int64_t> ParseTime(std::string_view text, TimeRange range) {
  const auto bad = [text](std::string_view why) {
    return Error(ErrorCode::kInvalid,
                 fmt::format("time '{}' {}: write a number and a unit, such as 500ms or 2s", text, why));
  };
  std::string_view unit = text;
  const std::optional<double> number = TakeNumber(&unit);
  if (!number || *number < 0) return bad("is not a time");
  if (unit.empty() && *number != 0) return bad("has no unit");
  if (!unit.empty() && unit != "ms" && unit != "s") return bad("has an unknown unit");
  const double ms = unit == "s" ? *number * 1000 : *number;
  if (ms < static_cast<double>(range.min_ms) || ms > static_cast<double>(range.max_ms)) {
    return Error(ErrorCode::kInvalid, fmt::format("time '{}' is out of range: choose from {} to {}", text,
                                                  ExactTime(range.min_ms), ExactTime(range.max_ms)));
  }
  return std::llround(ms);
}

std::string ExactTime(int64_t ms) { return ms % 1000 == 0 ? fmt::format("{}s", ms / 1000) : fmt::format("{}ms", ms); }

Result<double> ParsePercent(std::string_view text) {
  std::string_view unit = text;
  const std::optional<double> number = TakeNumber(&unit);
  if (!number || (!unit.empty() && unit != "%") || *number < 1 || *number > 100) {
    return Error(ErrorCode::kInvalid, fmt::format("'{}' is not a percentage: choose from 1 to 100", text));
  }
  return *number / 100;
}

std::string ExactPercent(double share) { return fmt::format("{:.10g}", share * 100); }

Result<uint32_t> ParseCount(std::string_view text, uint32_t max) {
  uint32_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || end != text.data() + text.size() || count > max) {
    return Error(ErrorCode::kInvalid,
                 fmt::format("'{}' is not a count: choose a whole number from 0 to {}", text, max));
  }
  return count;
}

Result<bool> ParseYesNo(std::string_view text) {
  if (text == "yes" || text == "true" || text == "on" || text == "1") return true;
  if (text == "no" || text == "false" || text == "off" || text == "0") return false;
  return Error(ErrorCode::kInvalid, fmt::format("'{}' is neither yes nor no", text));
}

Result<size_t> ParseWord(std::string_view text, std::initializer_list<std::string_view> words) {
  size_t index = 0;
  for (const std::string_view word : words) {
    if (text == word) return index;
    ++index;
  }
  return Error(ErrorCode::kInvalid, fmt::format("'{}' is not one of {}", text, fmt::join(words, ", ")));
}

}  // namespace kvpagefs
