// The secret that the processes of one cluster share, kept in a file that only its owner can read.
#pragma once

#include <string>

#include "base/result.h"

namespace kvpagefs {

inline constexpr size_t kMinSecretBytes = 16;
inline constexpr size_t kMaxSecretBytes = 4096;

// The content without the blanks and newlines at its end. kNotFound, kNotPermitted (others may read it), kInvalid (too
// short, too long); the text names --secret-file, the path and the remedy.
Result<std::string> ReadSecretFile(const std::string& path);

}  // namespace kvpagefs
