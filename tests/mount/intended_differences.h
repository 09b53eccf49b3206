// Where a kvpagefs mount is meant to differ from a plain local directory.
#pragma once

#include <span>
#include <string_view>

namespace kvpagefs::mount_test {

// As the plain result: file systems differ among themselves, so it is not looked at.
inline constexpr std::string_view kAnything = "*";

struct IntendedDifference {
  std::string_view operation;  // "Suite.Test: step"
  std::string_view plain;
  std::string_view kvpagefs;
  std::string_view reason;
};

std::span<const IntendedDifference> IntendedDifferences();

}  // namespace kvpagefs::mount_test
