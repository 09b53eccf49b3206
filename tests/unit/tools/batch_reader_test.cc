#include "tools/batch_reader.h"

#include <fcntl.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/tools/temporary_directory.h"

namespace kvpagefs {
namespace {

constexpr uint64_t kFiles = 40;
constexpr uint64_t kBytes = 8192;

class BatchReaderTest : public ::testing::TestWithParam<size_t> {
 protected:
  BatchReaderTest() {
    options_.directory = directory_.path();
    options_.against = directory_.path();
    environment_ = std::move(*MicroEnvironment::Make(options_, progress_, stop_));
    files_ = (*environment_->Files(kFiles, kBytes))[kDirSide];
  }
  // Parameter 0 stands for io_uring.
  std::unique_ptr<BatchReader> Make() {
    if (GetParam() > 0) return MakeThreadedBatch(GetParam());
    Result<std::unique_ptr<BatchReader>> ring = MakeRingBatch(kFiles);
    return ring ? std::move(*ring) : nullptr;
  }
  BatchRequest Request() { return {files_, O_RDONLY, buffer_.Span(0, kFiles * kBytes)}; }

  TemporaryDirectory directory_;
  MicroOptions options_;
  Progress progress_{false};
  StopSignal stop_;
  std::unique_ptr<MicroEnvironment> environment_;
  const FileSet* files_ = nullptr;
  AlignedBuffer buffer_{kFiles * kBytes};
};

TEST_P(BatchReaderTest, ReadsEveryFileIntoItsPlaceAgainAndAgain) {
  const auto reader = Make();
  if (reader == nullptr) GTEST_SKIP() << "SKIPPED: no io_uring on this machine";
  for (int batch = 0; batch < 3; ++batch) {
    const BatchRequest request = Request();
    std::fill(request.destination.begin(), request.destination.end(), std::byte{0});
    const Status read = reader->ReadAll(request);
    ASSERT_TRUE(read.ok()) << read.error().Describe();
    for (size_t i = 0; i < kFiles; ++i) {
      EXPECT_TRUE(CheckContent(files_->seeds[i], request.Place(i), files_->paths[i]).ok()) << i;
    }
  }
}

TEST_P(BatchReaderTest, AMissingFileIsAnErrorThatNamesIt) {
  const auto reader = Make();
  if (reader == nullptr) GTEST_SKIP() << "SKIPPED: no io_uring on this machine";
  ::unlink(files_->paths[17].c_str());
  const Status read = reader->ReadAll(Request());
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.code(), ErrorCode::kNotFound);
  EXPECT_THAT(read.error().text(), ::testing::HasSubstr(files_->paths[17]));
}

TEST_P(BatchReaderTest, AShortFileIsAnError) {
  const auto reader = Make();
  if (reader == nullptr) GTEST_SKIP() << "SKIPPED: no io_uring on this machine";
  ASSERT_EQ(::truncate(files_->paths[3].c_str(), 100), 0);
  const Status read = reader->ReadAll(Request());
  ASSERT_FALSE(read.ok());
  EXPECT_THAT(read.error().text(), ::testing::HasSubstr("short, 100 of"));
}

INSTANTIATE_TEST_SUITE_P(ThreadsAndRing, BatchReaderTest, ::testing::Values(0, 1, 4, 16));

}  // namespace
}  // namespace kvpagefs
