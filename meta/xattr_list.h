// Changes to a list of extended attributes, with the rules of setxattr(2).
#pragma once

#include <string_view>

#include "meta/namespace.h"
#include "meta/types.h"

namespace kvpagefs {

// kExists / kNoAttribute for kCreate / kReplace, kTooBigAttribute above kMaxXattrBytes; an error changes nothing.
Status SetXattrIn(Xattrs& list, std::string_view key, std::string_view value, Namespace::XattrMode mode);
Status RemoveXattrFrom(Xattrs& list, std::string_view key);  // kNoAttribute
// Null when there is none; valid until the list changes.
const std::string* FindXattr(const Xattrs& list, std::string_view key);

}  // namespace kvpagefs
