// fs/space_waiters.h on the wire: writes that wait for held pages. S1 and S2 are its invariants.
#include <fcntl.h>
#include <linux/falloc.h>

#include "fake_kernel_fixture.h"

namespace kvpagefs {
namespace {

constexpr uint32_t kPiece = FakeKernel::kMaxTransferBytes;

class SpaceTest : public FakeKernelTest {
 protected:
  SpaceTest() { starts_at_set_up_ = false; }

  void StartWithWait(int64_t space_wait_ms) {
    options_.space_wait_ms = space_wait_ms;
    StartAndShakeHands();
  }
  // Pages of 1 MiB, each held by an open file or pinned, until no other fits; the last page takes what is left.
  void Fill(bool pinned) {
    for (int i = 0;; ++i) {
      const std::string name = fmt::format("full{}", i);
      const uint64_t room = state().tier->GetStats().free_bytes;
      if (room < 16 * 4096) return;
      const uint64_t bytes = std::min<uint64_t>(kMiB, room - 4 * 4096);
      const OpenReply file = me_.Create(name);
      ASSERT_EQ(file.error, 0);
      for (uint64_t at = 0; at < bytes; at += kPiece) {
        ASSERT_EQ(me_.Write(file, std::string(std::min<uint64_t>(kPiece, bytes - at), 'x'), at), 0) << name;
      }
      ASSERT_EQ(me_.Flush(file), 0);
      if (pinned) {
        ASSERT_EQ(me_.Setxattr(file.node, "user.kvpagefs.pin", "hard"), 0);
      }
      if (!pinned) held_.push_back(me_.Open(me_.Lookup(name).node()));
      ASSERT_EQ(me_.Release(file), 0);
    }
  }
  void LetGo() {
    ASSERT_FALSE(held_.empty());
    ASSERT_EQ(me_.Release(held_.front()), 0);
    held_.erase(held_.begin());
  }
  void WaitUntilParked(size_t writes) {
    ASSERT_TRUE(Eventually([&] { return Count(Counter::kSpaceWaits) >= writes; }));
  }
  std::optional<Reply> ReplyTo(uint64_t write) { return kernel_.WaitFor(write); }

