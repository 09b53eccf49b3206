// Errors of a disk as codes. Private to spill/.
#pragma once

#include <string_view>

#include "base/result.h"

namespace kvpagefs {

// For files and directories. A quota and a limit on the file size are kNoSpace as a full disk is: less fits than was
// configured.
Error DiskError(int errno_value, std::string_view text);

// For transfers: kNoSpace, or kUnavailable for all the rest, because nobody acts differently on it.
Error TransferError(int errno_value, std::string_view text);

}  // namespace kvpagefs
