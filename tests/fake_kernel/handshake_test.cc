// fs/session.h, fs/session_ops.h: what is agreed with the kernel, and that no request ends the session.
#include "fake_kernel_fixture.h"

namespace kvpagefs {
namespace {

class HandshakeTest : public FakeKernelTest {
 protected:
  HandshakeTest() { starts_at_set_up_ = false; }
};

TEST_F(HandshakeTest, FeaturesThatWouldBreakTheContractAreDeclined) {
  Start();
  const Reply reply = kernel_.Init();
  ASSERT_TRUE(reply.ok());
  const auto out = reply.As<fuse_init_out>();
  EXPECT_EQ(out.major, 7u);
  EXPECT_EQ(out.flags & FUSE_WRITEBACK_CACHE, 0u) << "a late ENOSPC must reach the writer";
  EXPECT_EQ(out.flags & FUSE_AUTO_INVAL_DATA, 0u);
  EXPECT_NE(out.flags & FUSE_POSIX_LOCKS, 0u) << "the kernel's own locks do not see that two drafts are one file";
  EXPECT_NE(out.flags & FUSE_FLOCK_LOCKS, 0u);
  for (const uint32_t wanted : {FUSE_ATOMIC_O_TRUNC, FUSE_ASYNC_READ, FUSE_ASYNC_DIO, FUSE_DO_READDIRPLUS,
                                FUSE_EXPLICIT_INVAL_DATA, FUSE_BIG_WRITES, FUSE_MAX_PAGES}) {
    EXPECT_NE(out.flags & wanted, 0u) << wanted;
  }
  EXPECT_GE(out.max_write, 1u << 20);
  EXPECT_EQ(out.max_background, 128);
}

TEST_F(HandshakeTest, NotReadyBeforeTheHandshake) {
  Start();
  EXPECT_FALSE(session_->WaitUntilReady(0));
  ASSERT_TRUE(kernel_.Init().ok());
  EXPECT_TRUE(session_->WaitUntilReady(kDeadlineMs));
}

TEST_F(HandshakeTest, RequestBeforeInitIsRefusedAndInitStillWorks) {
  Start();
  EXPECT_EQ(me_.Lookup("a").error, EIO);
  ASSERT_TRUE(kernel_.Init().ok());
  EXPECT_EQ(me_.Lookup("a").error, ENOENT);
  EXPECT_EQ(kernel_.Init().error, EIO) << "there is one handshake";
  EXPECT_EQ(me_.Lookup("a").error, ENOENT);
}

TEST_F(HandshakeTest, OldKernelWithoutFlagsIsServed) {
  Start();
  const Reply reply = kernel_.Init({.minor = 26, .flags = FUSE_BIG_WRITES | FUSE_ASYNC_READ});
  ASSERT_TRUE(reply.ok());
  EXPECT_EQ(reply.As<fuse_init_out>().flags & ~(FUSE_BIG_WRITES | FUSE_ASYNC_READ), 0u)
      << "asks only for what is offered";
  ASSERT_TRUE(session_->WaitUntilReady(kDeadlineMs));
  ASSERT_EQ(me_.Put("a", "bytes").error, 0);
  EXPECT_EQ(other_.Contents("a"), "bytes");
}

TEST_F(HandshakeTest, NewerProtocolIsSettledInASecondRound) {
  Start();
  const Reply newer = kernel_.Init({.major = 8, .minor = 0});
  ASSERT_TRUE(newer.ok());
  EXPECT_EQ(newer.As<fuse_init_out>().major, 7u);
  ASSERT_TRUE(kernel_.Init({.minor = 99}).ok());
  EXPECT_EQ(me_.Lookup("a").error, ENOENT);
}

TEST_F(HandshakeTest, UnknownOpcodesAreNotOffered) {
  StartAndShakeHands();
  for (const uint32_t opcode : {uint32_t{9999}, uint32_t{51}, uint32_t{77}}) {
    EXPECT_EQ(kernel_.Call({opcode, FUSE_ROOT_ID, me_.tid(), {}}).error, ENOSYS) << opcode;
  }
  EXPECT_EQ(me_.Lookup("a").error, ENOENT);
}

// Such a message would otherwise be taken together with what an earlier one left in the buffer.
TEST_F(HandshakeTest, MessageShorterThanAHeaderIsIgnored) {
  StartAndShakeHands();
  for (size_t bytes = 1; bytes < sizeof(fuse_in_header); bytes += 13) kernel_.SendRaw(std::string(bytes, '\x01'));
  EXPECT_EQ(me_.Lookup("a").error, ENOENT);
  EXPECT_EQ(me_.Lookup("b").error, ENOENT);
  EXPECT_EQ(kernel_.surplus_replies(), 0u);
}

}  // namespace
}  // namespace kvpagefs
