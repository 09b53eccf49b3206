// The virtual directory /.kvpagefs/.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/mount/harness/mount_test.h"

namespace kvpagefs::mount_test {
namespace {

constexpr const char* kFiles[] = {"config", "events", "metrics", "nodes", "status"};

class VirtualDirectory : public NodeTest {
 protected:
  void SetUp() override { StartRealNode(); }
};

TEST_F(VirtualDirectory, IsThereButNotListed) {
  EXPECT_FALSE(IsListed(node_->dir(), ".kvpagefs"));
  EXPECT_TRUE(S_ISDIR(StatOf(Path(".kvpagefs")).st_mode));
  EXPECT_EQ(Join(List(Path(".kvpagefs"))), "config events metrics nodes status");
}

TEST_F(VirtualDirectory, FilesAreReadableText) {
  for (const char* name : kFiles) {
    const std::string path = Path(std::string(".kvpagefs/") + name);
    EXPECT_TRUE(S_ISREG(StatOf(path).st_mode)) << name;
    EXPECT_EQ(StatOf(path).st_mode & 0222, 0u) << name;
    int64_t error = 0;
    const std::string text = ReadFile(path, &error);
    EXPECT_EQ(error, 0) << name;
    EXPECT_TRUE(!text.empty() || std::string(name) == "events") << name;
    EXPECT_EQ(text.find('\0'), std::string::npos) << name;
  }
  EXPECT_EQ(Value(SizeOf(Path(".kvpagefs/none"))), "ENOENT");
}

TEST_F(VirtualDirectory, ReadsInPiecesAreOneText) {
  ASSERT_EQ(WriteFile(Path("a"), Pattern(1, 100000)), 0);
  const Fd fd = Open(Path(".kvpagefs/config"), O_RDONLY);
  std::string text;
  char piece[7];
  ssize_t got = 0;
  while ((got = read(fd.get(), piece, sizeof(piece))) > 0) text.append(piece, static_cast<size_t>(got));
  EXPECT_EQ(got, 0);
  EXPECT_EQ(text, Contents(Path(".kvpagefs/config")));
}

TEST_F(VirtualDirectory, StatusFollowsWhatHappens) {
  const std::string before = Contents(Path(".kvpagefs/status"));
  ASSERT_EQ(WriteFile(Path("a"), Pattern(1, 1000000)), 0);
  EXPECT_NE(Contents(Path(".kvpagefs/status")), before);
}

TEST_F(VirtualDirectory, NothingCanBeChangedInIt) {
  const std::string dir = Path(".kvpagefs");
  EXPECT_EQ(Value(Open(dir + "/new", O_WRONLY | O_CREAT).result()), "EPERM");
  EXPECT_EQ(Value(Open(dir + "/new", O_WRONLY | O_CREAT | O_EXCL).result()), "EPERM");
  EXPECT_EQ(Value(Sys(mkdir((dir + "/new").c_str(), 0755))), "EPERM");
  EXPECT_EQ(Value(Sys(unlink((dir + "/status").c_str()))), "EPERM");
  EXPECT_EQ(Value(Sys(rename((dir + "/status").c_str(), Path("x").c_str()))), "EPERM");
  ASSERT_EQ(WriteFile(Path("a"), "a"), 0);
  EXPECT_EQ(Value(Sys(rename(Path("a").c_str(), (dir + "/status").c_str()))), "EPERM");
  EXPECT_EQ(Value(Sys(rename(Path("a").c_str(), dir.c_str()))), "EISDIR") << "by the kernel's own check";
  EXPECT_EQ(Value(Sys(rename(dir.c_str(), Path("x").c_str()))), "EPERM");
  EXPECT_EQ(Value(Sys(rmdir(dir.c_str()))), "EPERM");
  EXPECT_EQ(Value(Sys(mkdir(dir.c_str(), 0755))), "EEXIST");
  EXPECT_EQ(Value(Open(dir, O_WRONLY | O_CREAT).result()), "EISDIR");
  for (const char* name : kFiles) {
    const int64_t opened = Open(dir + "/" + name, O_WRONLY).result();
    EXPECT_TRUE(opened == -EPERM || opened == -EACCES) << name << " " << Value(opened);
    EXPECT_EQ(Value(Sys(truncate((dir + "/" + name).c_str(), 0))), "EPERM") << name;
    EXPECT_EQ(Value(Sys(chmod((dir + "/" + name).c_str(), 0666))), "EPERM") << name;
  }
  EXPECT_EQ(Join(List(dir)), "config events metrics nodes status");
}

TEST_F(VirtualDirectory, NameIsFreeBelowTheRoot) {
  ASSERT_EQ(mkdir(Path("d").c_str(), 0755), 0);
  EXPECT_EQ(WriteFile(Path("d/.kvpagefs"), "ordinary"), 0);
  EXPECT_EQ(Contents(Path("d/.kvpagefs")), "ordinary");
}

}  // namespace
}  // namespace kvpagefs::mount_test
