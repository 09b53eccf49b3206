#include "tools/micro_targets.h"

#include <gtest/gtest.h>

namespace kvpagefs {
namespace {

TEST(MicroTargets, OnlyWhereAFigureWasSet) {
  EXPECT_EQ(MicroTargetRatio({"read-warm", 8 << 20, 0}), 1.25);
  EXPECT_EQ(MicroTargetRatio({"read-cold", 1 << 20, 0}), 4.0);
  EXPECT_EQ(MicroTargetRatio({"read-cold", 64 << 10, 0}), std::nullopt);
  EXPECT_EQ(MicroTargetRatio({"read-cold-direct", 1 << 20, 0}), 2.5);
  EXPECT_EQ(MicroTargetRatio({"open-read-close-cold", 64 << 10, 0}), 6.0);
  EXPECT_EQ(MicroTargetRatio({"create", 1 << 20, 0}), 3.0);
  EXPECT_EQ(MicroTargetRatio({"stat-hit", 0, 0}), 1.5);
  EXPECT_EQ(MicroTargetRatio({"batch-cold-direct-16", 76 << 10, 0}), 1.8);
  EXPECT_EQ(MicroTargetRatio({"list", 0, 1'000'000}), 3.0);
  EXPECT_EQ(MicroTargetRatio({"list", 0, 20'000}), std::nullopt);
  EXPECT_EQ(MicroTargetRatio({"stat-miss", 0, 0}), std::nullopt);
}

}  // namespace
}  // namespace kvpagefs
