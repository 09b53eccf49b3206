#include "meta/store_syncer.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

namespace kvpagefs {
namespace {

// A disk that flushes when the test says so.
class StoreSyncerTest : public testing::Test {
 protected:
  void TearDown() override { Open(); }
  void Open() {
    if (!open_.exchange(true)) gate_.set_value();
  }
  Status Flush() {
    ++flushes_;
    reached_.Reach();
    opened_.wait();
    return result_;
  }

  struct Once {
    void Reach() {
      if (!done.exchange(true)) reached.set_value();
    }
    std::atomic<bool> done{false};
    std::promise<void> reached;
  };

  std::promise<void> gate_;
  std::shared_future<void> opened_ = gate_.get_future().share();
  std::atomic<bool> open_{false};
  std::atomic<int> flushes_{0};
  Once reached_;
  Status result_;
  StoreSyncer syncer_{[this] { return Flush(); }};
};

TEST_F(StoreSyncerTest, WhoeverComesDuringAFlushSharesTheNextOne) {
  syncer_.Start();
  std::atomic<int> answered{0};
  const auto done = [&](const Status& status) {
    EXPECT_TRUE(status.ok());
    ++answered;
  };
  syncer_.Sync(done);
  reached_.reached.get_future().wait();
  for (int i = 0; i < 10; ++i) syncer_.Sync(done);
  EXPECT_EQ(answered, 0);
  Open();
  syncer_.Stop();
  EXPECT_EQ(answered, 11);
  EXPECT_EQ(flushes_, 2);
}

TEST_F(StoreSyncerTest, TellsTheError) {
  result_ = Error(ErrorCode::kUnavailable, "disk is full");
  Open();
  syncer_.Start();
  std::promise<std::string> told;
  syncer_.Sync([&](const Status& status) { told.set_value(status.ok() ? "ok" : status.error().text()); });
  EXPECT_EQ(told.get_future().get(), "disk is full");
}

TEST_F(StoreSyncerTest, WithoutTheThreadTheCallerFlushes) {
  Open();
  bool answered = false;
  syncer_.Sync([&](const Status&) { answered = true; });
  EXPECT_TRUE(answered);
  EXPECT_EQ(flushes_, 1);
  syncer_.Stop();
}

}  // namespace
}  // namespace kvpagefs
