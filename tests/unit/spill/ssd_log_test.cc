// The SSD log on a simulated disk: pages come back right, also after a restart.
#include "spill/ssd_log.h"

#include <gtest/gtest.h>

#include "unit/spill/ssd_log_fixture.h"

namespace kvpagefs {
namespace {

TEST_F(SsdLogTest, WhatIsAppendedIsRead) {
  Open();
  for (const uint64_t bytes : {uint64_t{1}, uint64_t{4095}, uint64_t{4096}, uint64_t{4097}, uint64_t{100'000}}) {
    Put(bytes, bytes);
    EXPECT_TRUE(Readable(bytes, bytes));
  }
  EXPECT_EQ(Read(3, 10).code(), ErrorCode::kNotFound);
  EXPECT_EQ(log_->GetStats().pages, 5u);
}

TEST_F(SsdLogTest, AnEmptyPageIsAPage) {
  Open();
  Put(1, 0);
  EXPECT_TRUE(Readable(1, 0));
  Reopen();
  EXPECT_TRUE(Readable(1, 0));
}

TEST_F(SsdLogTest, PagesAndDescriptionsAreBackAfterARestart) {
  Open();
  const std::string long_text(5'000, 'x');
  Put(1, 10'000, "short");
  Put(2, 20'000, long_text);
  Put(3, 1, "");
  Reopen();
  EXPECT_EQ(counts_.pages, 3u);
  EXPECT_EQ(counts_.scanned_regions, 0u);
  EXPECT_EQ(recovered_.at(Id(1).value).description, "short");
  EXPECT_EQ(recovered_.at(Id(2).value).description, long_text);
  EXPECT_EQ(recovered_.at(Id(2).value).checksum, Checksum(Pattern(20'000, 2)));
  EXPECT_TRUE(Readable(1, 10'000) && Readable(2, 20'000) && Readable(3, 1));
}

TEST_F(SsdLogTest, AKilledProcessKeepsWhatWasStored) {
  Open();
  for (uint64_t i = 1; i <= 20; ++i) Put(i, 20'000);
  Kill();
  Open();
  EXPECT_GT(counts_.scanned_regions, 0u);
  for (uint64_t i = 1; i <= 20; ++i) EXPECT_TRUE(Readable(i, 20'000)) << i;
}

TEST_F(SsdLogTest, RestartsDoNotUseUpRegions) {
  Open();
  for (uint64_t i = 1; i <= 30; ++i) {
    Put(i, 5'000);
    if (i % 3 == 0) {
      Kill();
      Open();
    } else {
      Reopen();
    }
  }
  for (uint64_t i = 1; i <= 30; ++i) EXPECT_TRUE(Readable(i, 5'000)) << i;
  EXPECT_LE(log_->GetStats().regions, 4u);
}

}  // namespace
}  // namespace kvpagefs
