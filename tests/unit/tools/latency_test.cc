#include "tools/latency.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

namespace kvpagefs {
namespace {

std::vector<int64_t> UpTo(int64_t last) {
  std::vector<int64_t> samples(static_cast<size_t>(last));
  std::iota(samples.begin(), samples.end(), 1);
  return samples;
}

TEST(Percentile, NearestRank) {
  EXPECT_EQ(PercentileNs(UpTo(100), 99), 99);
  EXPECT_EQ(PercentileNs(UpTo(100), 100), 100);
  EXPECT_EQ(PercentileNs(UpTo(100), 50), 50);
  EXPECT_EQ(PercentileNs(UpTo(101), 99), 100);
  EXPECT_EQ(PercentileNs(UpTo(1000), 99.9), 999);
  EXPECT_EQ(PercentileNs(UpTo(15), 99), 15);
  EXPECT_EQ(PercentileNs(UpTo(3), 0.1), 1);
}

TEST(Percentile, NoSamples) { EXPECT_EQ(PercentileNs({}, 99), 0); }

TEST(Median, OddAndEven) {
  EXPECT_DOUBLE_EQ(MedianNs(UpTo(5)), 3);
  EXPECT_DOUBLE_EQ(MedianNs(UpTo(4)), 2.5);
  EXPECT_DOUBLE_EQ(MedianNs(UpTo(1)), 1);
  EXPECT_DOUBLE_EQ(MedianNs({}), 0);
}

TEST(Summarize, SortsAndConverts) {
  const LatencySummary summary = Summarize({4000, 1000, 10'000, 3000});
  EXPECT_EQ(summary.count, 4u);
  EXPECT_DOUBLE_EQ(summary.min_us, 1);
  EXPECT_DOUBLE_EQ(summary.median_us, 3.5);
  EXPECT_DOUBLE_EQ(summary.mean_us, 4.5);
  EXPECT_DOUBLE_EQ(summary.p99_us, 10);
  EXPECT_DOUBLE_EQ(summary.max_us, 10);
}

TEST(Summarize, NothingIsZero) { EXPECT_EQ(Summarize({}).count, 0u); }

}  // namespace
}  // namespace kvpagefs
