#include "tools/model_presets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kvpagefs {
namespace {

constexpr uint64_t kKib = 1024;

uint64_t PageBytes(std::string_view model, uint64_t tokens, double scale = 1) {
  const Result<ModelPreset> preset = FindModel(model);
  EXPECT_TRUE(preset.ok()) << model;
  return ModelPageBytes(*preset, tokens, scale);
}

TEST(ModelPresets, RealSizes) {
  EXPECT_EQ(PageBytes("llama-8b", 1), 128 * kKib);
  EXPECT_EQ(PageBytes("llama-8b", 16), 2048 * kKib);
  EXPECT_EQ(PageBytes("qwen3-32b", 64), 16 * 1024 * kKib);
  EXPECT_EQ(PageBytes("llama-70b", 16), 5 * 1024 * kKib);
  EXPECT_EQ(PageBytes("deepseek-v3", 1), 70'272u);
}

TEST(ModelPresets, ScaleShrinks) {
  EXPECT_EQ(PageBytes("llama-8b", 16, 0.25), 512 * kKib);
  EXPECT_EQ(PageBytes("deepseek-v3", 1, 0.5), 35'136u);
  EXPECT_EQ(PageBytes("llama-8b", 1, 1e-9), 1u);
}

TEST(ModelPresets, UnknownNamesInputAndChoices) {
  const Result<ModelPreset> preset = FindModel("gpt-9");
  ASSERT_FALSE(preset.ok());
  EXPECT_EQ(preset.code(), ErrorCode::kInvalid);
  EXPECT_THAT(preset.error().text(), ::testing::AllOf(::testing::HasSubstr("'gpt-9'"), ::testing::HasSubstr("llama-8b"),
                                                      ::testing::HasSubstr("deepseek-v3")));
}

TEST(ModelPresets, FileNamesAreOneComponent) {
  for (const ModelPreset& preset : ModelPresets()) EXPECT_EQ(preset.file_name.find('/'), std::string_view::npos);
}

}  // namespace
}  // namespace kvpagefs
