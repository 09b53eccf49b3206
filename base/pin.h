// A user's wish about eviction of one page.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace kvpagefs {

enum class Pin : uint8_t {
  kNone,  // evicted in its turn
  kSoft,  // evicted when nothing unpinned is left
  kHard,  // never evicted
};

constexpr std::string_view ToString(Pin pin) {
  return pin == Pin::kHard ? "hard" : pin == Pin::kSoft ? "soft" : "none";
}

constexpr std::optional<Pin> ParsePin(std::string_view word) {
  if (word == "none") return Pin::kNone;
  if (word == "soft") return Pin::kSoft;
  if (word == "hard") return Pin::kHard;
  return std::nullopt;
}

}  // namespace kvpagefs
