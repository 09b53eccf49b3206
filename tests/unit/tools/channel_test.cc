#include "tools/channel.h"

#include <sys/socket.h>

#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/unique_fd.h"

namespace kvpagefs {
namespace {

class ChannelTest : public ::testing::Test {
 protected:
  ChannelTest() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    left_ = UniqueFd(ends[0]);
    right_ = UniqueFd(ends[1]);
  }

  UniqueFd left_;
  UniqueFd right_;
};

TEST_F(ChannelTest, ValuesAndArraysArriveInOrder) {
  ASSERT_TRUE(SendValue(left_.get(), uint32_t{7}).ok());
  ASSERT_TRUE(SendArray(left_.get(), std::string("words")).ok());
  ASSERT_TRUE(SendArray(left_.get(), std::vector<int64_t>{1, 2, 3}).ok());
  ASSERT_TRUE(SendArray(left_.get(), std::vector<int64_t>{}).ok());
  uint32_t value = 0;
  std::string text;
  std::vector<int64_t> numbers;
  ASSERT_TRUE(ReceiveValue(right_.get(), value).ok());
  ASSERT_TRUE(ReceiveArray(right_.get(), text).ok());
  ASSERT_TRUE(ReceiveArray(right_.get(), numbers).ok());
  EXPECT_EQ(value, 7u);
  EXPECT_EQ(text, "words");
  EXPECT_THAT(numbers, ::testing::ElementsAre(1, 2, 3));
  ASSERT_TRUE(ReceiveArray(right_.get(), numbers).ok());
  EXPECT_TRUE(numbers.empty());
}

TEST_F(ChannelTest, AClosedEndIsAnErrorAndNoSignal) {
  left_.Reset();
  uint32_t value = 0;
  EXPECT_EQ(ReceiveValue(right_.get(), value).code(), ErrorCode::kUnavailable);
  EXPECT_EQ(SendValue(right_.get(), value).code(), ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace kvpagefs
