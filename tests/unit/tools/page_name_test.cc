#include "tools/page_name.h"

#include <unistd.h>

#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kvpagefs {
namespace {

TEST(PageName, LooksLikeSglang) {
  const PageKey key = Sha256({});
  EXPECT_EQ(PageFileName(key, "Qwen-Qwen3-32B"),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855_Qwen-Qwen3-32B_0_1.bin");
}

TEST(PageName, TemporaryNameCarriesProcessAndRandom) {
  std::mt19937_64 random(1);
  const std::string first = TemporaryFileName("a.bin", random);
  const std::string second = TemporaryFileName("a.bin", random);
  EXPECT_THAT(first, ::testing::MatchesRegex(fmt::format("a\\.bin\\.tmp\\.{}\\.[0-9]+\\.[0-9a-f]+", ::getpid())));
  EXPECT_EQ(first.size() - first.rfind('.') - 1, 32u);
  EXPECT_NE(first, second);
}

}  // namespace
}  // namespace kvpagefs
