// DIR/identity: which node's pages are in an SSD directory. Private to spill/.
//
//   kvpagefs SSD directory
//   version 1
//   identity 9c1f0d37a2b45e68
//   created 2026-12-01T02:06:39Z
//   checksum 2f2ceebbeb775a9c
//
// The checksum is XXH3 of all bytes before its line. Version: a reader refuses a newer one. The identity is random and
// never 0; regions carry it, so that a file from elsewhere is not taken for this node's.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "spill/owned_files.h"

namespace kvpagefs {

struct NodeIdentity {
  uint64_t value = 0;
  int64_t created_s = 0;  // Unix time
};

std::string FormatIdentity(const NodeIdentity& identity);
// kInvalid: damaged or newer; the text says what is wrong.
Result<NodeIdentity> ParseIdentity(std::string_view text);

// Reads the file, or makes it where there is none. A damaged one is kInvalid with the remedy; nothing is deleted.
Result<NodeIdentity> ReadOrMakeIdentity(const DirectoryRef& directory);

}  // namespace kvpagefs
