// A large log comes up by its indexes alone.
#include "spill/ssd_recovery.h"

#include <chrono>

#include <gtest/gtest.h>

#include "unit/spill/ssd_log_fixture.h"

namespace kvpagefs {
namespace {

class RecoveryTest : public SsdLogTest {
 protected:
  static constexpr uint64_t kPage = uint64_t{64} * 1024;
  static constexpr uint64_t kLarge = uint64_t{256} << 20;

  // A sealed region of `pages` pages without their payloads.
  void MakeRegion(uint64_t sequence, uint64_t pages, std::string_view description) {
    const RegionHeader header{
        .in_use = 1, .region_bytes = kLarge, .sequence = sequence, .node_identity = 77, .salt = sequence * 7};
    SimStore::File& file = store_->files[RegionFileName(sequence)];
    file.bytes = kLarge;
    AlignedBuffer block(kBlockBytes);
    EncodeRegionHeader(header, block.bytes());
    store_->Write(&file, 0, block.data());
    IndexBuilder builder;
    uint64_t offset = kFirstRecordOffset;
    for (uint64_t i = 0; i < pages; ++i) {
      const auto description_bytes = static_cast<uint32_t>(description.size());
      builder.Add({.id = Id(next_++),
                   .page_bytes = kPage,
                   .page_checksum = i,
                   .description_bytes = description_bytes,
                   .offset = offset},
                  description);
      offset += RecordBytesFor(kPage, description.size());
    }
    const AlignedBuffer index = builder.Finish(KeyOf(header), offset);
    for (uint64_t at = 0; at < index.size(); at += kBlockBytes) {
      store_->Write(&file, (kLarge - index.size() + at) / kBlockBytes, index.data() + at);
    }
  }
  uint64_t next_ = 1;
};

TEST_F(RecoveryTest, AMillionPagesByTheirIndexes) {
  constexpr uint64_t kPages = 1'000'000;
  const uint64_t per_region = (kLarge - (uint64_t{2} << 20)) / RecordBytesFor(kPage, 100);
  const std::string description(100, 'n');
  uint64_t sequence = 1;
  while (next_ <= kPages) MakeRegion(sequence++, std::min(per_region, kPages - next_ + 1), description);
  const auto start = std::chrono::steady_clock::now();
  Open({.capacity_bytes = uint64_t{80} << 30, .region_bytes = kLarge});
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  std::printf("%.2f s for %llu pages in %llu regions, %llu MiB read\n", took.count(),
              static_cast<unsigned long long>(counts_.pages), static_cast<unsigned long long>(counts_.regions),
              static_cast<unsigned long long>(store_->read_bytes >> 20));
  EXPECT_EQ(counts_.pages, kPages);
  EXPECT_EQ(counts_.scanned_regions, 0u);
  EXPECT_LT(store_->read_bytes, uint64_t{256} << 20) << "payloads were read";
  const SsdLog::Stats stats = log_->GetStats();
  EXPECT_EQ(stats.pages, kPages);
  EXPECT_EQ(stats.live_bytes, kPages * RecordBytesFor(kPage, 100));
}

// Newest record of a page counts, wherever the order of the files says.
TEST_F(RecoveryTest, TheNewestRecordCounts) {
  MakeRegion(5, 3, "new");
  next_ = 1;
  MakeRegion(2, 4, "old");
  Open({.capacity_bytes = uint64_t{4} << 30, .region_bytes = kLarge});
  EXPECT_EQ(counts_.pages, 4u);
  EXPECT_EQ(recovered_.at(Id(1).value).description, "new");
  EXPECT_EQ(recovered_.at(Id(4).value).description, "old");
  EXPECT_EQ(log_->Find(Id(2))->region, 5u);
}

// A page whose bytes are a record of another page, in a region that is scanned.
TEST_F(RecoveryTest, APageThatLooksLikeARecordIsNone) {
  Open();
  RegionKey guess;
  {
    Put(1, 10);
    MutexLock lock(log_->mutex);
    guess = log_->regions.Find(Region::State::kOpen)->key;
  }
  guess.salt += 1;  // all that its writer cannot know
  const uint64_t payload = OffsetOf(1) + uint64_t{3} * kBlockBytes;
  Bytes forged(HeaderBytesFor(0));
  EncodeRecordHeader(guess,
                     {.id = Id(666), .page_bytes = 0, .page_checksum = 0, .description_bytes = 0, .offset = payload},
                     "", forged);
  const PageBuffer page(forged);
  SsdLog::AppendRequest request = Request(2, page);
  const Status stored = Wait([&](auto done) {
    request.done = done;
    log_->Append(std::move(request));
  });
  ASSERT_TRUE(stored.ok());
  ASSERT_EQ(OffsetOf(2) + kBlockBytes, payload);
  // The chain is broken, so every block is looked at.
  store_->FlipBit(FileOf(2), OffsetOf(2) + 9, 1);
  Kill();
  Open();
  EXPECT_FALSE(Has(666));
  EXPECT_FALSE(Has(2));
  EXPECT_TRUE(Has(1));
}

}  // namespace
}  // namespace kvpagefs
