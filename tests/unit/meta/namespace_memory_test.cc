// The memory that a name costs, counted at the allocator: what is in use, with its headers and the slack of tables.

#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "meta/namespace.h"

namespace kvpagefs {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif
#else
constexpr bool kSanitized = false;
#endif

#define SKIP_WHEN_SANITIZED() \
  if (kSanitized) GTEST_SKIP() << "a sanitizer's allocator does not count as malloc does"

size_t BytesInUse() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

uint64_t Mix(uint64_t x) {
  x *= 0x9E3779B97F4A7C15u;
  x ^= x >> 29;
  x *= 0xBF58476D1CE4E5B9u;
  return x ^ x >> 32;
}

// 64 digits, a model and ranks: 100 bytes.
std::string SglangName(uint64_t i) {
  return fmt::format("{:016x}{:016x}{:016x}{:016x}_meta-llama-3.1-70b-instruct_0_8.bin", Mix(4 * i), Mix(4 * i + 1),
                     Mix(4 * i + 2), Mix(4 * i + 3));
}

TEST(NamespaceMemory, MillionPagesOfHundredByteNamesTakeAtMost200BytesEach) {
  SKIP_WHEN_SANITIZED();
  ASSERT_EQ(SglangName(1).size(), 100u);
  const size_t before = BytesInUse();
  auto names = std::make_unique<Namespace>(nullptr, Ownership{0, 0, 0755}, 0);
  double worst = 0;
  for (uint64_t i = 1; i <= 1'200'000; ++i) {
    const PageInfo page{.id = PageId::Make(1, i),
                        .bytes = 65536,
                        .checksum = Mix(i),
                        .mtime_ns = static_cast<int64_t>(i),
                        .owner = {1000, 1000, 0644}};
    ASSERT_TRUE(names->Publish({kRootDir, SglangName(i)}, page, {}, false).ok());
    // All sizes from half a million up, so that the tables are met right after they grew.
    if (i >= 500'000 && i % 10'000 == 0) {
      worst = std::max(worst, static_cast<double>(BytesInUse() - before) / static_cast<double>(i));
    }
  }
  const double last = static_cast<double>(BytesInUse() - before) / 1'200'000;
  fmt::print("bytes a page: {:.1f} at worst, {:.1f} at 1.2 million\n", worst, last);
  EXPECT_LE(worst, 200);
}

TEST(NamespaceMemory, ChurnStaysWithin200BytesAPage) {
  SKIP_WHEN_SANITIZED();
  constexpr uint64_t kLive = 300'000;
  std::vector<uint64_t> live;
  live.reserve(kLive);
  const size_t before = BytesInUse();
  auto names = std::make_unique<Namespace>(nullptr, Ownership{0, 0, 0755}, 0);
  for (uint64_t i = 1; i <= 4 * kLive; ++i) {
    const PageInfo page{.id = PageId::Make(1, i), .bytes = 65536, .checksum = i, .owner = {}};
    ASSERT_TRUE(names->Publish({kRootDir, SglangName(i)}, page, {}, false).ok());
    if (live.size() < kLive) {
      live.push_back(i);
      continue;
    }
    // Evicted in no order: holes everywhere.
    uint64_t& victim = live[Mix(i) % kLive];
    ASSERT_TRUE(names->DropPage(PageId::Make(1, victim), 0).has_value());
    victim = i;
  }
  ASSERT_EQ(names->GetStats().pages, kLive);
  const double each = static_cast<double>(BytesInUse() - before) / static_cast<double>(kLive);
  fmt::print("bytes a page after churn: {:.1f}\n", each);
  EXPECT_LE(each, 200);
}

TEST(NamespaceMemory, FanOutDirectoriesTakeAtMost400BytesEach) {
  SKIP_WHEN_SANITIZED();
  const size_t before = BytesInUse();
  auto names = std::make_unique<Namespace>(nullptr, Ownership{0, 0, 0755}, 0);
  for (int i = 0; i < 4096; ++i) {
    const auto outer = names->MakeDir({kRootDir, fmt::format("{:03x}", i)}, {0, 0, 0755}, 0);
    ASSERT_TRUE(outer.ok());
    for (int j = 0; j < 256; ++j) {
      ASSERT_TRUE(names->MakeDir({outer->id, fmt::format("{:02x}", j)}, {0, 0, 0755}, 0).ok());
    }
  }
  const auto dirs = static_cast<double>(names->GetStats().directories);
  const double each = static_cast<double>(BytesInUse() - before) / dirs;
  fmt::print("bytes a directory: {:.1f}\n", each);
  EXPECT_LE(each, 400);
}

}  // namespace
}  // namespace kvpagefs
