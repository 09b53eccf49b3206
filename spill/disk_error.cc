#include "spill/disk_error.h"

#include <cerrno>
#include <string>
#include <system_error>

namespace kvpagefs {
namespace {

bool IsNoSpace(int errno_value) { return errno_value == ENOSPC || errno_value == EDQUOT || errno_value == EFBIG; }

Error WithText(ErrorCode code, int errno_value, std::string_view text) {
  return {code, std::string(text) + ": " + std::generic_category().message(errno_value)};
}

}  // namespace

Error DiskError(int errno_value, std::string_view text) {
  return IsNoSpace(errno_value) ? WithText(ErrorCode::kNoSpace, errno_value, text)
                                : Error::FromSystem(errno_value, text);
}

Error TransferError(int errno_value, std::string_view text) {
  return WithText(IsNoSpace(errno_value) ? ErrorCode::kNoSpace : ErrorCode::kUnavailable, errno_value, text);
}

}  // namespace kvpagefs
