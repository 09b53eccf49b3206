#include "daemon/secret_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "unit/temp_dir.h"

namespace kvpagefs {
namespace {

using test_files::TempDir;
using test_files::WriteFile;

class SecretFileTest : public ::testing::Test {
 protected:
  Result<std::string> Read(const std::string& content, mode_t mode) {
    WriteFile(dir_ / "secret", content);
    chmod((dir_ / "secret").c_str(), mode);
    return ReadSecretFile(dir_ / "secret");
  }
  const TempDir dir_;
};

TEST_F(SecretFileTest, TheNewlineAtTheEndDoesNotCount) {
  const auto secret = Read("0123456789 abcdef\n", 0600);
  ASSERT_TRUE(secret.ok());
  EXPECT_EQ(*secret, "0123456789 abcdef");
  EXPECT_TRUE(Read(std::string(4096, 'x'), 0400).ok());
}

TEST_F(SecretFileTest, WhatIsNoSecretIsRefusedWithTheRemedy) {
  EXPECT_EQ(Read("0123456789abcdef", 0640).code(), ErrorCode::kNotPermitted);
  EXPECT_NE(Read("0123456789abcdef", 0604).error().text().find("chmod 600"), std::string::npos);
  EXPECT_EQ(Read("short\n", 0600).code(), ErrorCode::kInvalid);
  EXPECT_EQ(Read("", 0600).code(), ErrorCode::kInvalid);
  EXPECT_EQ(Read(std::string(4097, 'x'), 0600).code(), ErrorCode::kInvalid);
  EXPECT_EQ(ReadSecretFile(dir_ / "none").code(), ErrorCode::kNotFound);
  EXPECT_EQ(ReadSecretFile(dir_.path()).code(), ErrorCode::kInvalid);
  EXPECT_NE(ReadSecretFile(dir_ / "none").error().text().find("--secret-file"), std::string::npos);
}

}  // namespace
}  // namespace kvpagefs
