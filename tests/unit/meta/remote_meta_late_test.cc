// Answers that wait for other nodes, and what is newer than they are when they come: R1.
#include <atomic>

#include "unit/meta/remote_meta_fixture.h"

namespace kvpagefs {
namespace {

using testing::ClientNode;
using testing::WaitFor;

// While the slow node is told that its page is gone, the change of `a` is not answered.
class RemoteMetaLateTest : public testing::RemoteMetaFixture {
 protected:
  void SetUp() override {
    slow_.set_on_gone([this] {
      if (calls_.fetch_add(1) > 0) return;
      entered_.set_value();
      EXPECT_EQ(may_go_.get_future().wait_for(net_test::kPatience), std::future_status::ready);
    });
    slow_.Start();
    ASSERT_TRUE(slow_->WaitUntilJoined(60'000));
    slow_.WaitUntilTold();
    (void)slow_.Put("x", 1);
  }
  void WaitForTheSlowOne() { net_test::Await(entered_.get_future()); }
  void LetGo() { may_go_.set_value(); }

  std::atomic<int> calls_{0};
  std::promise<void> entered_;
  std::promise<void> may_go_;
  ClientNode slow_{service_, "slow"};
  std::unique_ptr<ClientNode> node_a_ = Join("a");
  std::unique_ptr<ClientNode> node_b_ = Join("b");
  ClientNode& a_ = *node_a_;
  ClientNode& b_ = *node_b_;
};

TEST_F(RemoteMetaLateTest, UnlinkedBeforeThePublishIsAnswered) {
  const PageInfo page = a_.NewPage(2);
  auto published = ClientNode::Begin<Namespace::Outcome>(
      [&](auto done) { a_->Publish({kRootDir, "x"}, page, {}, false, std::move(done)); });
  WaitForTheSlowOne();
  EXPECT_EQ(b_.Unlink("x")->id, page.id);
  EXPECT_TRUE(a_.IsGone(page.id)) << "R2";
  LetGo();
  EXPECT_TRUE(net_test::Await(std::move(published)).ok());
  EXPECT_EQ(a_.Find("x"), PageId{}) << "R1";
  EXPECT_EQ(a_.FindPage(page.id).code(), ErrorCode::kNotFound) << "R1";
}

TEST_F(RemoteMetaLateTest, RenamedBeforeThePublishIsAnswered) {
  const PageInfo page = a_.NewPage(2);
  auto published = ClientNode::Begin<Namespace::Outcome>(
      [&](auto done) { a_->Publish({kRootDir, "x"}, page, {}, false, std::move(done)); });
  WaitForTheSlowOne();
  ASSERT_TRUE(b_.Rename("x", "y").ok());
  LetGo();
  EXPECT_TRUE(net_test::Await(std::move(published)).ok());
  EXPECT_EQ(a_.Find("x"), PageId{}) << "R1";
  EXPECT_EQ(a_.Find("y"), page.id) << "R1";
}

TEST_F(RemoteMetaLateTest, RenamedAgainBeforeTheRenameIsAnswered) {
  const PageInfo page = a_.Put("y", 2);
  auto renamed = ClientNode::Begin<Namespace::Outcome>([&](auto done) {
    a_->Rename({kRootDir, "y"}, {kRootDir, "x"}, Namespace::RenameMode::kReplace, std::move(done));
  });
  WaitForTheSlowOne();
  ASSERT_TRUE(b_.Rename("x", "z").ok());
  LetGo();
  EXPECT_TRUE(net_test::Await(std::move(renamed)).ok());
  EXPECT_EQ(a_.Find("x"), PageId{}) << "R1";
  EXPECT_EQ(a_.Find("z"), page.id) << "R1";
}

}  // namespace
}  // namespace kvpagefs
