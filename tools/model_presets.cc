#include "tools/model_presets.h"

#include <algorithm>
#include <cassert>
#include <string>

#include <fmt/format.h>

namespace kvpagefs {
namespace {

constexpr uint64_t kKib = 1024;
// DeepSeek-V3: 61 layers of one latent vector of 512 + 64 values of 2 bytes.
constexpr uint64_t kDeepSeekBytes = uint64_t{61} * (512 + 64) * 2;

constexpr ModelPreset kPresets[] = {
    {"llama-8b", "meta-llama-Llama-3.1-8B-Instruct", 128 * kKib},
    {"qwen3-32b", "Qwen-Qwen3-32B", 256 * kKib},
    {"llama-70b", "meta-llama-Llama-3.3-70B-Instruct", 320 * kKib},
    {"deepseek-v3", "deepseek-ai-DeepSeek-V3", kDeepSeekBytes},
};

}  // namespace

std::span<const ModelPreset> ModelPresets() { return kPresets; }

Result<ModelPreset> FindModel(std::string_view name) {
  std::string known;
  for (const ModelPreset& preset : kPresets) {
    if (preset.name == name) return preset;
    known += (known.empty() ? "" : ", ") + std::string(preset.name);
  }
  return Error(ErrorCode::kInvalid, fmt::format("model '{}' is unknown: choose one of {}", name, known));
}

uint64_t ModelPageBytes(const ModelPreset& model, uint64_t page_tokens, double scale) {
  assert(scale > 0 && scale <= 1);
  const auto real_bytes = static_cast<double>(model.bytes_per_token * page_tokens);
  return std::max<uint64_t>(1, static_cast<uint64_t>(real_bytes * scale));
}

}  // namespace kvpagefs
