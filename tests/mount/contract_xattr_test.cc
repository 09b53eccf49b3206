// Extended attributes: user.* as on other file systems, and the virtual user.kvpagefs.* ones.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>

#include "tests/mount/contract_side.h"

namespace kvpagefs::mount_test {
namespace {

using XattrContract = ContractTest;

int64_t Set(const std::string& path, const char* name, const std::string& value, int flags = 0) {
  return Sys(setxattr(path.c_str(), name, value.data(), value.size(), flags));
}

std::string Get(const std::string& path, const char* name) {
  std::string value(70000, '\0');
  const int64_t got = Sys(getxattr(path.c_str(), name, value.data(), value.size()));
  if (got < 0) return "error:" + Value(got);
  value.resize(static_cast<size_t>(got));
  return value;
}

// Sorted names; `all` with the virtual ones.
std::vector<std::string> Names(const std::string& path, bool all) {
  std::string text(70000, '\0');
  const int64_t got = Sys(listxattr(path.c_str(), text.data(), text.size()));
  if (got < 0) return {"error:" + Value(got)};
  std::vector<std::string> names;
  for (size_t at = 0; at < static_cast<size_t>(got); at += names.back().size() + 1) {
    names.emplace_back(text.c_str() + at);
  }
  std::sort(names.begin(), names.end());
  if (!all) std::erase_if(names, [](const std::string& name) { return name.starts_with("user.kvpagefs."); });
  return names;
}

TEST_F(XattrContract, SetGetListRemove) {
  Compare([](Side& side) {
    WriteFile(side.Path("a"), "abc");
    mkdir(side.Path("d").c_str(), 0755);
    for (const char* name : {"a", "d"}) {
      const std::string path = side.Path(name);
      const std::string on = std::string(" on ") + name;
      side.Note("missing" + on, Get(path, "user.one"));
      side.Ok("set" + on, Set(path, "user.one", "value"));
      side.Note("get" + on, Get(path, "user.one"));
      side.Ok("empty value" + on, Set(path, "user.empty", ""));
      side.Note("get empty" + on, Get(path, "user.empty"));
      side.Ok("binary value" + on, Set(path, "user.binary", std::string("\0\1\377", 3)));
      side.Note("get binary" + on, Digest(Get(path, "user.binary")));
      side.Note("list" + on, Join(Names(path, false)));
      side.Ok("change" + on, Set(path, "user.one", "longer value"));
      side.Note("changed" + on, Get(path, "user.one"));
      side.Ok("CREATE of existing" + on, Set(path, "user.one", "x", XATTR_CREATE));
      side.Ok("REPLACE of existing" + on, Set(path, "user.one", "y", XATTR_REPLACE));
      side.Ok("CREATE" + on, Set(path, "user.two", "x", XATTR_CREATE));
      side.Ok("REPLACE of missing" + on, Set(path, "user.three", "y", XATTR_REPLACE));
      side.Ok("remove" + on, Sys(removexattr(path.c_str(), "user.one")));
      side.Ok("remove again" + on, Sys(removexattr(path.c_str(), "user.one")));
      side.Note("left" + on, Join(Names(path, false)));
    }
    side.Ok("of a missing file", Set(side.Path("none"), "user.x", "y"));
    side.Note("get of a missing file", Get(side.Path("none"), "user.x"));
    side.Ok("name without a class", Set(side.Path("a"), "plain", "y"));
    side.Ok("unknown class", Set(side.Path("a"), "foo.bar", "y"));
  });
}

TEST_F(XattrContract, Sizes) {
  Compare([](Side& side) {
    const std::string path = side.Path("a");
    WriteFile(path, "abc");
    side.Ok("set", Set(path, "user.k", std::string(100, 'v')));
    char small[10];
    side.Number("size query", Sys(getxattr(path.c_str(), "user.k", nullptr, 0)));
    side.Number("small buffer", Sys(getxattr(path.c_str(), "user.k", small, sizeof(small))));
    side.Number("small list buffer", Sys(listxattr(path.c_str(), small, 3)));
    side.Yes("list size query", listxattr(path.c_str(), nullptr, 0) >= 7);
    const std::string long_name = "user." + std::string(250, 'n');
    side.Ok("name of 255 bytes", Set(path, long_name.c_str(), "v"));
    side.Note("get it", Get(path, long_name.c_str()));
    side.Ok("name of 256 bytes", Set(path, (long_name + "n").c_str(), "v"));
    side.Ok("value above 64 KiB", Set(path, "user.big", std::string(65537, 'v')));
    WriteFile(side.Path("b"), "abc");
    side.Ok("60000 bytes", Set(side.Path("b"), "user.big", std::string(60000, 'v')));
    side.Yes("60000 bytes are back", Get(side.Path("b"), "user.big") == std::string(60000, 'v'));
    side.Ok("60000 bytes more", Set(side.Path("b"), "user.big2", std::string(60000, 'w')));
    side.Note("the second one", Get(side.Path("b"), "user.big2").substr(0, 16));
  });
}

TEST_F(XattrContract, SurviveRenameAndNewVersions) {
  Compare([](Side& side) {
    WriteFile(side.Path("a"), "abc");
    side.Ok("set", Set(side.Path("a"), "user.k", "v"));
    side.Ok("rename", Sys(rename(side.Path("a").c_str(), side.Path("b").c_str())));
    side.Note("after rename", Get(side.Path("b"), "user.k"));
    side.Ok("rewrite", WriteFile(side.Path("b"), "other"));
    side.Note("after rewrite", Get(side.Path("b"), "user.k"));
    side.Ok("replace", WriteFile(side.Path("c"), "new"));
    side.Ok("rename over", Sys(rename(side.Path("c").c_str(), side.Path("b").c_str())));
    side.Note("the replaced one's are gone", Get(side.Path("b"), "user.k"));
  });
}

TEST_F(XattrContract, OnATemporaryFile) {
  Compare([](Side& side) {
    const std::string temporary = side.Path("a.tmp.1");
    Fd fd = Open(temporary, O_WRONLY | O_CREAT | O_EXCL);
    side.Ok("by descriptor", Sys(fsetxattr(fd.get(), "user.by_fd", "1", 1, 0)));
    side.Ok("by name", Set(temporary, "user.by_name", "2"));
    side.Ok("write", WriteAll(fd.get(), side.Bytes(100000)));
    side.Ok("after the write", Sys(fsetxattr(fd.get(), "user.late", "3", 1, 0)));
    side.Note("list while written", Join(Names(temporary, false)));
    side.Ok("close", fd.Close());
    side.Ok("after close", Set(temporary, "user.closed", "4"));
    side.Ok("rename", Sys(rename(temporary.c_str(), side.Path("a").c_str())));
    side.Note("list", Join(Names(side.Path("a"), false)));
    for (const char* name : {"user.by_fd", "user.by_name", "user.late", "user.closed"}) {
      side.Note(name, Get(side.Path("a"), name));
    }
  });
}

class VirtualXattrs : public NodeTest {
 protected:
  void SetUp() override { StartRealNode(); }
};

TEST_F(VirtualXattrs, AreListedAndReadable) {
  const std::string path = Path("page");
  ASSERT_EQ(WriteFile(path, Pattern(1, 100000)), 0);
  const std::vector<std::string> names = Names(path, true);
  for (const char* name : {"tier", "replicas", "checksum", "page_id", "pin", "reads", "last_reader"}) {
    const std::string full = std::string("user.kvpagefs.") + name;
    EXPECT_TRUE(std::binary_search(names.begin(), names.end(), full)) << full << " not listed";
    EXPECT_FALSE(Get(path, full.c_str()).starts_with("error:")) << full << " " << Get(path, full.c_str());
  }
  EXPECT_EQ(Get(path, "user.kvpagefs.tier"), "memory");
  EXPECT_EQ(Get(path, "user.kvpagefs.pin"), "none");
  EXPECT_NE(Get(path, "user.kvpagefs.replicas").find("memory"), std::string::npos);
  EXPECT_EQ(Get(path, "user.kvpagefs.nothing"), "error:ENODATA");
}

TEST_F(VirtualXattrs, ChecksumAndPageIdTellContents) {
  ASSERT_EQ(WriteFile(Path("a"), Pattern(1, 100000)), 0);
  ASSERT_EQ(WriteFile(Path("b"), Pattern(1, 100000)), 0);
  ASSERT_EQ(WriteFile(Path("c"), Pattern(2, 100000)), 0);
  EXPECT_EQ(Get(Path("a"), "user.kvpagefs.checksum"), Get(Path("b"), "user.kvpagefs.checksum"));
  EXPECT_NE(Get(Path("a"), "user.kvpagefs.checksum"), Get(Path("c"), "user.kvpagefs.checksum"));
  EXPECT_NE(Get(Path("a"), "user.kvpagefs.page_id"), Get(Path("b"), "user.kvpagefs.page_id"));
}

TEST_F(VirtualXattrs, ReadsAreCounted) {
  ASSERT_EQ(WriteFile(Path("a"), Pattern(1, 100000)), 0);
  const std::string before = Get(Path("a"), "user.kvpagefs.reads");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(ReadFile(Path("a")).size(), 100000u);
  EXPECT_EQ(std::stoull(Get(Path("a"), "user.kvpagefs.reads")), std::stoull(before) + 3);
  EXPECT_NE(Get(Path("a"), "user.kvpagefs.last_reader").find(std::to_string(getpid())), std::string::npos)
      << Get(Path("a"), "user.kvpagefs.last_reader");
}

TEST_F(VirtualXattrs, PinIsSettable) {
  ASSERT_EQ(WriteFile(Path("a"), Pattern(1, 100000)), 0);
  for (const char* pin : {"soft", "hard", "none"}) {
    EXPECT_EQ(Value(Set(Path("a"), "user.kvpagefs.pin", pin)), "0");
    EXPECT_EQ(Get(Path("a"), "user.kvpagefs.pin"), pin);
  }
  for (const char* bad : {"", "Hard", "hard ", "x"}) {
    EXPECT_EQ(Value(Set(Path("a"), "user.kvpagefs.pin", bad)), "EINVAL") << "'" << bad << "'";
  }
  EXPECT_EQ(Value(Set(Path("a"), "user.kvpagefs.pin", "hard")), "0");
  ASSERT_EQ(rename(Path("a").c_str(), Path("b").c_str()), 0);
  EXPECT_EQ(Get(Path("b"), "user.kvpagefs.pin"), "hard");
}

TEST_F(VirtualXattrs, OthersAreReadOnly) {
  ASSERT_EQ(WriteFile(Path("a"), Pattern(1, 100000)), 0);
  for (const char* name : {"tier", "replicas", "checksum", "page_id", "reads", "last_reader", "unknown"}) {
    const std::string full = std::string("user.kvpagefs.") + name;
    EXPECT_EQ(Value(Set(Path("a"), full.c_str(), "x")), "EPERM") << full;
    EXPECT_EQ(Value(Sys(removexattr(Path("a").c_str(), full.c_str()))), "EPERM") << full;
  }
}

}  // namespace
}  // namespace kvpagefs::mount_test
