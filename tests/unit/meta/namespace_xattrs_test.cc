#include <gtest/gtest.h>

#include "meta/namespace.h"
#include "unit/meta/testing.h"

namespace kvpagefs {
namespace {

using Mode = Namespace::XattrMode;

TEST(NamespaceXattrs, SetGetRemove) {
  Namespace names(nullptr, {}, 0);
  const uint64_t id = testing::Page(1).id.value;
  ASSERT_TRUE(names.Publish({kRootDir, "a"}, testing::Page(1), {}, false).ok());
  for (const uint64_t target : {id, kRootDir.value}) {
    EXPECT_EQ(names.GetXattr(target, "user.k").code(), ErrorCode::kNoAttribute);
    EXPECT_EQ(names.SetXattr(target, "user.k", "1", Mode::kReplace).code(), ErrorCode::kNoAttribute);
    EXPECT_TRUE(names.SetXattr(target, "user.k", "1", Mode::kCreate).ok());
    EXPECT_EQ(names.SetXattr(target, "user.k", "2", Mode::kCreate).code(), ErrorCode::kExists);
    EXPECT_TRUE(names.SetXattr(target, "user.k", "2", Mode::kReplace).ok());
    EXPECT_TRUE(names.SetXattr(target, "user.other", "", Mode::kEither).ok());
    EXPECT_EQ(*names.GetXattr(target, "user.k"), "2");
    EXPECT_EQ(*names.GetXattr(target, "user.other"), "");
    EXPECT_EQ(names.GetXattrs(target).size(), 2u);
    EXPECT_TRUE(names.RemoveXattr(target, "user.k").ok());
    EXPECT_EQ(names.RemoveXattr(target, "user.k").code(), ErrorCode::kNoAttribute);
    EXPECT_TRUE(names.RemoveXattr(target, "user.other").ok());
    EXPECT_TRUE(names.GetXattrs(target).empty());
  }
}

TEST(NamespaceXattrs, LimitCountsNamesAndValues) {
  Namespace names(nullptr, {}, 0);
  const std::string value(kMaxXattrBytes - 6, 'v');
  EXPECT_EQ(names.SetXattr(1, "user.k", value + "v", Mode::kEither).code(), ErrorCode::kTooBigAttribute);
  EXPECT_TRUE(names.SetXattr(1, "user.k", value, Mode::kEither).ok());
  EXPECT_EQ(names.SetXattr(1, "u", "", Mode::kEither).code(), ErrorCode::kTooBigAttribute);
  EXPECT_TRUE(names.SetXattr(1, "user.k", "small", Mode::kEither).ok());
  EXPECT_TRUE(names.SetXattr(1, "u", "", Mode::kEither).ok());
  EXPECT_EQ(names.SetXattr(1, std::string(256, 'k'), "", Mode::kEither).code(), ErrorCode::kTooBigAttribute);
}

TEST(NamespaceXattrs, UnknownIds) {
  Namespace names(nullptr, {}, 0);
  EXPECT_EQ(names.SetXattr(999, "user.k", "1", Mode::kEither).code(), ErrorCode::kNotFound);
  EXPECT_EQ(names.GetXattr(999, "user.k").code(), ErrorCode::kNotFound);
  EXPECT_EQ(names.RemoveXattr(999, "user.k").code(), ErrorCode::kNotFound);
  EXPECT_TRUE(names.GetXattrs(999).empty());
}

}  // namespace
}  // namespace kvpagefs
