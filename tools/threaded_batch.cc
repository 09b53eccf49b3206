#include <atomic>
#include <barrier>
#include <cstddef>
#include <thread>
#include <vector>

#include "tools/batch_reader.h"
#include "tools/file_ops.h"

namespace kvpagefs {
namespace {

class ThreadedBatch final : public BatchReader {
 public:
  explicit ThreadedBatch(size_t thread_count)
      : results_(thread_count), turn_(static_cast<std::ptrdiff_t>(thread_count + 1)) {
    for (size_t i = 0; i < thread_count; ++i) threads_.emplace_back([this, i] { Work(i); });
  }

  ~ThreadedBatch() override {
    request_ = nullptr;
    turn_.arrive_and_wait();
    for (std::thread& thread : threads_) thread.join();
  }

  Status ReadAll(const BatchRequest& request) override {
    request_ = &request;
    next_file_.store(0);
    turn_.arrive_and_wait();
    turn_.arrive_and_wait();
    for (const Status& result : results_) {
      if (!result) return result;
    }
    return {};
  }

 private:
  // Between the two turns of a batch the threads own results_ and only read request_; else the caller owns them.
  void Work(size_t thread) {
    while (true) {
      turn_.arrive_and_wait();
      if (request_ == nullptr) return;
      results_[thread] = TakeFiles(*request_);
      turn_.arrive_and_wait();
    }
  }

  Status TakeFiles(const BatchRequest& request) {
    const auto& paths = request.files->paths;
    for (size_t file = next_file_++; file < paths.size(); file = next_file_++) {
      if (Status read = ReadFile(paths[file], request.open_flags, request.Place(file)); !read) return read;
    }
    return {};
  }

  const BatchRequest* request_ = nullptr;
  std::atomic<size_t> next_file_{0};
  std::vector<Status> results_;
  std::barrier<> turn_;
  std::vector<std::thread> threads_;
};

}  // namespace

std::unique_ptr<BatchReader> MakeThreadedBatch(size_t thread_count) {
  return std::make_unique<ThreadedBatch>(thread_count);
}

}  // namespace kvpagefs