  std::vector<OpenReply> held_;
};

// Far longer than a test takes on any machine.
constexpr int64_t kForeverMs = 600'000;

TEST_F(SpaceTest, ParkedWriteSucceedsWhenAHoldGoes) {
  StartWithWait(kForeverMs);
  Fill(/*pinned=*/false);
  const OpenReply file = me_.Create("a");
  const uint64_t write = me_.StartWrite(file, std::string(kPiece, 'y'));
  WaitUntilParked(1);
  EXPECT_FALSE(kernel_.Answered(write));
  LetGo();
  const std::optional<Reply> reply = ReplyTo(write);
  ASSERT_TRUE(reply.has_value());
  ASSERT_EQ(reply->error, 0);
  EXPECT_EQ(reply->As<fuse_write_out>().size, kPiece);
  ASSERT_EQ(me_.Flush(file), 0);
  EXPECT_EQ(other_.Contents("a"), std::string(kPiece, 'y')) << "the parked bytes are a copy of the request's";
  me_.Release(file);
}

TEST_F(SpaceTest, InterruptAnswersEINTR) {
  StartWithWait(kForeverMs);
  Fill(/*pinned=*/false);
  const OpenReply file = me_.Create("a");
  const uint64_t write = me_.StartWrite(file, std::string(kPiece, 'y'));
  WaitUntilParked(1);
  ASSERT_TRUE(Eventually([&] { return state().space.NextDeadline() != 0; }));
  kernel_.Interrupt(write);
  const std::optional<Reply> reply = ReplyTo(write);
  ASSERT_TRUE(reply.has_value());
  EXPECT_EQ(reply->error, EINTR);
  EXPECT_EQ(Count(Counter::kInterrupted), 1u);
  // The answer leaves before the pass that gave it has ended.
  EXPECT_TRUE(Eventually([&] { return state().space.size() == 0; }));
}

TEST_F(SpaceTest, DeadlineIsENOSPC) {
  StartWithWait(30);
  Fill(/*pinned=*/false);
  const OpenReply file = me_.Create("a");
  EXPECT_EQ(me_.Write(file, std::string(kPiece, 'y')), ENOSPC);
  EXPECT_EQ(Count(Counter::kSpaceWaits), 1u);
  EXPECT_EQ(Count(Counter::kSpaceWaitTimeouts), 1u);
  ASSERT_EQ(me_.Release(file), 0);
}

TEST_F(SpaceTest, EverythingPinnedIsENOSPCAtOnce) {
  StartWithWait(kForeverMs);
  Fill(/*pinned=*/true);
  const OpenReply file = me_.Create("a");
  EXPECT_EQ(me_.Write(file, std::string(kPiece, 'y')), ENOSPC);
  EXPECT_EQ(me_.Fallocate(file, FALLOC_FL_KEEP_SIZE, kPiece), ENOSPC);
  EXPECT_EQ(me_.Truncate(file.node, kPiece, &file).error, ENOSPC);
  EXPECT_EQ(Count(Counter::kSpaceWaits), 0u);
}

// The first write to a published page needs room for all of it, not only for the bytes written.
TEST_F(SpaceTest, RewriteWithoutRoomForThePageIsENOSPCAtOnce) {
  StartWithWait(kForeverMs);
  Fill(/*pinned=*/true);
  EXPECT_EQ(me_.Open(me_.Lookup("full0").node(), O_WRONLY).error, ESTALE);
  const OpenReply file = me_.Open(me_.Lookup("full0").node(), O_WRONLY);
  ASSERT_EQ(file.error, 0);
  EXPECT_EQ(me_.Write(file, "y"), ENOSPC);
  EXPECT_EQ(Count(Counter::kSpaceWaits), 0u);
  me_.Release(file);
}

// The end of the write counts, not its size.
TEST_F(SpaceTest, WriteFarBehindTheEndIsENOSPCAtOnce) {
  StartWithWait(kForeverMs);
  Fill(/*pinned=*/true);
  const OpenReply file = me_.Create("a");
  EXPECT_EQ(me_.Write(file, "y", 4 * kMiB), ENOSPC);
  EXPECT_EQ(Count(Counter::kSpaceWaits), 0u);
}

TEST_F(SpaceTest, NoMoreThanTheLimitIsParked) {
  StartWithWait(kForeverMs);
  Fill(/*pinned=*/false);
  const OpenReply file = me_.Create("a");
  std::vector<uint64_t> writes;
  for (size_t i = 0; i <= SpaceWaiters::kMaxParked; ++i) {
    writes.push_back(me_.StartWrite(file, std::string(kPiece, 'y')));
  }
  const auto answered = [&] {
    return std::count_if(writes.begin(), writes.end(), [&](uint64_t write) { return kernel_.Answered(write); });
  };
  WaitUntilParked(SpaceWaiters::kMaxParked);
  ASSERT_TRUE(Eventually([&] { return answered() == 1; })) << "S2";
  const auto refused = std::find_if(writes.begin(), writes.end(), [&](uint64_t w) { return kernel_.Answered(w); });
  EXPECT_EQ(ReplyTo(*refused)->error, ENOSPC);
  LetGo();
  for (const uint64_t write : writes) {
    const std::optional<Reply> reply = ReplyTo(write);
    ASSERT_TRUE(reply.has_value()) << "S1";
    if (write != *refused) {
      EXPECT_EQ(reply->error, 0);
    }
  }
}

TEST_F(SpaceTest, EndOfTheSessionAnswersWhatIsParked) {
  StartWithWait(kForeverMs);
  Fill(/*pinned=*/false);
  const OpenReply file = me_.Create("a");
  std::vector<uint64_t> writes;
  for (int i = 0; i < 3; ++i) writes.push_back(me_.StartWrite(file, std::string(kPiece, 'y')));
  WaitUntilParked(writes.size());
  session_.reset();
  for (const uint64_t write : writes) {
    const std::optional<Reply> reply = ReplyTo(write);
    ASSERT_TRUE(reply.has_value()) << "S1";
    EXPECT_THAT(reply->error, testing::AnyOf(EINTR, ENOSPC));
  }
}

// The contract: "ENOSPC is decided at write [...] and then the name does not appear".
TEST_F(SpaceTest, PageThatLostAWriteNeverAppears) {
  StartWithWait(kForeverMs);
  Fill(/*pinned=*/true);
  const OpenReply file = me_.Create("half");
  ASSERT_EQ(me_.Write(file, "first piece"), 0);
  ASSERT_EQ(me_.Write(file, std::string(kPiece, 'y'), 11), ENOSPC);
  EXPECT_EQ(me_.Flush(file), ENOSPC);
  EXPECT_EQ(other_.Lookup("half").error, ENOENT) << "nobody takes half a page for a page";
  ASSERT_EQ(me_.Release(file), 0);
  EXPECT_EQ(other_.Lookup("half").error, ENOENT);
}

TEST_F(SpaceTest, SealWithoutRoomForAHeaderDropsThePage) {
  StartWithWait(kForeverMs);
  Fill(/*pinned=*/true);
  // Pages of one block take the rest; the one that finds no room for its header must not appear.
  int sealed = 0;
  int error = 0;
  while (error == 0) {
    ASSERT_LT(sealed, 10'000);
    const std::string name = fmt::format("small{}", sealed);
    const OpenReply file = me_.Create(name);
    error = me_.Write(file, "z");
    if (error == 0) error = me_.Flush(file);
    if (error == 0) {
      ++sealed;
      EXPECT_EQ(me_.Setxattr(file.node, "user.kvpagefs.pin", "hard"), 0);
    } else {
      EXPECT_EQ(error, ENOSPC);
    }
    me_.Release(file);
    if (error != 0) {
      EXPECT_EQ(other_.Lookup(name).error, error == 0 ? 0 : ENOENT) << name;
    }
  }
  EXPECT_GT(sealed, 0);
}

}  // namespace
}  // namespace kvpagefs
