// A batch of files, open, read and close each, by threads and by io_uring.
#include <fmt/format.h>

#include "tools/batch_reader.h"
#include "tools/file_ops.h"
#include "tools/micro_case.h"
#include "tools/text_table.h"

namespace kvpagefs {
namespace {

constexpr size_t kThreadCounts[] = {1, 4, 16};

struct BatchState {
  const char* name;
  const char* label;
  CacheState cache;
  bool direct;
};

constexpr BatchState kStates[] = {
    {"warm", "warm", CacheState::kWarm, false},
    {"cold", "cold", CacheState::kCold, false},
    {"cold-direct", "cold, O_DIRECT", CacheState::kCold, true},
};

class BatchCase final : public MicroCase {
 public:
  BatchCase(MicroEnvironment& environment, FileSets files, std::unique_ptr<BatchReader> reader)
      : environment_(environment), files_(files), reader_(std::move(reader)) {
    request_.destination = environment.Buffer(files_[kDirSide]->paths.size() * files_[kDirSide]->bytes);
  }
  void SetState(const BatchState& state) { state_ = state; }

  size_t ItemCount() const override { return 1; }

  Status Prepare(size_t side, size_t /*item*/) override {
    request_.files = files_[side];
    request_.open_flags = O_RDONLY | (state_.direct && environment_.side(side).direct ? O_DIRECT : 0);
    if (state_.cache == CacheState::kWarm) return ReadFilesOnce(*files_[side], request_.destination);
    for (const std::string& path : files_[side]->paths) {
      if (Status dropped = DropFileCache(path); !dropped) return dropped;
    }
    return {};
  }

  Status Run(size_t /*side*/, size_t /*item*/) override { return reader_->ReadAll(request_); }

  Status Verify(size_t side, size_t /*item*/) override {
    const FileSet& files = *files_[side];
    for (size_t i = 0; i < files.paths.size(); ++i) {
      if (Status right = CheckContent(files.seeds[i], request_.Place(i), files.paths[i]); !right) return right;
    }
    return {};
  }

 private:
  MicroEnvironment& environment_;
  const FileSets files_;
  const std::unique_ptr<BatchReader> reader_;
  BatchState state_ = kStates[0];
  BatchRequest request_;
};

// 0 threads stand for io_uring.
Result<std::unique_ptr<MicroCase>> MakeBatch(MicroEnvironment& environment, const BatchState& state, size_t threads) {
  const MicroOptions& options = environment.options();
  Result<FileSets> files = environment.Files(options.batch_files, options.batch_bytes);
  if (!files) return files.error();
  std::unique_ptr<BatchReader> reader;
  if (threads == 0) {
    Result<std::unique_ptr<BatchReader>> ring = MakeRingBatch(options.batch_files);
    if (!ring) return Error(ErrorCode::kNotSupported, ring.error().Describe());
    reader = std::move(*ring);
  } else {
    reader = MakeThreadedBatch(threads);
  }
  auto made = std::make_unique<BatchCase>(environment, *files, std::move(reader));
  made->SetState(state);
  return std::unique_ptr<MicroCase>(std::move(made));
}

void AddBatch(const MicroOptions& options, const BatchState& state, size_t threads, MicroCaseList& list) {
  const std::string who = threads == 0 ? "io_uring" : threads == 1 ? "1 thread" : fmt::format("{} threads", threads);
  const std::string suffix = threads == 0 ? "uring" : std::to_string(threads);
  list.push_back(
      {.name = fmt::format("batch-{}-{}", state.name, suffix),
       .label = fmt::format("batch, {}, {}", state.label, who),
       .size_bytes = options.batch_bytes,
       .size_label = fmt::format("{} x {}", options.batch_files, ShortSize(options.batch_bytes)),
       .cache = state.cache,
       .direct = state.direct,
       .make = [state, threads](MicroEnvironment& environment) { return MakeBatch(environment, state, threads); }});
}

}  // namespace

void AddBatchCases(const MicroOptions& options, MicroCaseList& list) {
  for (const BatchState& state : kStates) {
    for (const size_t threads : kThreadCounts) AddBatch(options, state, threads, list);
    AddBatch(options, state, 0, list);
  }
}

}  // namespace kvpagefs
