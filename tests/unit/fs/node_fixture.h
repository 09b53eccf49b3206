// A small node without a session.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "fs/node.h"
#include "fs/node_state.h"

namespace kvpagefs {

class NodeTest : public testing::Test {
 protected:
  void SetUp() override {
    options_.memory_bytes = uint64_t{4} << 20;
    options_.huge_pages = HugePages::kOff;
    options_.prefault = false;
    options_.node_name = "node-a";
    options_.mount_point = "/mnt/kv";
    auto node = Node::Create(options_, Log::Discard());
    ASSERT_TRUE(node.ok()) << node.error().Describe();
    node_ = std::move(*node);
  }
  Node::State& state() { return node_->state(); }

  // A sealed and published page; held as long as the result lives.
  PageHold Publish(const std::string& name, const std::string& bytes, Pin pin = Pin::kNone) {
    const PageId id = state().meta->NewPageId();
    std::unique_ptr<Draft> draft = state().tier->NewDraft();
    EXPECT_TRUE(draft->Write(0, {reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}).ok());
    Result<PageHold> hold = state().tier->Seal(id, draft, pin);
    EXPECT_TRUE(hold.ok());
    PageInfo page;
    page.id = id;
    page.bytes = bytes.size();
    page.checksum = hold->checksum();
    page.mtime_ns = 1;
    page.pin = pin;
    state().meta->Publish({kRootDir, name}, page, {}, false,
                          [](const Result<Namespace::Outcome>& outcome) { EXPECT_TRUE(outcome.ok()); });
    return std::move(*hold);
  }
  PageInfo Info(PageId id) {
    PageInfo info;
    state().meta->FindPage(id, [&](const Result<PageInfo>& page) {
      EXPECT_TRUE(page.ok());
      if (page.ok()) info = *page;
    });
    return info;
  }

  Options options_;
  std::unique_ptr<Node> node_;
};

}  // namespace kvpagefs
