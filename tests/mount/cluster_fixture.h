// A metadata daemon and several mounts on this machine.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "tests/mount/harness/meta_process.h"
#include "tests/mount/harness/mount_test.h"
#include "tests/mount/harness/page_content.h"

namespace kvpagefs::mount_test {

class ClusterTest : public testing::Test {
 protected:
  static constexpr size_t kPageBytes = size_t{1} << 20;
  static constexpr int kHeartbeatMs = 200;
  // A machine under load must not make a node look dead; tests of failures take a shorter one.
  int timeout_ms_ = 20'000;

  void TearDown() override {
    for (const auto& node : nodes_) {
      if (node == nullptr || node->pid() <= 0) continue;
      kill(node->pid(), SIGCONT);
      EXPECT_EQ(node->Stop(), "");
    }
    if (meta_ != nullptr && meta_->Running()) {
      meta_->Resume();
      EXPECT_EQ(meta_->Stop(), "");
    }
    if (!HasFailure()) return;
    if (meta_ != nullptr) printf("kvpagemetad:\n%s\n", meta_->Stderr().c_str());
    for (const auto& node : nodes_) {
      if (node != nullptr) printf("node at %s:\n%s\n", node->dir().c_str(), node->Stderr().c_str());
    }
  }

  // Skips when there can be no mount.
  void StartCluster(size_t nodes, const std::vector<std::string>& meta_arguments = {}) {
    if (const std::string why = WhyNoMount(test_options_); !why.empty()) GTEST_SKIP() << why;
    std::vector<std::string> arguments = {"--heartbeat", std::to_string(kHeartbeatMs) + "ms", "--node-timeout",
                                          std::to_string(timeout_ms_) + "ms"};
    arguments.insert(arguments.end(), meta_arguments.begin(), meta_arguments.end());
    meta_ = std::make_unique<MetaProcess>(test_options_, arguments);
    ASSERT_EQ(meta_->Start(), "");
    for (size_t i = 0; i < nodes; ++i) {
      StartNode(i, {});
      if (HasFatalFailure()) return;
    }
  }
  void StartNode(size_t index, std::vector<std::string> arguments, const std::string& memory = "64MiB") {
    NodeProcess::Options options;
    options.memory = memory;
    options.source = meta_->address();
    options.arguments = {"--node-name", "n" + std::to_string(index + 1), "--max-page", "8MiB"};
    options.arguments.insert(options.arguments.end(), arguments.begin(), arguments.end());
    if (nodes_.size() <= index) nodes_.resize(index + 1);
    nodes_[index].reset();
    nodes_[index] = std::make_unique<NodeProcess>(test_options_, std::move(options));
    ASSERT_EQ(nodes_[index]->Start(), "");
  }
  std::vector<std::string> SsdArguments(size_t index) {
    return {"--ssd-dir", scratch_.path() + "/ssd" + std::to_string(index), "--ssd", "256MiB"};
  }
  void KillNode(size_t index) {
    nodes_[index]->Kill();
    nodes_[index]->Detach();
  }

  std::string Path(size_t node, const std::string& name) const { return nodes_[node]->Path(name); }
  static std::string Name(size_t i) { return "page-" + std::to_string(i); }
  void Write(size_t node, size_t begin, size_t end, uint64_t serial = 1) {
    for (size_t i = begin; i < end; ++i) {
      ASSERT_EQ(Value(WriteFile(Path(node, Name(i)), MakePage(i, serial, kPageBytes))), "0") << i;
    }
  }
  // How many of the pages a node has; each of them must be right.
  size_t CountRight(size_t node, size_t begin, size_t end) {
    size_t right = 0;
    for (size_t i = begin; i < end; ++i) {
      int64_t error = 0;
      const std::string bytes = ReadFile(Path(node, Name(i)), &error);
      if (error != 0) {
        EXPECT_EQ(Value(error), "ENOENT") << i;
        continue;
      }
      EXPECT_EQ(CheckPage(i, bytes), "") << i;
      ++right;
    }
    return right;
  }
  uint64_t Number(size_t node, const char* key) { return nodes_[node]->StatusNumber(key).value_or(0); }
  std::string Xattr(size_t node, const std::string& name, const char* key) {
    char value[256];
    const ssize_t bytes = getxattr(Path(node, name).c_str(), key, value, sizeof(value));
    return bytes < 0 ? Value(-errno) : std::string(value, static_cast<size_t>(bytes));
  }
  bool Connected(size_t node) { return nodes_[node]->Status()["metadata_connected"] == "yes"; }

  const TestOptions test_options_ = ReadTestOptions();
  const ScratchDir scratch_{test_options_.scratch_dir};
  std::unique_ptr<MetaProcess> meta_;
  std::vector<std::unique_ptr<NodeProcess>> nodes_;
};

}  // namespace kvpagefs::mount_test
