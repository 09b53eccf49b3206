#include "base/error.h"

#include <cerrno>

#include <gtest/gtest.h>

#include "base/result.h"

namespace kvpagefs {
namespace {

TEST(Error, MapsToErrnoAndBack) {
  EXPECT_EQ(ToErrno(ErrorCode::kNotFound), ENOENT);
  EXPECT_EQ(ToErrno(ErrorCode::kNoSpace), ENOSPC);
  EXPECT_EQ(ToErrno(ErrorCode::kTooLarge), EFBIG);
  EXPECT_EQ(FromErrno(ENOENT), ErrorCode::kNotFound);
  EXPECT_EQ(FromErrno(EACCES), ErrorCode::kNotPermitted);
  EXPECT_EQ(FromErrno(ENOSPC), ErrorCode::kNoSpace);
  EXPECT_EQ(FromErrno(EIO), ErrorCode::kUnavailable);
  EXPECT_EQ(FromErrno(ENXIO), ErrorCode::kUnavailable);
}

TEST(Error, DescribesItself) {
  EXPECT_EQ(Error(ErrorCode::kNoSpace).Describe(), "no space that may be evicted");
  EXPECT_EQ(Error::FromSystem(ENOENT, "open '/x'").Describe(), "open '/x': No such file or directory");
}

TEST(Result, HoldsOneOfTwo) {
  const Result<int> good = 3;
  ASSERT_TRUE(good.ok());
  EXPECT_EQ(*good, 3);
  const Result<int> bad = ErrorCode::kStale;
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.code(), ErrorCode::kStale);
  EXPECT_TRUE(Status().ok());
  EXPECT_FALSE(Status(ErrorCode::kLost).ok());
}

}  // namespace
}  // namespace kvpagefs
