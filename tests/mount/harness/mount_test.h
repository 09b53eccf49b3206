// The gtest side of the harness: a fixture with one node, and checks of its start and end.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "tests/mount/harness/child.h"
#include "tests/mount/harness/node_process.h"
#include "tests/mount/harness/sys.h"
#include "tests/mount/harness/test_options.h"
#include "tests/mount/harness/wait.h"

namespace kvpagefs::mount_test {

// One node for one test. It must end by SIGTERM with status 0 (so a sanitizer's report fails the test).
class NodeTest : public testing::Test {
 protected:
  void TearDown() override { StopNode(); }

  // Skips when there can be no mount, unless a plain directory is asked for and does.
  void StartNode(NodeProcess::Options options = {}) {
    if (const std::string why = WhyNoMount(test_options_); !why.empty() && !test_options_.plain) {
      GTEST_SKIP() << why;
    }
    node_ = std::make_unique<NodeProcess>(test_options_, std::move(options));
    const std::string problem = node_->Start();
    ASSERT_EQ(problem, "");
  }
  // The same, but skips in plain mode: for what a plain directory has not.
  void StartRealNode(NodeProcess::Options options = {}) {
    if (const std::string why = WhyNoMount(test_options_); !why.empty()) GTEST_SKIP() << why;
    StartNode(std::move(options));
  }
  void StopNode() {
    if (node_ == nullptr) return;
    if (node_->pid() > 0) {
      EXPECT_EQ(node_->Stop(), "");
      if (HasFailure()) printf("daemon's standard error:\n%s\n", node_->Stderr().c_str());
    }
    node_.reset();
  }
  std::string Path(const std::string& name) const { return node_->Path(name); }

  const TestOptions test_options_ = ReadTestOptions();
  std::unique_ptr<NodeProcess> node_;
};

// In a test body, after a call that may have skipped or failed.
#define KVP_RETURN_IF_NOT_RUNNING() \
  if (IsSkipped() || HasFatalFailure()) return

}  // namespace kvpagefs::mount_test
