// Page contents that say what they are: a reader can tell a whole right page from anything else.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace kvpagefs::mount_test {

// `name_number`: which name it was written to. At least kMinPageBytes.
inline constexpr size_t kMinPageBytes = 64;
std::string MakePage(uint64_t name_number, uint64_t serial, size_t bytes);

// Empty when `bytes` is one whole page written to that name; else what is wrong with it.
std::string CheckPage(uint64_t name_number, std::string_view bytes);

}  // namespace kvpagefs::mount_test
