// A million random operations on files of one process, compared with a model. KVPAGEFS_SEED sets the first seed,
// KVPAGEFS_FSX_OPERATIONS the operations of each of the four runs.
#include <algorithm>

#include "tests/mount/fsx_model.h"
#include "tests/mount/harness/mount_test.h"

namespace kvpagefs::mount_test {
namespace {

constexpr uint64_t kOperations = 250'000;
constexpr uint64_t kSanitizerOperations = 30'000;
constexpr uint64_t kPlainOperations = 10'000;

class Fsx : public NodeTest, public testing::WithParamInterface<uint64_t> {};

TEST_P(Fsx, MatchesTheModel) {
  StartNode({.memory = "64MiB", .arguments = {}, .mount_point = "", .max_open_files = 0});
  KVP_RETURN_IF_NOT_RUNNING();
  const uint64_t usual = test_options_.plain  ? kPlainOperations
                         : IsSanitizerBuild() ? kSanitizerOperations
                                              : kOperations;
  const uint64_t operations = EnvNumber("KVPAGEFS_FSX_OPERATIONS", usual);
  const uint64_t seed = test_options_.seed * 100 + GetParam();
  printf("seed %llu (KVPAGEFS_SEED=%llu), %llu operations%s\n", static_cast<unsigned long long>(seed),
         static_cast<unsigned long long>(test_options_.seed), static_cast<unsigned long long>(operations),
         operations < kOperations ? " (fewer: plain directory, sanitizer build or KVPAGEFS_FSX_OPERATIONS)" : "");
  // The plain directory gives no versions to readers, so there files are not rewritten under one.
  std::unique_ptr<ScratchDir> plain;
  if (test_options_.plain) plain = std::make_unique<ScratchDir>(test_options_.scratch_dir);
  FsxModel model({.dir = plain ? plain->path() : node_->dir(), .seed = seed, .readers_keep_versions = !plain});
  for (uint64_t i = 0; i < operations; ++i) {
    const std::string problem = model.Step();
    ASSERT_EQ(problem, "");
  }
  EXPECT_EQ(model.Finish(), "");
}

INSTANTIATE_TEST_SUITE_P(Seeds, Fsx, testing::Values(0, 1, 2, 3));

}  // namespace
}  // namespace kvpagefs::mount_test
