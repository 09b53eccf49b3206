#include "fs/mount_info.h"

#include <gtest/gtest.h>

namespace kvpagefs {
namespace {

constexpr const char* kText =
    "26 1 254:1 / / rw,relatime - ext4 /dev/vda1 rw\n"
    "41 26 0:38 / /mnt/a\\040b\\134c\\011 rw,nosuid shared:5 master:2 - fuse.kvpagefs my\\040source rw,user_id=0\n"
    "42 26 0:39 / /mnt rw - tmpfs none rw\n"
    "43 42 0:40 / /mnt rw shared:9 - fuse.kvpagefs standalone rw\n"
    "short line\n"
    "44 26 0:41 / /no/separator rw shared:9 ext4 /dev/x rw\n"
    "45 26 0:42 / /no/source rw - ext4\n"
    "46 26 0:43 / /odd\\04 rw - proc proc rw";

TEST(ParseMountInfo, FieldsEscapesAndBadLines) {
  const auto mounts = ParseMountInfo(kText);
  ASSERT_EQ(mounts.size(), 5u);
  EXPECT_EQ(mounts[0].mount_point, "/");
  EXPECT_EQ(mounts[0].type, "ext4");
  EXPECT_EQ(mounts[0].source, "/dev/vda1");
  EXPECT_EQ(mounts[1].mount_point, "/mnt/a b\\c\t");
  EXPECT_EQ(mounts[1].type, kFuseType);
  EXPECT_EQ(mounts[1].source, "my source");
  EXPECT_EQ(mounts[4].mount_point, "/odd\\04");
  EXPECT_TRUE(ParseMountInfo("").empty());
}

TEST(MountAt, TheLastOneIsOnTop) {
  const auto mounts = ParseMountInfo(kText);
  ASSERT_NE(MountAt(mounts, "/mnt"), nullptr);
  EXPECT_EQ(MountAt(mounts, "/mnt")->type, kFuseType);
  EXPECT_EQ(MountAt(mounts, "/mnt/x"), nullptr);
}

TEST(MountHolding, TheDeepestThenTheLast) {
  const auto mounts = ParseMountInfo(kText);
  EXPECT_EQ(MountHolding(mounts, "/mnt/x")->type, kFuseType);
  EXPECT_EQ(MountHolding(mounts, "/mntx")->type, "ext4");
  EXPECT_EQ(MountHolding(mounts, "/mnt/a b\\c\t/z")->source, "my source");
  EXPECT_EQ(MountHolding({}, "/x"), nullptr);
}

TEST(IsWithin, WholeComponentsOnly) {
  EXPECT_TRUE(IsWithin("/a/b", "/a"));
  EXPECT_TRUE(IsWithin("/a", "/a"));
  EXPECT_TRUE(IsWithin("/a", "/"));
  EXPECT_FALSE(IsWithin("/ab", "/a"));
  EXPECT_FALSE(IsWithin("/", "/a"));
}

}  // namespace
}  // namespace kvpagefs
