// A small node with an SSD tier that writes only when it is told to.
#pragma once

#include <cstring>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "node_fixture.h"
#include "unit/temp_dir.h"

namespace kvpagefs {

// What a completion brought; waits for it, with a deadline.
template <class T>
class Answered {
 public:
  std::function<void(T)> Taker() {
    return [promise = promise_](T value) { promise->set_value(std::move(value)); };
  }
  bool Has(std::chrono::milliseconds limit = std::chrono::seconds(20)) {
    return future_.wait_for(limit) == std::future_status::ready;
  }
  // Only once.
  T Take() {
    EXPECT_TRUE(Has());
    return future_.get();
  }

 private:
  std::shared_ptr<std::promise<T>> promise_ = std::make_shared<std::promise<T>>();
  std::future<T> future_ = promise_->get_future();
};

class SsdNodeTest : public NodeTest {
 protected:
  void SetUp() override {
    options_.ssd_dirs = {dir_.path() + "/ssd"};
    options_.ssd_bytes = uint64_t{64} << 20;
    options_.max_page_bytes = uint64_t{1} << 20;
    options_.spill = SpillMode::kOnEvict;
    NodeTest::SetUp();
  }
  // Before its directory goes: a node that cannot write what is dirty takes its time to stop.
  ~SsdNodeTest() override { node_.reset(); }
  Tiering& tiering() { return *state().tiering; }

  // A published page that is to be written to SSD, as a close makes it.
  PageInfo PublishDirty(const std::string& name, const std::string& bytes) {
    const PageId id = state().meta->NewPageId();
    std::unique_ptr<Draft> draft = state().tier->NewDraft();
    EXPECT_TRUE(draft->Write(0, {reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}).ok());
    const Result<PageHold> hold = state().tier->Seal(id, draft, Pin::kNone, MemoryTier::Copy::kDirty);
    EXPECT_TRUE(hold.ok());
    PageInfo page;
    page.id = id;
    page.bytes = bytes.size();
    page.checksum = hold->checksum();
    state().meta->Publish({kRootDir, name}, page, {}, false,
                          [](const Result<Namespace::Outcome>& outcome) { EXPECT_TRUE(outcome.ok()); });
    tiering().OnPublished(page);
    return page;
  }
  Status MakeDurable(PageId id) {
    Answered<Status> answer;
    tiering().MakeDurable(id, answer.Taker());
    return answer.Take();
  }
  // On SSD, and evicted from memory.
  PageInfo PublishCold(const std::string& name, const std::string& bytes) {
    PageInfo page = PublishDirty(name, bytes);
    EXPECT_TRUE(MakeDurable(page.id).ok());
    EXPECT_TRUE(state().tier->Remove(page.id).ok());
    return page;
  }
  uint64_t Count(Counter counter) { return state().counters.Get(counter); }

  const test_files::TempDir dir_;
};

}  // namespace kvpagefs
