// kvpagectl fsck on directories that real nodes left.
#include <unistd.h>

#include "tests/mount/ssd_fixture.h"

namespace kvpagefs::mount_test {
namespace {

class SsdFsck : public SsdTest {
 protected:
  ProgramResult Fsck(const std::string& dir, std::vector<std::string> more = {}) {
    const std::string& node = test_options_.binary;
    std::vector<std::string> argv = {node.substr(0, node.rfind('/')) + "/kvpagectl", "fsck", dir};
    argv.insert(argv.end(), more.begin(), more.end());
    return RunProgram(argv, {});
  }
};

TEST_F(SsdFsck, CleanAndDamaged) {
  StartSsdNode();
  KVP_RETURN_IF_NOT_RUNNING();
  WritePages(0, 40);
  ASSERT_TRUE(WaitUntilSpilled(40));
  const ProgramResult in_use = Fsck(ssd_dir_);
  EXPECT_EQ(in_use.exit_status, 3);
  EXPECT_NE(in_use.err.find("in use"), std::string::npos) << in_use.err;
  ASSERT_EQ(Sys(unlink(Path(Name(0)).c_str())), 0);
  StopNode();

  const ProgramResult clean = Fsck(ssd_dir_);
  EXPECT_EQ(clean.exit_status, 0) << clean.out << clean.err;
  EXPECT_NE(clean.out.find("39 pages"), std::string::npos) << clean.out;
  EXPECT_NE(clean.out.find("1 removed"), std::string::npos) << clean.out;
  const ProgramResult json = Fsck(ssd_dir_, {"--json"});
  EXPECT_EQ(json.exit_status, 0);
  EXPECT_NE(json.out.find("\"pages\": 39"), std::string::npos) << json.out;

  // A bit in the middle of some page.
  const std::string file = RegionFiles().front();
  Fd fd = Open(file, O_RDWR);
  char byte = 0;
  ASSERT_EQ(pread(fd.get(), &byte, 1, 5'000'000), 1);
  byte = static_cast<char>(byte ^ 1);
  ASSERT_EQ(pwrite(fd.get(), &byte, 1, 5'000'000), 1);
  fd.Close();
  const ProgramResult damaged = Fsck(ssd_dir_);
  EXPECT_EQ(damaged.exit_status, 1) << damaged.out << damaged.err;
  EXPECT_NE(damaged.out.find(file.substr(file.rfind('/') + 1)), std::string::npos) << damaged.out;
  EXPECT_NE(damaged.out.find("1 damaged place"), std::string::npos) << damaged.out;
  StartSsdNode();
  EXPECT_EQ(CountRight(1, 40), 38u) << "as fsck said";
}

TEST_F(SsdFsck, WrongDirectories) {
  EXPECT_EQ(Fsck("/nonexistent").exit_status, 3);
  const ProgramResult foreign = Fsck(scratch_.path());
  EXPECT_EQ(foreign.exit_status, 3);
  EXPECT_NE(foreign.err.find("identity"), std::string::npos) << foreign.err;
  EXPECT_EQ(List(scratch_.path()).size(), 0u) << "it must not make anything";
  EXPECT_EQ(Fsck("").exit_status, 2);
}

}  // namespace
}  // namespace kvpagefs::mount_test
