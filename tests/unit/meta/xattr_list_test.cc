#include "meta/xattr_list.h"

#include <gtest/gtest.h>

namespace kvpagefs {
namespace {

using Mode = Namespace::XattrMode;

TEST(XattrList, RulesOfSetxattr) {
  Xattrs list;
  EXPECT_EQ(SetXattrIn(list, "user.k", "1", Mode::kReplace).code(), ErrorCode::kNoAttribute);
  EXPECT_TRUE(SetXattrIn(list, "user.k", "1", Mode::kCreate).ok());
  EXPECT_EQ(SetXattrIn(list, "user.k", "2", Mode::kCreate).code(), ErrorCode::kExists);
  EXPECT_EQ(*FindXattr(list, "user.k"), "1");
  EXPECT_TRUE(SetXattrIn(list, "user.k", "2", Mode::kReplace).ok());
  EXPECT_TRUE(SetXattrIn(list, "user.k", "3", Mode::kEither).ok());
  EXPECT_EQ(list, (Xattrs{{"user.k", "3"}}));
  EXPECT_EQ(RemoveXattrFrom(list, "user.no").code(), ErrorCode::kNoAttribute);
  EXPECT_TRUE(RemoveXattrFrom(list, "user.k").ok());
  EXPECT_EQ(FindXattr(list, "user.k"), nullptr);
}

TEST(XattrList, AboveTheLimitNothingChanges) {
  Xattrs list;
  ASSERT_TRUE(SetXattrIn(list, "user.k", std::string(kMaxXattrBytes - 6, 'v'), Mode::kEither).ok());
  const Xattrs full = list;
  EXPECT_EQ(SetXattrIn(list, "u", "", Mode::kEither).code(), ErrorCode::kTooBigAttribute);
  EXPECT_EQ(SetXattrIn(list, "user.k", std::string(kMaxXattrBytes - 5, 'v'), Mode::kEither).code(),
            ErrorCode::kTooBigAttribute);
  EXPECT_EQ(list, full);
}

}  // namespace
}  // namespace kvpagefs
