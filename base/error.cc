#include "base/error.h"

#include <cerrno>
#include <iterator>
#include <system_error>

namespace kvpagefs {
namespace {

struct Row {
  ErrorCode code;
  int errno_value;
  std::string_view words;
};

// Rows stand in the order of the enum; the first row with an errno is what FromErrno answers.
constexpr Row kRows[] = {
    {ErrorCode::kNotFound, ENOENT, "not found"},
    {ErrorCode::kExists, EEXIST, "already exists"},
    {ErrorCode::kNotDirectory, ENOTDIR, "not a directory"},
    {ErrorCode::kIsDirectory, EISDIR, "is a directory"},
    {ErrorCode::kNotEmpty, ENOTEMPTY, "directory not empty"},
    {ErrorCode::kNameTooLong, ENAMETOOLONG, "name too long"},
    {ErrorCode::kNoSpace, ENOSPC, "no space that may be evicted"},
    {ErrorCode::kTooLarge, EFBIG, "above the page size limit"},
    {ErrorCode::kInvalid, EINVAL, "invalid argument"},
    {ErrorCode::kNotPermitted, EPERM, "not permitted"},
    {ErrorCode::kNotSupported, EOPNOTSUPP, "not supported"},
    {ErrorCode::kTooManyFiles, EMFILE, "out of file descriptors"},
    {ErrorCode::kInterrupted, EINTR, "interrupted"},
    {ErrorCode::kStale, ESTALE, "stale reference"},
    {ErrorCode::kNoAttribute, ENODATA, "no such attribute"},
    {ErrorCode::kRangeTooSmall, ERANGE, "buffer too small"},
    {ErrorCode::kTooBigAttribute, ENOSPC, "attributes above their limit"},
    {ErrorCode::kLost, EIO, "lost bytes"},
    {ErrorCode::kUnavailable, EIO, "unavailable"},
    {ErrorCode::kWouldBlock, EAGAIN, "would have to wait"},
    {ErrorCode::kNoLocks, ENOLCK, "no locks left"},
    {ErrorCode::kDeadlock, EDEADLK, "would wait for itself"},
};

constexpr bool RowsInOrder() {
  for (size_t i = 0; i < std::size(kRows); ++i) {
    if (static_cast<size_t>(kRows[i].code) != i) return false;
  }
  return true;
}
static_assert(RowsInOrder());

const Row& RowOf(ErrorCode code) { return kRows[static_cast<size_t>(code)]; }

}  // namespace

int ToErrno(ErrorCode code) { return RowOf(code).errno_value; }

ErrorCode FromErrno(int errno_value) {
  if (errno_value == EACCES) return ErrorCode::kNotPermitted;
  if (errno_value == ENFILE) return ErrorCode::kTooManyFiles;
  if (errno_value == EIO) return ErrorCode::kUnavailable;
  for (const Row& row : kRows) {
    if (row.errno_value == errno_value) return row.code;
  }
  return ErrorCode::kUnavailable;
}

std::string_view ToString(ErrorCode code) { return RowOf(code).words; }

Error Error::FromSystem(int errno_value, std::string_view text) {
  return {FromErrno(errno_value), std::string(text) + ": " + std::generic_category().message(errno_value)};
}

std::string Error::Describe() const { return text_.empty() ? std::string(ToString(code_)) : text_; }

}  // namespace kvpagefs
