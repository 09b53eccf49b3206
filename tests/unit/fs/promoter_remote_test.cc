// fs/promoter.h in a cluster; F1 to F4 are its invariants.
#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "fs/promoter.h"
#include "remote_pages_fixture.h"
#include "unit/temp_dir.h"

namespace kvpagefs {
namespace {

using Touch = MemoryTier::Touch;

// Remembers in which order pages were evicted.
class EvictionOrder final : public MemoryTier::Listener {
 public:
  void OnEvicted(std::span<const PageId> pages) override { evicted.insert(evicted.end(), pages.begin(), pages.end()); }
  void OnHighWatermark() override {}
  void OnSpaceFreed() override {}
  std::vector<PageId> evicted;
};

class NoListener final : public SsdLog::Listener {
 public:
  bool IsWanted(PageId) override { return true; }
  void OnGone(std::span<const PageId>) override {}
  bool Describe(PageId, std::string*) override { return false; }
};

class PromoterRemoteTest : public RemotePagesTest {
 protected:
  using Answer = std::future<Result<PageHold>>;

  void SetUp() override {
    RemotePagesTest::SetUp();
    auto segment = Segment::Map({.bytes = uint64_t{4} << 20, .huge_pages = HugePages::kOff});
    ASSERT_TRUE(segment.ok());
    tier_ = std::move(*MemoryTier::Create(std::move(*segment), {}, &clock_, &order_));
    SsdTier::Options ssd;
    ssd.dirs = {dir_.path()};
    ssd.capacity_bytes = uint64_t{64} << 20;
    ssd.max_page_bytes = uint64_t{1} << 20;
    ssd.owner = "test";
    ssd.listener = &no_listener_;
    ssd.clock = &clock_;
    std::vector<SsdTier::Recovered> recovered;
    auto opened = SsdTier::Open(ssd, &recovered);
    ASSERT_TRUE(opened.ok()) << opened.error().Describe();
    ssd_ = std::move(*opened);
    Spiller::Parts spill;
    spill.tier = tier_.get();
    spill.ssd = ssd_.get();
    spill.clock = &clock_;
    spill.counters = &counters_;
    spiller_ = std::make_unique<Spiller>(std::move(spill), SpillMode::kOff);
    promoter_ = std::make_unique<Promoter>(Promoter::Parts{.tier = tier_.get(),
                                                           .ssd = ssd_.get(),
                                                           .spiller = spiller_.get(),
                                                           .remote = &remote_,
                                                           .on_arrived = [this](PageId) { ++arrived_; },
                                                           .clock = &clock_,
                                                           .counters = &counters_,
                                                           .history = &history_});
  }
  void TearDown() override {
    RemotePagesTest::TearDown();
    ssd_.reset();
    promoter_.reset();
  }

  Answer Fetch(const FetchedPage& page, bool for_peer = false, uint64_t ticket = 0) {
    const Promoter::Request request{.ticket = ticket,
                                    .deadline_ns = clock_.MonotonicNs() + kLongMs * 1'000'000,
                                    .touch = Touch::kRead,
                                    .reader = 7,
                                    .for_peer = for_peer};
    const auto promise = std::make_shared<std::promise<Result<PageHold>>>();
    Answer answer = promise->get_future();
    promoter_->Fetch(page, request, [promise](Result<PageHold> hold) { promise->set_value(std::move(hold)); });
    return answer;
  }
  // A page that only node 2 has.
  FetchedPage PageOfNode2(uint64_t counter, const std::string& content) {
    const FetchedPage page = PageOf(counter, content);
    nodes_[2]->Put(page.id, content);
    cluster_.SetReplicas(page.id, {{2, kMemoryTier}});
    return page;
  }
  // The bytes, or the error as text.
  static std::string Bytes(Answer answer) {
    const Result<PageHold> hold = net_test::Await(std::move(answer));
    if (!hold.ok()) return hold.error().Describe();
    std::vector<iovec> pieces;
    hold->Read(0, hold->bytes(), &pieces);
    std::string bytes;
    for (const iovec& piece : pieces) bytes.append(static_cast<const char*>(piece.iov_base), piece.iov_len);
    return bytes;
  }
  PageHold PutHere(uint64_t counter, const std::string& content) {
    std::unique_ptr<Draft> draft = tier_->NewDraft();
    EXPECT_TRUE(draft->Write(0, {reinterpret_cast<const std::byte*>(content.data()), content.size()}).ok());
    Result<PageHold> hold = tier_->Seal(PageId::Make(1, counter), draft, Pin::kNone);
    EXPECT_TRUE(hold.ok());
    return std::move(*hold);
  }
  std::vector<PageId> EvictAll() {
    // The fetch itself lets go of the page behind its answer.
    EXPECT_TRUE(WaitFor([&] { return tier_->GetStats().holds == 0; }));
    order_.evicted.clear();
    const MemoryTier::Stats stats = tier_->GetStats();
    EXPECT_TRUE(tier_->NewDraft()->Reserve(stats.free_bytes + stats.evictable_bytes).ok());
    return order_.evicted;
  }
  // On SSD and on node 2; the bytes on SSD are wrong.
  FetchedPage LostOnSsd(uint64_t counter, const std::string& content) {
    const FetchedPage page = PageOfNode2(counter, content);
    std::unique_ptr<Draft> draft = tier_->NewDraft();
    EXPECT_TRUE(draft->Write(0, {reinterpret_cast<const std::byte*>(content.data()), content.size()}).ok());
    const Result<PageHold> hold = tier_->Seal(page.id, draft, Pin::kNone);
    SsdLog::AppendRequest append;
    append.id = page.id;
    append.bytes = page.bytes;
    append.checksum = page.checksum;
    hold->Blocks(&append.pieces);
    std::promise<Status> written;
    append.done = [&](const Status& status) { written.set_value(status); };
    ssd_->Append(std::move(append));
    EXPECT_TRUE(net_test::Await(written.get_future()).ok());
    EXPECT_TRUE(tier_->Remove(page.id).ok());
    EXPECT_TRUE(Spoil(content));
    return page;
  }
  bool Spoil(const std::string& content) {
    for (const auto& file : std::filesystem::recursive_directory_iterator(dir_.path())) {
      if (!file.is_regular_file()) continue;
      std::ifstream in(file.path(), std::ios::binary);
      const std::string bytes(std::istreambuf_iterator<char>(in), {});
      const size_t at = bytes.find(content);
      if (at == std::string::npos) continue;
      const int fd = open(file.path().c_str(), O_WRONLY | O_CLOEXEC);
      const bool spoilt = pwrite(fd, "?", 1, static_cast<off_t>(at)) == 1 && fsync(fd) == 0;
      close(fd);
      return spoilt;
    }
    return false;
  }

