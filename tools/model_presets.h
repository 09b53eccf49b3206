// KV-cache sizes of well-known models (bf16, one rank).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.h"

namespace kvpagefs {

struct ModelPreset {
  std::string_view name;       // what --model takes
  std::string_view file_name;  // what engines put into page names
  uint64_t bytes_per_token;
};

std::span<const ModelPreset> ModelPresets();

// kInvalid names the input and lists the presets.
Result<ModelPreset> FindModel(std::string_view name);

// Bytes of one page, `scale` in (0, 1] times the real size, at least 1.
uint64_t ModelPageBytes(const ModelPreset& model, uint64_t page_tokens, double scale);

}  // namespace kvpagefs
