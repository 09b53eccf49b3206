#include "meta/state_dir.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "unit/temp_dir.h"

namespace kvpagefs {
namespace {

using test_files::TempDir;
using test_files::WriteFile;

std::string TextOf(const Result<std::unique_ptr<StateDir>>& result) { return result.ok() ? "" : result.error().text(); }

TEST(StateDir, IsMadeAndOpenedAgain) {
  const TempDir temp;
  const std::string path = temp / "state";
  {
    ASSERT_TRUE(StateDir::Open(path).ok());
  }
  EXPECT_TRUE(std::filesystem::exists(path + "/" + StateDir::kMarkFile));
  const auto again = StateDir::Open(path);
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE((*again)->Sync().ok());
}

TEST(StateDir, EmptyDirectoriesAndUnfinishedStartsBecomeOurs) {
  const TempDir temp;
  std::filesystem::create_directory(temp / "lost+found");
  WriteFile(temp / "LOCK", "");
  WriteFile(temp / "KVPAGEFS-STATE.new", "kvp");
  EXPECT_TRUE(StateDir::Open(temp.path()).ok());
}

TEST(StateDir, ForeignDirectoriesAreRefusedUntouched) {
  const TempDir temp;
  WriteFile(temp / "thesis.tex", "text");
  const auto refused = StateDir::Open(temp.path());
  EXPECT_EQ(refused.code(), ErrorCode::kInvalid);
  EXPECT_NE(TextOf(refused).find("--state-dir " + temp.path()), std::string::npos);
  EXPECT_NE(TextOf(refused).find("thesis.tex"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(temp / "LOCK"));
}

TEST(StateDir, NewerFormatsAreRefused) {
  const TempDir temp;
  WriteFile(temp / StateDir::kMarkFile, "kvpagefs state 2\n");
  const auto refused = StateDir::Open(temp.path());
  EXPECT_EQ(refused.code(), ErrorCode::kInvalid);
  EXPECT_NE(TextOf(refused).find("newer"), std::string::npos);
}

TEST(StateDir, ASecondOwnerIsToldOfTheFirst) {
  const TempDir temp;
  auto first = StateDir::Open(temp.path());
  ASSERT_TRUE(first.ok());
  const auto second = StateDir::Open(temp.path());
  EXPECT_EQ(second.code(), ErrorCode::kUnavailable);
  EXPECT_NE(TextOf(second).find("process " + std::to_string(getpid())), std::string::npos) << TextOf(second);
  first->reset();
  EXPECT_TRUE(StateDir::Open(temp.path()).ok());
}

TEST(StateDir, WhatIsNoDirectoryIsRefused) {
  const TempDir temp;
  WriteFile(temp / "file", "");
  EXPECT_EQ(StateDir::Open(temp / "file").code(), ErrorCode::kNotDirectory);
  const auto no_parent = StateDir::Open(temp / "no/state");
  EXPECT_EQ(no_parent.code(), ErrorCode::kNotFound);
  EXPECT_NE(TextOf(no_parent).find("parent"), std::string::npos);
}

TEST(StateDir, WithoutPermissionIsRefused) {
  if (geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  const TempDir temp;
  std::filesystem::create_directory(temp / "state");
  std::filesystem::permissions(temp / "state", std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  EXPECT_EQ(StateDir::Open(temp / "state").code(), ErrorCode::kNotPermitted);
}

}  // namespace
}  // namespace kvpagefs
