#include "meta/embedded_meta.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <set>
#include <thread>

#include "unit/meta/testing.h"
#include "unit/temp_dir.h"

namespace kvpagefs {
namespace {

using test_files::TempDir;
using testing::Page;

// Completions of the embedded service run before the call returns.
template <class T>
class Answered {
 public:
  Completion<T> Take() {
    return [this](Result<T> result) { result_ = std::move(result); };
  }
  const Result<T>& operator*() const { return *result_; }
  const Result<T>* operator->() const { return &*result_; }

 private:
  std::optional<Result<T>> result_;
};

class EmbeddedMetaTest : public ::testing::Test {
 protected:
  std::unique_ptr<EmbeddedMeta> Open(const std::string& dir, std::function<bool(const PageInfo&)> has_page = nullptr) {
    EmbeddedMeta::Options options;
    options.state_dir = dir;
    options.root_owner = {5, 6, 0755};
    options.node = 3;
    options.has_page = std::move(has_page);
    auto meta = EmbeddedMeta::Open(options, &clock_, Log::Discard());
    EXPECT_TRUE(meta.ok()) << meta.error().text();
    return std::move(*meta);
  }
  static bool Publish(EmbeddedMeta* meta, DirId dir, const std::string& name, const PageInfo& page) {
    Answered<Namespace::Outcome> outcome;
    meta->Publish({dir, name}, page, {}, false, outcome.Take());
    return (*outcome).ok();
  }
  static bool Synced(EmbeddedMeta* meta) {
    std::promise<bool> synced;
    meta->Sync([&](const Status& status) { synced.set_value(status.ok()); });
    return synced.get_future().get();
  }
  static bool Has(EmbeddedMeta* meta, const std::string& name) {
    Answered<EntryInfo> found;
    meta->Lookup({kRootDir, name}, found.Take());
    return (*found).ok();
  }

