// A page that is replaced between the look-up of its name and the use of its bytes: the caller gets the next version,
// and never hears that the name was not there.
#include "fake_kernel_fixture.h"
#include "racing_meta.h"

namespace kvpagefs {
namespace {

class RaceTest : public FakeKernelTest {
 protected:
  void OnNodeMade() override {
    auto racing = std::make_unique<RacingMeta>(std::move(state().meta));
    racing_ = racing.get();
    state().meta = std::move(racing);
  }
  std::function<void()> Replace(std::string_view bytes) {
    return [this, bytes] { EXPECT_EQ(other_.Put("a", bytes).error, 0); };
  }

  RacingMeta* racing_ = nullptr;
};

TEST_F(RaceTest, OpenForWriting) {
  const OpenReply page = other_.Put("a", "one");
  racing_->AfterFindPage(Replace("two"));
  ASSERT_EQ(me_.Open(page.node, O_RDWR).error, ESTALE);
  const OpenReply file = me_.Open(me_.Lookup("a").node(), O_RDWR);
  ASSERT_EQ(file.error, 0);
  EXPECT_EQ(me_.Read(file), "two");
  me_.Release(file);
}

TEST_F(RaceTest, LookupBehindAStaleOpenForWriting) {
  const OpenReply page = other_.Put("a", "one");
  other_.Put("a", "two");
  ASSERT_EQ(me_.Open(page.node, O_RDWR).error, ESTALE);
  racing_->AfterLookup(Replace("three"));
  const OpenReply file = me_.Open(me_.Lookup("a").node(), O_RDWR);
  ASSERT_EQ(file.error, 0);
  EXPECT_EQ(me_.Read(file), "three");
  me_.Release(file);
}

TEST_F(RaceTest, LookupBehindAStaleOpenForWritingThatFindsItDeleted) {
  const OpenReply page = other_.Put("a", "one");
  other_.Put("a", "two");
  ASSERT_EQ(me_.Open(page.node, O_RDWR).error, ESTALE);
  racing_->AfterLookup([this] { EXPECT_EQ(other_.Unlink("a"), 0); });
  EXPECT_EQ(me_.Lookup("a").error, ENOENT);
  // It is there again when the kernel makes a new entry.
  other_.Put("a", "three");
  const OpenReply file = me_.Open(me_.Lookup("a").node(), O_RDWR);
  ASSERT_EQ(file.error, 0);
  EXPECT_EQ(me_.Read(file), "three");
  me_.Release(file);
}

TEST_F(RaceTest, OpenForReading) {
  const OpenReply page = other_.Put("a", "one");
  racing_->AfterFindPage(Replace("two"));
  ASSERT_EQ(me_.Open(page.node).error, ESTALE);
  EXPECT_EQ(me_.Contents("a"), "two");
}

TEST_F(RaceTest, LookupBehindAStaleOpenForReading) {
  const OpenReply page = other_.Put("a", "one");
  other_.Put("a", "two");
  ASSERT_EQ(me_.Open(page.node).error, ESTALE);
  racing_->AfterLookup(Replace("three"));
  const EntryReply found = me_.Lookup("a");
  other_.Put("a", "four");
  const OpenReply file = me_.Open(found.node());
  ASSERT_EQ(file.error, 0) << "what the look-up answered is kept";
  EXPECT_EQ(me_.Read(file), "three");
  me_.Release(file);
}

TEST_F(RaceTest, CreateOfANameThatHasAPage) {
  ASSERT_EQ(other_.Put("a", "one").error, 0);
  racing_->AfterLookup(Replace("two"));
  const OpenReply file = me_.Create("a", O_RDWR);
  ASSERT_EQ(file.error, 0);
  EXPECT_EQ(me_.Read(file), "two");
  me_.Release(file);
}

// A pin that was granted holds: the page must not have been evicted just before.
TEST_F(RaceTest, PinOfAPageThatIsBeingEvicted) {
  ASSERT_EQ(other_.Put("a", "one").error, 0);
  const uint64_t node = me_.Lookup("a").node();
  EXPECT_EQ(me_.Setxattr(node, "user.kvpagefs.pin", "soft"), 0);
  ASSERT_TRUE(state().tier->Remove(PageId{node}).ok());
  EXPECT_EQ(me_.Setxattr(node, "user.kvpagefs.pin", "hard"), ENOENT);
}

TEST_F(RaceTest, CreateOfANameWhosePageIsDeleted) {
  ASSERT_EQ(other_.Put("a", "one").error, 0);
  racing_->AfterLookup([this] { EXPECT_EQ(other_.Unlink("a"), 0); });
  const OpenReply file = me_.Create("a", O_RDWR);
  ASSERT_EQ(file.error, 0);
  EXPECT_EQ(me_.Read(file), "");
  me_.Release(file);
}

}  // namespace
}  // namespace kvpagefs
