// File names as SGLang's `file` storage makes them.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>

#include "tools/chain_hash.h"

namespace kvpagefs {

// "<64 hex>_<model>_0_1.bin": tensor-parallel rank 0 of 1.
std::string PageFileName(const PageKey& key, std::string_view model);

// "<final>.tmp.<pid>.<tid>.<32 hex>", unique in the directory.
std::string TemporaryFileName(std::string_view final_name, std::mt19937_64& random);

}  // namespace kvpagefs