  ManualClock clock_;
};

TEST_F(EmbeddedMetaTest, OperationsReachTheNamespace) {
  const auto meta = Open("");
  Answered<DirInfo> dir;
  meta->MakeDir({kRootDir, "d"}, {1, 2, 0700}, dir.Take());
  ASSERT_TRUE((*dir).ok());
  const DirId id = (*dir)->id;
  ASSERT_TRUE(Publish(meta.get(), id, "a", Page(1)));
  Answered<PageInfo> page;
  meta->FindPage(Page(1).id, page.Take());
  EXPECT_TRUE(testing::Same(**page, Page(1)));
  meta->FindPage(Page(2).id, page.Take());
  EXPECT_EQ(page->code(), ErrorCode::kNotFound);
  Answered<NameRef> name;
  meta->NameOf(Page(1).id, name.Take());
  EXPECT_EQ((*name)->name, "a");
  Answered<void> nothing;
  meta->SetPin(Page(1).id, Pin::kHard, nothing.Take());
  EXPECT_TRUE(nothing->ok());
  meta->SetXattr(Page(1).id.value, "user.k", "v", Namespace::XattrMode::kEither, nothing.Take());
  EXPECT_TRUE(nothing->ok());
  Answered<std::string> value;
  meta->GetXattr(Page(1).id.value, "user.k", value.Take());
  EXPECT_EQ(**value, "v");
  Answered<Xattrs> xattrs;
  meta->GetXattrs(Page(1).id.value, xattrs.Take());
  EXPECT_EQ((*xattrs)->size(), 1u);
  meta->RemoveXattr(Page(1).id.value, "user.k", nothing.Take());
  EXPECT_TRUE(nothing->ok());
  Answered<Namespace::Outcome> outcome;
  meta->Rename({id, "a"}, {kRootDir, "b"}, Namespace::RenameMode::kReplace, outcome.Take());
  EXPECT_EQ((*outcome)->page.pin, Pin::kHard);
  AttributeChange change;
  change.set_mtime = true;
  change.mtime_ns = 77;
  meta->ChangePage(Page(1).id, change, page.Take());
  EXPECT_EQ((*page)->mtime_ns, 77);
  meta->ChangeDir(id, change, dir.Take());
  EXPECT_EQ((*dir)->mtime_ns, 77);
  meta->FindDir(id, dir.Take());
  EXPECT_EQ((*dir)->mtime_ns, 77);
  Answered<std::vector<ListedEntry>> listed;
  meta->List(kRootDir, 0, 10, 1000, listed.Take());
  EXPECT_EQ((*listed)->size(), 2u);
  meta->RemoveDir({kRootDir, "d"}, nothing.Take());
  EXPECT_TRUE(nothing->ok());
  EXPECT_EQ(meta->GetStats().pages, 1u);
  meta->Unlink({kRootDir, "b"}, page.Take());
  EXPECT_EQ((*page)->id, Page(1).id);
  EXPECT_EQ(meta->GetStats().pages, 0u);
  EXPECT_TRUE(Synced(meta.get()));
  EXPECT_EQ(meta->Problem(), "");
}

TEST_F(EmbeddedMetaTest, DropPagesTellsTheNamesThatWent) {
  const auto meta = Open("");
  for (uint64_t i = 1; i <= 3; ++i) ASSERT_TRUE(Publish(meta.get(), kRootDir, "p" + std::to_string(i), Page(i)));
  ASSERT_TRUE(Publish(meta.get(), kRootDir, "p3", Page(4)));  // replaces page 3
  const PageId pages[] = {Page(1).id, Page(3).id, Page(99).id};
  Answered<std::vector<NameRef>> names;
  meta->DropPages(pages, names.Take());
  ASSERT_EQ((*names)->size(), 1u);
  EXPECT_EQ((**names)[0].name, "p1");
  EXPECT_TRUE(Has(meta.get(), "p3"));
}

TEST_F(EmbeddedMetaTest, CompletionsMayCallBack) {
  const auto meta = Open("");
  bool inner = false;
  meta->MakeDir({kRootDir, "d"}, {}, [&](Result<DirInfo> dir) {
    ASSERT_TRUE(dir.ok());
    meta->FindDir(dir->id, [&](Result<DirInfo> found) { inner = found.ok(); });
  });
  EXPECT_TRUE(inner);
}

TEST_F(EmbeddedMetaTest, RestoresDirectoriesAndThePagesThatHaveBytes) {
  const TempDir temp;
  {
    const auto meta = Open(temp.path());
    Answered<DirInfo> dir;
    meta->MakeDir({kRootDir, "dir"}, {1, 2, 0700}, dir.Take());
    ASSERT_TRUE(Publish(meta.get(), kRootDir, "kept", Page(2)));
    ASSERT_TRUE(Publish(meta.get(), kRootDir, "gone", Page(1)));
    EXPECT_TRUE(Synced(meta.get()));
  }
  {
    const auto meta = Open(temp.path(), [](const PageInfo& page) { return page.id == Page(2).id; });
    EXPECT_TRUE(Has(meta.get(), "dir"));
    EXPECT_TRUE(Has(meta.get(), "kept"));
    EXPECT_FALSE(Has(meta.get(), "gone"));
    EXPECT_EQ(meta->GetStats().pages, 1u);
  }
  const auto meta = Open(temp.path());  // no tier at all
  EXPECT_TRUE(Has(meta.get(), "dir"));
  EXPECT_FALSE(Has(meta.get(), "kept"));
}

TEST_F(EmbeddedMetaTest, ASecondOwnerIsRefused) {
  const TempDir temp;
  const auto meta = Open(temp.path());
  EmbeddedMeta::Options options;
  options.state_dir = temp.path();
  const auto second = EmbeddedMeta::Open(options, &clock_, Log::Discard());
  EXPECT_EQ(second.code(), ErrorCode::kUnavailable);
  EXPECT_NE(second.error().text().find("in use by process"), std::string::npos);
}

TEST_F(EmbeddedMetaTest, PageIdsAreNeverUsedTwiceAcrossRestarts) {  // N4
  const TempDir temp;
  PageId last;
  for (int round = 0; round < 3; ++round) {
    const auto meta = Open(temp.path());
    // More than a block, with a clock that stands still.
    for (int i = 0; i < 1'200'000; ++i) {
      const PageId id = meta->NewPageId();
      ASSERT_GT(id, last);
      ASSERT_EQ(id.node(), 3);
      last = id;
    }
  }
}

TEST_F(EmbeddedMetaTest, WithoutAStateDirectoryTheClockKeepsIdsApart) {
  SystemClock system;
  clock_.Advance(system.WallNs());
  PageId last;
  for (int round = 0; round < 3; ++round) {
    const auto meta = Open("");
    for (int i = 0; i < 1000; ++i) {
      const PageId id = meta->NewPageId();
      ASSERT_GT(id, last);
      last = id;
    }
    clock_.Advance(1'000'000'000);
  }
}

TEST_F(EmbeddedMetaTest, ManyThreads) {
  const TempDir temp;
  constexpr int kThreads = 4;
  constexpr int kRounds = 400;
  std::atomic<int> published = 0;
  std::vector<std::vector<PageId>> ids(kThreads);
  {
    const auto meta = Open(temp.path());
    std::vector<std::thread> threads;
    for (int thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&, thread] {
        for (int i = 0; i < kRounds; ++i) {
          PageInfo page = Page(1);
          page.id = meta->NewPageId();
          page.checksum = page.id.value;
          ids[thread].push_back(page.id);
          const std::string name = std::to_string(thread) + "-" + std::to_string(i);
          if (Publish(meta.get(), kRootDir, name + ".tmp", page)) ++published;
          meta->Rename({kRootDir, name + ".tmp"}, {kRootDir, name}, Namespace::RenameMode::kReplace,
                       [](Result<Namespace::Outcome> outcome) { EXPECT_TRUE(outcome.ok()); });
          // One name that all fight for.
          page.id = meta->NewPageId();
          page.checksum = page.id.value;
          ids[thread].push_back(page.id);
          Publish(meta.get(), kRootDir, "shared", page);
          meta->List(kRootDir, 0, 10, 1000, [](Result<std::vector<ListedEntry>> listed) { EXPECT_TRUE(listed.ok()); });
          if (i % 100 == 0) {
            EXPECT_TRUE(Synced(meta.get()));
          }
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(published, kThreads * kRounds);
    EXPECT_EQ(meta->GetStats().pages, kThreads * kRounds + 1u);
  }
  std::set<PageId> unique;
  for (const auto& list : ids) unique.insert(list.begin(), list.end());
  EXPECT_EQ(unique.size(), 2u * kThreads * kRounds);
  const auto meta = Open(temp.path(), [](const PageInfo&) { return true; });
  EXPECT_EQ(meta->GetStats().pages, kThreads * kRounds + 1u);
}

}  // namespace
}  // namespace kvpagefs
