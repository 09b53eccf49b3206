#include "meta/lmdb_store.h"

#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <random>

#include "base/mutex.h"
#include "meta/lmdb_file.h"
#include "unit/meta/testing.h"
#include "unit/temp_dir.h"

namespace kvpagefs {
namespace {

using std::chrono::milliseconds;
using test_files::TempDir;
using testing::Page;
using testing::Tree;

constexpr milliseconds kLimit{20'000};

bool KeepAll(const PageInfo&) { return true; }

// A namespace with its store, as the service has them.
class Service {
 public:
  explicit Service(LmdbStore::Options options, bool start = true) {
    auto store = LmdbStore::Open(options, Log::Discard());
    EXPECT_TRUE(store.ok()) << store.error().text();
    store_ = std::move(*store);
    names_ = std::make_unique<Namespace>(store_.get(), Ownership{0, 0, 0755}, 1);
    auto counts = store_->Load(names_.get(), KeepAll);
    EXPECT_TRUE(counts.ok()) << counts.error().text();
    counts_ = *counts;
    if (start) Start();
  }
  ~Service() { store_->Stop(); }

  void Start() {
    store_->Start([this](Namespace::WalkPosition* position, Journal* sink) {
      MutexLock lock(mutex_);
      return names_->Walk(position, 64, sink);
    });
  }
  template <class Call>
  auto With(const Call& call) {
    MutexLock lock(mutex_);
    return call(*names_);
  }
  Status Flush() { return store_->Flush(kLimit); }

  LmdbStore& store() { return *store_; }
  Namespace& names() { return *names_; }
  const LmdbStore::LoadCounts& counts() const { return counts_; }

 private:
  std::unique_ptr<LmdbStore> store_;
  Mutex mutex_;
  std::unique_ptr<Namespace> names_;
  LmdbStore::LoadCounts counts_;
};

LmdbStore::Options OptionsFor(const std::string& dir) {
  LmdbStore::Options options;
  options.dir = dir;
  options.batch_interval = milliseconds(1);
  options.retry_interval = milliseconds(10);
  options.full_wait = milliseconds(10);
  return options;
}

// Directories, pages, renames, attributes, deletions: a bit of everything.
void RandomStep(std::mt19937* random, Namespace* names, uint64_t* next_id) {
  std::vector<DirId> dirs = {kRootDir};
  const auto listed = names->List(kRootDir, 0, 20, SIZE_MAX);
  for (const ListedEntry& entry : *listed) {
    if (entry.is_directory) dirs.push_back(DirId{entry.id});
  }
  const DirId dir = dirs[(*random)() % dirs.size()];
  const DirId other = dirs[(*random)() % dirs.size()];
  const std::string name = "n" + std::to_string((*random)() % 40);
  const std::string to = "n" + std::to_string((*random)() % 40);
  switch ((*random)() % 8) {
    case 0:
    case 1:
    case 2: (void)names->Publish({dir, name}, Page((*next_id)++), {{"user.n", name}}, false); break;
    case 3: (void)names->Unlink({dir, name}, 3); break;
    case 4: (void)names->MakeDir({kRootDir, name}, {1, 2, 0700}, 4); break;
    case 5: (void)names->RemoveDir({kRootDir, name}, 5); break;
    case 6: (void)names->Rename({dir, name}, {other, to}, Namespace::RenameMode::kReplace, 6); break;
    default: (void)names->SetXattr(dir.value, "user.d", name, Namespace::XattrMode::kEither); break;
  }
}

TEST(LmdbStore, EverythingComesBack) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const TempDir temp;
  uint64_t next_id = 1;
  std::map<std::string, std::string> expected;
  uint64_t largest_dir = 0;
  for (int round = 0; round < 5; ++round) {
    Service service(OptionsFor(temp.path()));
    if (round > 0) {
      EXPECT_EQ(Tree(service.names()), expected);
    }
    EXPECT_EQ(service.counts().damaged + service.counts().misfits, 0u);
    for (int step = 0; step < 500; ++step)
      service.With([&](Namespace& names) { RandomStep(&random, &names, &next_id); });
    const auto dir = service.With([](Namespace& names) { return names.MakeDir({kRootDir, "last"}, {}, 1); });
    ASSERT_TRUE(dir.ok());
    EXPECT_GT(dir->id.value, largest_dir);  // N4
    largest_dir = dir->id.value;
    service.With([](Namespace& names) { return names.RemoveDir({kRootDir, "last"}, 1); }).ok();
    if (round % 2 == 0) {
      EXPECT_TRUE(service.Flush().ok());
    }
    expected = Tree(service.names());
  }
}

TEST(LmdbStore, LongNamesAndLargeAttributesComeBack) {
  const TempDir temp;
  const std::string name(kMaxNameBytes, '\xc3');
  const Xattrs xattrs = {{"user.big", std::string(kMaxXattrBytes - 8, 'x')}};
  {
    Service service(OptionsFor(temp.path()));
    ASSERT_TRUE(
        service.With([&](Namespace& names) { return names.Publish({kRootDir, name}, Page(1), xattrs, false); }).ok());
  }
  Service service(OptionsFor(temp.path()));
  EXPECT_EQ(service.names().NameOfPage(Page(1).id)->name, name);
  EXPECT_EQ(service.names().GetXattrs(Page(1).id.value), xattrs);
}

TEST(LmdbStore, PagesThatAreGoneAreLeftOutForGood) {
  const TempDir temp;
  {
    Service service(OptionsFor(temp.path()));
    for (uint64_t i = 1; i <= 10; ++i) {
      service
          .With([&](Namespace& names) {
            return names.Publish({kRootDir, std::to_string(i)}, Page(i), {{"user.k", "v"}}, false);
          })
          .ok();
    }
  }
  {
    auto store = LmdbStore::Open(OptionsFor(temp.path()), Log::Discard());
    ASSERT_TRUE(store.ok());
    Namespace names(store->get(), {}, 0);
    const auto counts = (*store)->Load(&names, [](const PageInfo& page) { return page.id.value % 2 == 0; });
    EXPECT_EQ(counts->pages, 5u);
    EXPECT_EQ(counts->gone, 5u);
  }
  Service service(OptionsFor(temp.path()));
  EXPECT_EQ(service.counts().pages, 5u);
  EXPECT_EQ(service.counts().gone, 0u);
  EXPECT_TRUE(service.names().GetXattrs(Page(1).id.value).empty());
}

TEST(LmdbStore, DamagedRowsAreCountedAndLeftOut) {
  const TempDir temp;
  {
    Service service(OptionsFor(temp.path()));
    service.With([](Namespace& names) {
      const auto dir = names.MakeDir({kRootDir, "dir"}, {}, 0);
      for (uint64_t i = 1; i <= 5; ++i) {
        EXPECT_TRUE(names.Publish({kRootDir, "top" + std::to_string(i)}, Page(i), {}, false).ok());
        EXPECT_TRUE(names.Publish({dir->id, "in" + std::to_string(i)}, Page(100 + i), {}, false).ok());
      }
    });
  }
  {
    auto file = LmdbFile::Open(temp / "names.mdb", LmdbFile::Durability::kEveryApply);
    ASSERT_TRUE(file.ok());
    RowBatch rows;
    rows[{Table::kPages, 1, 3}] = "garbage";      // a page of the root: cursor 1 is the directory's
    rows[{Table::kDirs, 1, 1}] = "more garbage";  // the directory, and so the five pages in it
    ASSERT_TRUE((*file)->Apply(rows).ok());
  }
  {
    Service service(OptionsFor(temp.path()));
    EXPECT_EQ(service.counts().damaged, 2u);
    EXPECT_EQ(service.counts().misfits, 5u);
    EXPECT_EQ(service.counts().pages, 4u);
    EXPECT_FALSE(service.counts().first_loss.empty());
  }
  Service service(OptionsFor(temp.path()));
  EXPECT_EQ(service.counts().damaged + service.counts().misfits, 0u);
  EXPECT_EQ(service.counts().pages, 4u);
}

TEST(LmdbStore, DirectoriesWithoutAPlaceAreCountedAndLeftOut) {
  const TempDir temp;
  {
    Service service(OptionsFor(temp.path()));
  }
  {
    auto file = LmdbFile::Open(temp / "names.mdb", LmdbFile::Durability::kEveryApply);
    RowBatch rows;
    RowCollector collector(&rows);
    DirInfo a;
    a.id = DirId{100};
    DirInfo b;
    b.id = DirId{101};
    collector.PutDir({DirId{101}, "a"}, a, 1);
    collector.PutDir({DirId{100}, "b"}, b, 1);  // a cycle
    collector.PutDir({DirId{999}, "c"}, b, 1);  // no parent
    ASSERT_TRUE((*file)->Apply(rows).ok());
  }
  Service service(OptionsFor(temp.path()));
  EXPECT_EQ(service.counts().misfits, 3u);
  EXPECT_EQ(service.counts().directories, 0u);
}

TEST(LmdbStore, PageIdsAreReserved) {
  const TempDir temp;
  {
    Service service(OptionsFor(temp.path()));
    EXPECT_EQ(service.store().next_page_id(), 0u);
    service.store().ReservePageIds(1234);
    EXPECT_TRUE(service.Flush().ok());
  }
  Service service(OptionsFor(temp.path()));
  EXPECT_EQ(service.store().next_page_id(), 1234u);
}

// More changes than may wait, with no writer: they are discarded, and the rewrite makes it good.
TEST(LmdbStore, LostChangesAreMadeGoodByARewrite) {
  const TempDir temp;
  std::map<std::string, std::string> expected;
  {
    LmdbStore::Options options = OptionsFor(temp.path());
    options.max_changes = 100;
    Service service(options, false);
    std::mt19937 random(1);
    uint64_t next_id = 1;
    for (int i = 0; i < 2000; ++i) RandomStep(&random, &service.names(), &next_id);
    service.store().ReservePageIds(77);
    service.Start();
    // While it is rewritten, the namespace goes on changing.
    for (int i = 0; i < 300; ++i) service.With([&](Namespace& names) { RandomStep(&random, &names, &next_id); });
    const Status flushed = service.Flush();
    EXPECT_TRUE(flushed.ok()) << flushed.error().text();
    EXPECT_EQ(service.store().Problem(), "");
    for (int i = 0; i < 50; ++i) service.With([&](Namespace& names) { RandomStep(&random, &names, &next_id); });
    expected = Tree(service.names());
  }
  Service service(OptionsFor(temp.path()));
  EXPECT_EQ(Tree(service.names()), expected);
  EXPECT_EQ(service.store().next_page_id(), 77u);
}

// Stands in for a state directory on a disk of its own, as small as wanted.
class SmallDisk {
 public:
  explicit SmallDisk(const std::string& path) : path_(path) {
    std::filesystem::create_directory(path);
    mounted_ = Mount("size=2m", 0);
  }
  ~SmallDisk() {
    if (mounted_) umount2(path_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  bool mounted() const { return mounted_; }
  bool Grow() { return Mount("size=200m", MS_REMOUNT); }

 private:
  bool Mount(const char* options, unsigned long flags) {
    return mount("tmpfs", path_.c_str(), "tmpfs", flags, options) == 0;
  }
  const std::string path_;
  bool mounted_ = false;
};

void FillAndRecover(size_t max_changes) {
  const TempDir temp;
  SmallDisk disk(temp / "state");
  if (!disk.mounted()) GTEST_SKIP() << "a tmpfs cannot be mounted: " << std::strerror(errno);
  std::map<std::string, std::string> expected;
  LmdbStore::Options options = OptionsFor(temp / "state");
  options.max_changes = max_changes;
  {
    Service service(options);
    Status flushed;
    uint64_t id = 1;
    while (flushed.ok() && id < 100'000) {
      for (int i = 0; i < 500; ++i, ++id) {
        service
            .With([&](Namespace& names) {
              return names.Publish({kRootDir, "page" + std::to_string(id)}, Page(id), {}, false);
            })
            .ok();
      }
      flushed = service.Flush();
    }
    ASSERT_FALSE(flushed.ok());
    EXPECT_EQ(flushed.code(), ErrorCode::kUnavailable);
    EXPECT_NE(service.store().Problem().find("No space left"), std::string::npos) << service.store().Problem();
    // The service goes on, however many changes there are.
    for (int i = 0; i < 2000; ++i, ++id) {
      ASSERT_TRUE(service
                      .With([&](Namespace& names) {
                        return names.Publish({kRootDir, "page" + std::to_string(id)}, Page(id), {}, false);
                      })
                      .ok());
      ASSERT_TRUE(
          service
              .With([&](Namespace& names) { return names.Unlink({kRootDir, "page" + std::to_string(id - 1000)}, 2); })
              .ok());
    }
    ASSERT_TRUE(disk.Grow());
    // Retries go on by themselves.
    for (int i = 0; i < 100 && !service.Flush().ok(); ++i) {
    }
    EXPECT_EQ(service.store().Problem(), "");
    expected = Tree(service.names());
  }
  Service service(options);
  EXPECT_EQ(Tree(service.names()), expected);
}

TEST(LmdbStore, AFullDiskIsAProblemUntilThereIsRoom) { FillAndRecover(size_t{1} << 18); }
TEST(LmdbStore, AFullDiskAndTooManyChangesAreMadeGood) { FillAndRecover(1000); }

// A child makes changes at random and tells each flush; it is killed at any time. What is found afterwards is a state
// that the child went through, not before the last flush it told.
TEST(LmdbStore, AKilledProcessLeavesAStateItWentThrough) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  for (unsigned round = 0; round < 8; ++round) {
    const TempDir temp;
    int told[2];
    ASSERT_EQ(pipe(told), 0);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      close(told[0]);
      Service service(OptionsFor(temp.path()));
      std::mt19937 random(seed + round);
      uint64_t next_id = 1;
      for (uint32_t step = 1;; ++step) {
        service.With([&](Namespace& names) { RandomStep(&random, &names, &next_id); });
        if (step % 37 == 0 && service.Flush().ok() && write(told[1], &step, sizeof(step)) != sizeof(step)) _exit(1);
      }
    }
    close(told[1]);
    uint32_t flushed = 0;
    uint32_t step = 0;
    // Killed after some flushes, in the middle of whatever comes next.
    for (unsigned i = 0; i < 3 + round * 2 && read(told[0], &step, sizeof(step)) == sizeof(step); ++i) flushed = step;
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    while (read(told[0], &step, sizeof(step)) == sizeof(step)) flushed = step;
    close(told[0]);
    ASSERT_GT(flushed, 0u);

    Service service(OptionsFor(temp.path()));
    EXPECT_EQ(service.counts().damaged + service.counts().misfits, 0u) << service.counts().first_loss;
    const auto found = Tree(service.names());
    // The same changes again: at some step from the flushed one on, all is as it was found.
    Namespace again(nullptr, Ownership{0, 0, 0755}, 1);
    std::mt19937 random(seed + round);
    uint64_t next_id = 1;
    bool met = false;
    for (uint32_t i = 1; i <= flushed + 50'000 && !met; ++i) {
      RandomStep(&random, &again, &next_id);
      met = i >= flushed && Tree(again) == found;
    }
    EXPECT_TRUE(met) << "after flush at step " << flushed;
  }
}

TEST(LmdbStore, DamagedFilesAreRefusedWithARemedy) {
  const TempDir temp;
  {
    Service service(OptionsFor(temp.path()));
  }
  test_files::WriteFile(temp / "names.mdb", std::string(40'000, 'x'));
  const auto refused = LmdbStore::Open(OptionsFor(temp.path()), Log::Discard());
  ASSERT_EQ(refused.code(), ErrorCode::kInvalid);
  EXPECT_NE(refused.error().text().find("--state-dir " + temp.path()), std::string::npos);
  EXPECT_NE(refused.error().text().find("move the directory away"), std::string::npos);
}

}  // namespace
}  // namespace kvpagefs
