// Errors as values: one short list of codes, and the only table that maps them to errno.
//
// A code exists only when some caller acts differently on it. `text` is for people: configuration and start-up
// errors name the input and the remedy in it; errors on hot paths leave it empty and allocate nothing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace kvpagefs {

enum class ErrorCode : uint8_t {
  kNotFound,         // no such name or page, or not obtainable in time
  kExists,           // the name is taken
  kNotDirectory,     // a directory was needed
  kIsDirectory,      // a page was needed
  kNotEmpty,         // directory has entries
  kNameTooLong,      // component above kMaxNameBytes
  kNoSpace,          // nothing left that may be evicted
  kTooLarge,         // above the page size limit
  kInvalid,          // malformed argument, option or record
  kNotPermitted,     // the operation is not allowed on this object
  kNotSupported,     // the file system does not offer the operation
  kTooManyFiles,     // out of file descriptors
  kInterrupted,      // the caller gave up or was killed
  kStale,            // the caller's reference is to an earlier version: look the name up again
  kNoAttribute,      // no such extended attribute
  kRangeTooSmall,    // the caller's buffer is too small for the answer
  kTooBigAttribute,  // extended attributes above their limit
  kLost,             // this node lost bytes that it had accepted
  kUnavailable,      // something outside (disk, device, library) refused
  kWouldBlock,       // somebody else holds the lock
  kNoLocks,          // the lock table is full or closing
  kDeadlock,         // waiting for the lock would never end
};

// The errno a file operation answers with.
int ToErrno(ErrorCode code);

// The nearest code for an errno from a system call.
ErrorCode FromErrno(int errno_value);

// Short lower-case words, for logs and tests.
std::string_view ToString(ErrorCode code);

class [[nodiscard]] Error {
 public:
  Error(ErrorCode code) : code_(code) {}  // NOLINT(google-explicit-constructor)
  Error(ErrorCode code, std::string text) : code_(code), text_(std::move(text)) {}

  // "text: strerror(errno_value)", with the code that fits the errno.
  static Error FromSystem(int errno_value, std::string_view text);

  ErrorCode code() const { return code_; }
  const std::string& text() const { return text_; }
  // text() when there is one, else the words of the code.
  std::string Describe() const;

 private:
  ErrorCode code_;
  std::string text_;
};

}  // namespace kvpagefs
