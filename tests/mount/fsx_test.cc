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

class Fsx : public NodeTest, public testing::WithParamInterface<uint64_t> {
 protected:
  void Run(uint64_t share);
};

// A `share`th of the usual operations.
void Fsx::Run(uint64_t share) {
  const uint64_t usual = test_options_.plain  ? kPlainOperations
                         : IsSanitizerBuild() ? kSanitizerOperations
                                              : kOperations;
  const uint64_t operations = EnvNumber("KVPAGEFS_FSX_OPERATIONS", usual) / share;
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
    ASSERT_EQ(problem, "") << (plain ? "" : Contents(Path(".kvpagefs/events")));
  }
  EXPECT_EQ(model.Finish(), "");
}

TEST_P(Fsx, MatchesTheModel) {
  StartNode({.memory = "64MiB", .source = "", .arguments = {}, .mount_point = "", .max_open_files = 0});
  KVP_RETURN_IF_NOT_RUNNING();
  Run(1);
}

// The same with so little memory in use that most opens bring their page from SSD.
TEST_P(Fsx, MatchesTheModelFromSsd) {
  const ScratchDir ssd(test_options_.scratch_dir);
  StartRealNode({.memory = "16MiB",
                 .source = "",
                 .arguments = {"--ssd-dir", ssd.path() + "/ssd", "--ssd", "128MiB", "--max-page", "4MiB",
                               "--high-watermark", "10", "--low-watermark", "5"},
                 .mount_point = "",
                 .max_open_files = 0});
  KVP_RETURN_IF_NOT_RUNNING();
  Run(5);
  EXPECT_GT(node_->StatusNumber("fetches").value_or(0), 0u);
  EXPECT_EQ(node_->StatusNumber("names_dropped"), 0u);
  StopNode();
}

INSTANTIATE_TEST_SUITE_P(Seeds, Fsx, testing::Values(0, 1, 2, 3));

}  // namespace
}  // namespace kvpagefs::mount_test
