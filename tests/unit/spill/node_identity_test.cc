#include "spill/node_identity.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "spill/segment_source.h"
#include "unit/spill/disk_places.h"

namespace kvpagefs {
namespace {

using disk_test::ReadFile;
using disk_test::TempDir;
using disk_test::WriteFile;
using ::testing::HasSubstr;

constexpr const char* kGolden =
    "kvpagefs SSD directory\n"
    "version 1\n"
    "identity 9c1f0d37a2b45e68\n"
    "created 2026-12-01T02:06:39Z\n"
    "checksum 2f2ceebbeb775a9c\n";

class NodeIdentityTest : public ::testing::Test {
 protected:
  Result<NodeIdentity> Open() {
    const OwnedFd fd(open(dir_.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    return ReadOrMakeIdentity({.fd = fd.get(), .path = dir_.path()});
  }
  TempDir dir_;
};

TEST_F(NodeIdentityTest, GoldenBytes) {
  EXPECT_EQ(FormatIdentity({.value = 0x9c1f0d37a2b45e68, .created_s = 1796090799}), kGolden);
  const Result<NodeIdentity> parsed = ParseIdentity(kGolden);
  ASSERT_TRUE(parsed.ok()) << parsed.error().Describe();
  EXPECT_EQ(parsed->value, 0x9c1f0d37a2b45e68);
  EXPECT_EQ(parsed->created_s, 1796090799);
}

TEST_F(NodeIdentityTest, EveryDamagedByteIsSeen) {
  const std::string golden = kGolden;
  for (size_t at = 0; at < golden.size(); ++at) {
    for (const int flip : {1, 0x20, 0x80}) {
      std::string damaged = golden;
      damaged[at] = static_cast<char>(damaged[at] ^ flip);
      EXPECT_FALSE(ParseIdentity(damaged).ok()) << at;
    }
    EXPECT_FALSE(ParseIdentity(golden.substr(0, at)).ok()) << at;
  }
  EXPECT_FALSE(ParseIdentity(golden + "x").ok());
}

TEST_F(NodeIdentityTest, MadeOnceAndFoundAgain) {
  const Result<NodeIdentity> first = Open();
  ASSERT_TRUE(first.ok()) << first.error().Describe();
  EXPECT_NE(first->value, 0U);
  EXPECT_GT(first->created_s, 1'600'000'000);
  const Result<NodeIdentity> second = Open();
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(second->value, first->value);
  const TempDir other;
  const OwnedFd fd(open(other.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  EXPECT_NE(ReadOrMakeIdentity({.fd = fd.get(), .path = other.path()})->value, first->value);
}

TEST_F(NodeIdentityTest, ADamagedOneStaysAndTheTextHelps) {
  ASSERT_TRUE(Open().ok());
  std::string text = ReadFile(dir_ / "identity");
  text[50] = text[50] == '0' ? '1' : '0';
  for (const std::string& damaged : {text, std::string(), std::string("kvpagefs"), std::string(100, '\0')}) {
    WriteFile(dir_ / "identity", damaged);
    const Result<NodeIdentity> refused = Open();
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.code(), ErrorCode::kInvalid);
    EXPECT_THAT(refused.error().text(), HasSubstr(dir_ / "identity"));
    EXPECT_THAT(refused.error().text(), HasSubstr("remove it together with"));
    EXPECT_EQ(ReadFile(dir_ / "identity"), damaged);
  }
}

TEST_F(NodeIdentityTest, NewerAndForeignOnesAreRefused) {
  WriteFile(dir_ / "identity", "kvpagefs SSD directory\nversion 2\nwhatever\n");
  EXPECT_THAT(Open().error().text(), HasSubstr("version 2"));
  WriteFile(dir_ / "identity", std::string(100'000, 'x'));
  EXPECT_EQ(Open().code(), ErrorCode::kTooLarge);
  unlink((dir_ / "identity").c_str());
  WriteFile(dir_ / "elsewhere", kGolden);
  ASSERT_EQ(symlink("elsewhere", (dir_ / "identity").c_str()), 0);
  const Result<NodeIdentity> refused = Open();
  EXPECT_EQ(refused.code(), ErrorCode::kInvalid);
  EXPECT_THAT(refused.error().text(), HasSubstr("symbolic link"));
}

TEST_F(NodeIdentityTest, AnUnfinishedOneIsMadeAgain) {
  WriteFile(dir_ / "identity.new", "kvpagefs SSD dir");
  ASSERT_TRUE(Open().ok());
  EXPECT_NE(access((dir_ / "identity.new").c_str(), F_OK), 0);
  EXPECT_TRUE(ParseIdentity(ReadFile(dir_ / "identity")).ok());
}

}  // namespace
}  // namespace kvpagefs
