#include "spill/transfer.h"

#include <algorithm>
#include <cerrno>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "unit/spill/disk_fixture.h"

namespace kvpagefs {
namespace {

using disk_test::kBlock;
using disk_test::Memory;
using ::testing::HasSubstr;
using Kind = SsdDisk::IoKind;

class TransferTest : public ::testing::Test {
 protected:
  Transfer Make(Kind kind, std::vector<iovec> pieces) {
    return {{.kind = kind, .file = 1, .offset = 2 * kBlock, .pieces = std::move(pieces), .done = done_}, file_};
  }
  std::function<void(const Status&)> done_ = [this](const Status& status) { finished_.push_back(status); };
  std::vector<Status> finished_;
  Memory memory_{16 * kBlock};
  std::shared_ptr<const OpenFile> file_ = std::make_shared<OpenFile>("dir/region", dup(0));
};

TEST_F(TransferTest, ShortAnswersGoOnWhereTheyEnded) {
  Transfer transfer = Make(Kind::kWrite, {memory_.Piece(0, 2 * kBlock), memory_.Piece(32768, 3 * kBlock)});
  EXPECT_FALSE(transfer.Early().has_value());
  EXPECT_EQ(transfer.Rest().size(), 2U);
  EXPECT_FALSE(transfer.Advance(kBlock).has_value());
  EXPECT_EQ(transfer.offset(), 3U * kBlock);
  EXPECT_EQ(transfer.Rest()[0].iov_base, memory_.bytes().data() + kBlock);
  EXPECT_FALSE(transfer.Advance(2 * kBlock).has_value());
  EXPECT_EQ(transfer.Rest().size(), 1U);
  EXPECT_EQ(transfer.Rest()[0].iov_base, memory_.bytes().data() + 32768 + kBlock);
  EXPECT_EQ(transfer.Rest()[0].iov_len, 2U * kBlock);
  const std::optional<Status> end = transfer.Advance(2 * kBlock);
  ASSERT_TRUE(end.has_value());
  EXPECT_TRUE(end->ok());
}

TEST_F(TransferTest, ABlockThatWasBegunIsTransferredAgain) {
  Transfer transfer = Make(Kind::kRead, {memory_.Piece(0, 4 * kBlock)});
  EXPECT_FALSE(transfer.Advance(2 * kBlock + 100).has_value());
  EXPECT_EQ(transfer.offset(), 4U * kBlock);
  const std::optional<Status> end = transfer.Advance(100);
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->code(), ErrorCode::kLost);
  EXPECT_THAT(end->error().text(), HasSubstr("dir/region: read at 16384: the file ends here"));
}

TEST_F(TransferTest, PassingErrorsAreTriedABoundedNumberOfTimes) {
  Transfer transfer = Make(Kind::kRead, {memory_.Piece(0, 2 * kBlock)});
  for (int i = 1; i < Transfer::kMaxTries; ++i) EXPECT_FALSE(transfer.Advance(i % 2 != 0 ? -EINTR : -EAGAIN));
  EXPECT_FALSE(transfer.Advance(kBlock).has_value()) << "progress starts the count again";
  for (int i = 1; i < Transfer::kMaxTries; ++i) EXPECT_FALSE(transfer.Advance(-ECANCELED));
  const std::optional<Status> end = transfer.Advance(-EAGAIN);
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->code(), ErrorCode::kUnavailable);
  EXPECT_THAT(end->error().text(), HasSubstr("tried 16 times"));
}

TEST_F(TransferTest, AWriteWithoutProgressEnds) {
  Transfer transfer = Make(Kind::kWrite, {memory_.Piece(0, kBlock)});
  std::optional<Status> end;
  int answers = 0;
  for (; !end.has_value(); ++answers) end = transfer.Advance(answers % 2);
  EXPECT_EQ(answers, Transfer::kMaxTries);
  EXPECT_EQ(end->code(), ErrorCode::kUnavailable);
}

TEST_F(TransferTest, ErrorsAreTold) {
  const std::pair<int, ErrorCode> rows[] = {{ENOSPC, ErrorCode::kNoSpace},    {EDQUOT, ErrorCode::kNoSpace},
                                            {EFBIG, ErrorCode::kNoSpace},     {EIO, ErrorCode::kUnavailable},
                                            {EROFS, ErrorCode::kUnavailable}, {EINVAL, ErrorCode::kUnavailable},
                                            {EBADF, ErrorCode::kUnavailable}, {EPERM, ErrorCode::kUnavailable}};
  for (const auto& [errno_value, code] : rows) {
    Transfer transfer = Make(Kind::kWrite, {memory_.Piece(0, kBlock)});
    const std::optional<Status> end = transfer.Advance(-errno_value);
    ASSERT_TRUE(end.has_value());
    EXPECT_EQ(end->code(), code) << errno_value;
    EXPECT_THAT(end->error().text(), HasSubstr("dir/region: write at 8192: "));
  }
}

TEST_F(TransferTest, PiecesOfOneCallAreLimited) {
  std::vector<iovec> pieces(3000, memory_.Piece(0, kBlock));
  Transfer transfer = Make(Kind::kRead, std::move(pieces));
  EXPECT_EQ(transfer.Rest().size(), 1024U);
  EXPECT_FALSE(transfer.Advance(1024 * kBlock).has_value());
  EXPECT_FALSE(transfer.Advance(1024 * kBlock).has_value());
  EXPECT_EQ(transfer.Rest().size(), 3000U - 2048U);
  EXPECT_TRUE(transfer.Advance(952 * kBlock).has_value());
}

TEST_F(TransferTest, SomeNeedNoKernel) {
  EXPECT_TRUE(Make(Kind::kRead, {}).Early()->ok());
  EXPECT_FALSE(Make(Kind::kSync, {}).Early().has_value());
  EXPECT_TRUE(Make(Kind::kSync, {}).Advance(0)->ok());
  file_ = nullptr;
  EXPECT_EQ(Make(Kind::kSync, {}).Early()->code(), ErrorCode::kInvalid);
}

TEST_F(TransferTest, OneAnswer) {
  Transfer transfer = Make(Kind::kSync, {});
  transfer.Finish({});
  ASSERT_EQ(finished_.size(), 1U);
  EXPECT_DEATH(transfer.Finish({}), "done");
  Transfer other = Make(Kind::kSync, {});
  Transfer::GiveUp(other.TakeDone());
  ASSERT_EQ(finished_.size(), 2U);
  EXPECT_EQ(finished_[1].code(), ErrorCode::kUnavailable);
}

TEST_F(TransferTest, UnalignedIsABug) {
  EXPECT_DEATH(Make(Kind::kRead, {memory_.Piece(0, 100)}), "iov_len");
  EXPECT_DEATH(Make(Kind::kRead, {memory_.Piece(100, kBlock)}), "iov_base");
}

}  // namespace
}  // namespace kvpagefs
