#include <gtest/gtest.h>

#include <random>
#include <set>

#include "meta/namespace.h"
#include "unit/meta/testing.h"

namespace kvpagefs {
namespace {

using testing::Page;

TEST(NamespaceList, InOrderOfCreationFromAnyCursor) {
  Namespace names(nullptr, {}, 0);
  for (uint64_t i = 1; i <= 10; ++i) {
    ASSERT_TRUE(names.Publish({kRootDir, "p" + std::to_string(i)}, Page(i), {}, false).ok());
  }
  ASSERT_TRUE(names.MakeDir({kRootDir, "dir"}, {}, 0).ok());
  const auto all = names.List(kRootDir, 0, 100, SIZE_MAX);
  ASSERT_TRUE(all.ok());
  ASSERT_EQ(all->size(), 11u);
  EXPECT_EQ(all->front().name, "p1");
  EXPECT_EQ(all->front().id, Page(1).id.value);
  EXPECT_TRUE(all->back().is_directory);
  for (size_t i = 0; i < all->size(); ++i) {
    const auto rest = names.List(kRootDir, (*all)[i].cursor, 100, SIZE_MAX);
    ASSERT_EQ(rest->size(), all->size() - i - 1);
    if (!rest->empty()) {
      EXPECT_EQ(rest->front().name, (*all)[i + 1].name);
    }
  }
}

TEST(NamespaceList, LimitsOfEntriesAndBytes) {
  Namespace names(nullptr, {}, 0);
  for (uint64_t i = 1; i <= 10; ++i) {
    ASSERT_TRUE(names.Publish({kRootDir, std::string(100, static_cast<char>('a' + i))}, Page(i), {}, false).ok());
  }
  EXPECT_EQ(names.List(kRootDir, 0, 3, SIZE_MAX)->size(), 3u);
  EXPECT_EQ(names.List(kRootDir, 0, 100, 250)->size(), 3u);
  EXPECT_EQ(names.List(kRootDir, 0, 100, 1)->size(), 1u);
  EXPECT_EQ(names.List(kRootDir, 0, 0, 1)->size(), 0u);
  EXPECT_EQ(names.List(DirId{999}, 0, 1, 1).code(), ErrorCode::kNotFound);
  EXPECT_EQ(names.List(DirId{Page(1).id.value}, 0, 1, 1).code(), ErrorCode::kNotDirectory);
}

// N3: steps of several listings between random changes. Every name that is there from a listing's start to its end is
// returned exactly once, no name twice, none that was never there.
TEST(NamespaceList, NamesPresentThroughoutAreReturnedExactlyOnce) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  Namespace names(nullptr, {}, 0);
  uint64_t next_id = 1;
  std::set<std::string> present;
  const auto change = [&] {
    const std::string name = "n" + std::to_string(random() % 300);
    const std::string other = "n" + std::to_string(random() % 300);
    switch (random() % 4) {
      case 0:
      case 1:  // new or replaced
        ASSERT_TRUE(names.Publish({kRootDir, name}, Page(next_id++), {}, false).ok());
        present.insert(name);
        break;
      case 2: EXPECT_EQ(names.Unlink({kRootDir, name}, 0).ok(), present.erase(name) == 1); break;
      case 3:
        if (names.Rename({kRootDir, name}, {kRootDir, other}, Namespace::RenameMode::kReplace, 0).ok()) {
          present.erase(name);
          present.insert(other);
        }
        break;
      default: break;
    }
  };
  for (int round = 0; round < 200; ++round) {
    std::set<std::string> throughout = present;
    std::set<std::string> returned;
    uint64_t cursor = 0;
    for (;;) {
      const auto step = names.List(kRootDir, cursor, 1 + random() % 40, 1 + random() % 500);
      ASSERT_TRUE(step.ok());
      if (step->empty()) break;
      for (const ListedEntry& entry : *step) {
        ASSERT_GT(entry.cursor, cursor);
        cursor = entry.cursor;
        ASSERT_TRUE(present.contains(entry.name));
        // A name that went and came back is a new one and may come again; one that stayed may not.
        ASSERT_TRUE(returned.insert(entry.name).second || !throughout.contains(entry.name)) << entry.name;
      }
      for (int i = static_cast<int>(random() % 8); i > 0; --i) {
        change();
        if (HasFatalFailure()) return;
        std::erase_if(throughout, [&present](const std::string& name) { return !present.contains(name); });
      }
    }
    for (const std::string& name : throughout) ASSERT_TRUE(returned.contains(name)) << name;
  }
}

// A journal that keeps what it is told, by directory and cursor.
class KeepingJournal final : public Journal {
 public:
  void PutPage(NameView name, const PageInfo& page, uint64_t cursor) override {
    entries[{name.parent.value, cursor}] = "page " + std::string(name.name) + " " + std::to_string(page.id.value);
  }
  void PutDir(NameView name, const DirInfo& dir, uint64_t cursor) override {
    entries[{name.parent.value, cursor}] = "dir " + std::string(name.name) + " " + std::to_string(dir.id.value);
  }
  void RemovePage(DirId parent, uint64_t cursor) override { entries.erase({parent.value, cursor}); }
  void RemoveDir(DirId parent, uint64_t cursor) override { entries.erase({parent.value, cursor}); }
  void PutXattrs(uint64_t id, const Xattrs& value) override {
    xattrs.erase(id);
    if (!value.empty()) xattrs[id] = value;
  }
  void ReserveIds(uint64_t next_dir_id) override { ids = next_dir_id; }
  void Commit() override {}

  std::map<std::pair<uint64_t, uint64_t>, std::string> entries;
  std::map<uint64_t, Xattrs> xattrs;
  uint64_t ids = 0;
};

TEST(NamespaceWalk, TellsWhatTheJournalWasToldInSteps) {
  KeepingJournal journal;
  Namespace names(&journal, {}, 0);
  ASSERT_TRUE(names.RestoreIds(0).ok());
  std::vector<DirId> dirs = {kRootDir};
  for (uint64_t i = 1; i < 300; ++i) {
    const DirId parent = dirs[i * 7 % dirs.size()];
    if (i % 5 == 0) dirs.push_back(names.MakeDir({parent, "d" + std::to_string(i)}, {}, 0)->id);
    ASSERT_TRUE(names.Publish({parent, "p" + std::to_string(i)}, Page(i), {{"user.i", std::to_string(i)}}, false).ok());
    if (i % 3 == 0) {
      ASSERT_TRUE(names.Unlink({parent, "p" + std::to_string(i)}, 0).ok());
    }
  }
  for (const size_t step : {1, 2, 7, 1000}) {
    KeepingJournal walked;
    Namespace::WalkPosition position;
    int calls = 1;
    while (!names.Walk(&position, step, &walked)) ASSERT_LT(++calls, 2000);
    EXPECT_EQ(walked.entries, journal.entries);
    EXPECT_EQ(walked.xattrs, journal.xattrs);
    EXPECT_EQ(walked.ids, journal.ids);
  }
}

}  // namespace
}  // namespace kvpagefs