  const test_files::TempDir dir_;
  EvictionOrder order_;
  NoListener no_listener_;
  ReadHistory history_{uint64_t{1} << 20};
  std::unique_ptr<MemoryTier> tier_;
  std::unique_ptr<SsdTier> ssd_;
  std::unique_ptr<Spiller> spiller_;
  std::unique_ptr<Promoter> promoter_;
  std::atomic<int> arrived_{0};
};

TEST_F(PromoterRemoteTest, SingleFlight) {
  const std::string content = Pattern(100'000, 1);
  const FetchedPage page = PageOfNode2(1, content);
  nodes_[2]->SetSilent(true);
  std::vector<Answer> answers;
  for (int i = 0; i < 5; ++i) answers.push_back(Fetch(page));
  ASSERT_TRUE(WaitFor([&] { return nodes_[2]->waiting() == 1; }));
  EXPECT_EQ(promoter_->waiting(), 5u);
  EXPECT_EQ(Count(Counter::kFetchesJoined), 4u);
  nodes_[2]->Release();
  for (Answer& answer : answers) EXPECT_EQ(Bytes(std::move(answer)), content);
  EXPECT_EQ(nodes_[2]->asked(), 1) << "F2";
  EXPECT_EQ(Count(Counter::kRemoteFetches), 1u);
  EXPECT_EQ(arrived_, 1);
  EXPECT_EQ(Bytes(Fetch(page)), content);
  EXPECT_EQ(nodes_[2]->asked(), 1) << "it is here now";
}

TEST_F(PromoterRemoteTest, AStrangerIsTheFirstToGo) {
  const FetchedPage page = PageOfNode2(1, "stranger");
  for (uint64_t i = 1; i <= 3; ++i) (void)PutHere(i, "ours");
  EXPECT_EQ(Bytes(Fetch(page)), "stranger");
  EXPECT_EQ(tier_->Use(page.id)->reads, 1u);
  EXPECT_FALSE(tier_->Use(page.id)->dirty);
  std::vector<PageId> evicted = EvictAll();
  ASSERT_EQ(evicted.size(), 4u);
  EXPECT_EQ(evicted.front(), page.id);
  for (uint64_t i = 4; i <= 6; ++i) (void)PutHere(i, "ours");
  EXPECT_EQ(Bytes(Fetch(page)), "stranger");
  evicted = EvictAll();
  ASSERT_EQ(evicted.size(), 4u);
  EXPECT_NE(evicted.front(), page.id) << "one that comes back is none";
}

TEST_F(PromoterRemoteTest, RemovedMeanwhile) {
  const FetchedPage page = PageOfNode2(1, "bytes");
  nodes_[2]->SetSilent(true);
  Answer answer = Fetch(page);
  ASSERT_TRUE(WaitFor([&] { return nodes_[2]->waiting() == 1; }));
  promoter_->Forget(page.id);
  nodes_[2]->Release();
  EXPECT_EQ(Bytes(std::move(answer)), "bytes") << "who opened it before may read it";
  EXPECT_FALSE(tier_->Use(page.id).ok()) << "F3";
  EXPECT_EQ(arrived_, 0) << "and the cluster is not told";
}

TEST_F(PromoterRemoteTest, NoCopyThatIsGood) {
  const FetchedPage page = PageOf(1, "bytes");
  const uint64_t free_bytes = tier_->GetStats().free_bytes;
  EXPECT_EQ(Bytes(Fetch(page)), NotFound());
  nodes_[2]->PutWrong(page);
  cluster_.SetReplicas(page.id, {{2, kMemoryTier}});
  EXPECT_EQ(Bytes(Fetch(page)), NotFound()) << "F1";
  EXPECT_FALSE(tier_->Use(page.id).ok());
  EXPECT_TRUE(WaitFor([&] { return tier_->GetStats().free_bytes == free_bytes; }));
  EXPECT_EQ(promoter_->waiting(), 0u);
}

TEST_F(PromoterRemoteTest, InterruptAndDeadline) {
  const FetchedPage page = PageOfNode2(1, "bytes");
  nodes_[2]->SetSilent(true);
  Answer interrupted = Fetch(page, false, 5);
  Answer late = Fetch(page, false, 6);
  promoter_->Interrupt(5);
  EXPECT_EQ(net_test::Await(std::move(interrupted)).code(), ErrorCode::kInterrupted) << "F1";
  promoter_->Retry(promoter_->NextDeadline());
  EXPECT_EQ(net_test::Await(std::move(late)).code(), ErrorCode::kNotFound) << "F1";
  ASSERT_TRUE(WaitFor([&] { return nodes_[2]->waiting() == 1; }));
  Answer joined = Fetch(page);
  nodes_[2]->Release();
  EXPECT_EQ(Bytes(std::move(joined)), "bytes") << "the flight goes on";
  EXPECT_EQ(nodes_[2]->asked(), 1);
}

TEST_F(PromoterRemoteTest, APeerNeverJoinsARemoteFlight) {
  const FetchedPage page = PageOfNode2(1, "bytes");
  EXPECT_EQ(Bytes(Fetch(page, true)), NotFound()) << "F4";
  EXPECT_EQ(nodes_[2]->asked(), 0) << "F4";
  nodes_[2]->SetSilent(true);
  Answer ours = Fetch(page);
  ASSERT_TRUE(WaitFor([&] { return nodes_[2]->waiting() == 1; }));
  EXPECT_EQ(Bytes(Fetch(page, true)), NotFound()) << "F4";
  EXPECT_EQ(promoter_->waiting(), 1u);
  nodes_[2]->Release();
  EXPECT_EQ(Bytes(std::move(ours)), "bytes");
  EXPECT_EQ(Bytes(Fetch(page, true)), "bytes") << "here it is found";
}

TEST_F(PromoterRemoteTest, ALostSsdCopyIsFetchedFromAPeer) {
  const std::string content = Pattern(50'000, 1);
  const FetchedPage page = LostOnSsd(1, content);
  EXPECT_EQ(Bytes(Fetch(page)), content);
  EXPECT_EQ(Count(Counter::kFetchFailures), 1u);
  EXPECT_EQ(Count(Counter::kFetches), 0u);
  EXPECT_EQ(Count(Counter::kRemoteFetches), 1u);
  EXPECT_FALSE(ssd_->Has(page.id));
}

TEST_F(PromoterRemoteTest, ThenAPeerThatWaitedIsToldNo) {
  const std::string content = Pattern(300'000, 1);
  const FetchedPage page = LostOnSsd(1, content);
  // Until there is memory both wait for the SSD.
  std::vector<PageHold> held;
  for (uint64_t i = 1; tier_->GetStats().free_bytes > 16 * 4096; ++i) {
    const uint64_t bytes = std::min<uint64_t>(512 << 10, tier_->GetStats().free_bytes - 3 * 4096);
    held.push_back(PutHere(100 + i, std::string(bytes, 'f')));
  }
  Answer peers = Fetch(page, true);
  Answer ours = Fetch(page);
  EXPECT_EQ(promoter_->waiting(), 2u);
  nodes_[2]->SetSilent(true);
  held.clear();
  promoter_->Retry(clock_.MonotonicNs());
  EXPECT_EQ(Bytes(std::move(peers)), NotFound()) << "F4";
  ASSERT_TRUE(WaitFor([&] { return nodes_[2]->waiting() == 1; }));
  nodes_[2]->Release();
  EXPECT_EQ(Bytes(std::move(ours)), content);
}

}  // namespace
}  // namespace kvpagefs
