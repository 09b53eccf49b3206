// fs/ops_dir.cc: cursors are stable, every name comes once, own drafts are listed for their process only.
#include <dirent.h>

#include <set>

#include "fake_kernel_fixture.h"

namespace kvpagefs {
namespace {

class ReaddirTest : public FakeKernelTest {
 protected:
  static constexpr uint32_t kReplyBytes = 256;

  // Goes on behind `offset` to the end, in small replies.
  std::vector<ListedName> Rest(Client& client, const OpenReply& dir, uint64_t offset = 0) {
    std::vector<ListedName> all;
    for (;;) {
      const std::vector<ListedName> some = client.Readdir(dir, offset, kReplyBytes);
      if (some.empty()) return all;
      all.insert(all.end(), some.begin(), some.end());
      offset = some.back().offset;
    }
  }
  static std::vector<std::string> Names(const std::vector<ListedName>& listed) {
    std::vector<std::string> names;
    for (const ListedName& one : listed) names.push_back(one.name);
    return names;
  }
  void PutMany(int from, int to) {
    for (int i = from; i < to; ++i) ASSERT_EQ(me_.Put(fmt::format("p{:03}", i), "x").error, 0);
  }
};

TEST_F(ReaddirTest, EveryNameOnceWithItsType) {
  PutMany(0, 40);
  const uint64_t dir_id = me_.Mkdir("d").node();
  const OpenReply dir = me_.Opendir();
  const std::vector<ListedName> all = Rest(me_, dir);
  EXPECT_EQ(all.size(), 43u);
  std::set<std::string> names;
  for (const ListedName& one : all) {
    EXPECT_TRUE(names.insert(one.name).second) << one.name;
    const bool directory = one.name == "." || one.name == ".." || one.name == "d";
    EXPECT_EQ(one.type, uint32_t{directory ? DT_DIR : DT_REG}) << one.name;
    if (one.name == "d") {
      EXPECT_EQ(one.ino, dir_id);
    }
  }
  EXPECT_EQ(names.count(".kvpagefs"), 0u);
  EXPECT_EQ(me_.Releasedir(dir), 0);
}

TEST_F(ReaddirTest, InsertionsAndDeletionsShiftNothing) {
  PutMany(0, 30);
  const OpenReply dir = me_.Opendir();
  const std::vector<ListedName> first = me_.Readdir(dir, 0, kReplyBytes);
  ASSERT_GT(first.size(), 3u);
  const std::set<std::string> seen = [&] {
    std::set<std::string> names;
    for (const ListedName& one : first) names.insert(one.name);
    return names;
  }();
  // Some that were read, some that were not; and new ones.
  ASSERT_EQ(me_.Unlink(first[2].name), 0);
  ASSERT_EQ(me_.Unlink("p029"), 0);
  PutMany(30, 35);
  const std::vector<std::string> rest = Names(Rest(me_, dir, first.back().offset));
  for (int i = 0; i < 29; ++i) {
    const std::string name = fmt::format("p{:03}", i);
    EXPECT_EQ(std::count(rest.begin(), rest.end(), name) + static_cast<long>(seen.count(name)), 1) << name;
  }
  EXPECT_EQ(std::count(rest.begin(), rest.end(), "p029"), 0);
  me_.Releasedir(dir);
}

TEST_F(ReaddirTest, AnyOffsetCanBeGoneBackTo) {
  PutMany(0, 20);
  const OpenReply dir = me_.Opendir();
  const std::vector<ListedName> all = Rest(me_, dir);
  for (size_t i = 0; i + 1 < all.size(); ++i) {
    const std::vector<ListedName> behind = me_.Readdir(dir, all[i].offset, kReplyBytes);
    ASSERT_FALSE(behind.empty());
    EXPECT_EQ(behind.front().name, all[i + 1].name);
  }
  EXPECT_TRUE(me_.Readdir(dir, all.back().offset, kReplyBytes).empty());
  EXPECT_TRUE(me_.Readdir(dir, UINT64_MAX >> 1, kReplyBytes).empty());
  me_.Releasedir(dir);
}

TEST_F(ReaddirTest, OwnDraftsAreListedForTheirProcessOnly) {
  PutMany(0, 3);
  const OpenReply file = me_.Create("mine");
  const OpenReply mine = me_.Opendir();
  const OpenReply theirs = other_.Opendir();
  EXPECT_THAT(Names(Rest(me_, mine)), testing::UnorderedElementsAre(".", "..", "p000", "p001", "p002", "mine"));
  EXPECT_THAT(Names(Rest(other_, theirs)), testing::UnorderedElementsAre(".", "..", "p000", "p001", "p002"));
  ASSERT_EQ(me_.Flush(file), 0);
  EXPECT_THAT(Names(Rest(other_, theirs)), testing::Contains("mine"));
  EXPECT_EQ(Names(Rest(me_, mine)).size(), 6u) << "listed once";
  me_.Release(file);
  me_.Releasedir(mine);
  other_.Releasedir(theirs);
}

TEST_F(ReaddirTest, PlusEntriesCarryAttributesAndInodes) {
  const OpenReply page = me_.Put("a", "four");
  const uint64_t dir_id = me_.Mkdir("d").node();
  const OpenReply writing = me_.Create("w");
  ASSERT_EQ(me_.Write(writing, "one"), 0);
  ASSERT_EQ(me_.Flush(writing), 0);
  const OpenReply dir = other_.Opendir();
  std::vector<ListedName> all = other_.ReaddirPlus(dir, 0, 4096);
  ASSERT_EQ(all.size(), 5u);
  for (const ListedName& one : all) {
    if (one.name == "a") {
      EXPECT_EQ(one.entry.nodeid, page.node);
      EXPECT_EQ(one.entry.attr.size, 4u);
      EXPECT_EQ(one.entry.attr_valid, 1u);
    } else if (one.name == "d") {
      EXPECT_EQ(one.entry.nodeid, dir_id);
    } else {
      EXPECT_EQ(one.entry.nodeid, 0u) << one.name << ": the kernel must make no inode of it";
    }
  }
  me_.Release(writing);
  other_.Releasedir(dir);
}

TEST_F(ReaddirTest, DirectoryRemovedWhileOpen) {
  const uint64_t id = me_.Mkdir("d").node();
  const OpenReply dir = me_.Opendir(id);
  ASSERT_EQ(me_.Rmdir("d"), 0);
  for (const ListedName& one : me_.Readdir(dir, 0, 4096)) EXPECT_TRUE(one.name == "." || one.name == "..");
  EXPECT_EQ(me_.Releasedir(dir), 0);
}

TEST_F(ReaddirTest, VirtualDirectory) {
  const OpenReply dir = me_.Opendir(me_.Lookup(".kvpagefs").node());
  EXPECT_THAT(Names(Rest(me_, dir)), testing::ElementsAre(".", "..", "status", "nodes", "metrics", "config", "events"));
  me_.Releasedir(dir);
}

}  // namespace
}  // namespace kvpagefs
