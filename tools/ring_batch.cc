#include <fcntl.h>
#include <liburing.h>

#include <bit>
#include <cassert>
#include <cerrno>

#include <fmt/format.h>

#include "tools/batch_reader.h"

namespace kvpagefs {
namespace {

constexpr size_t kStepsPerFile = 3;
constexpr const char* kStepNames[kStepsPerFile] = {"open", "read", "close"};

class RingBatch final : public BatchReader {
 public:
  RingBatch() = default;
  ~RingBatch() override {
    if (made_) io_uring_queue_exit(&ring_);
  }
  RingBatch(const RingBatch&) = delete;
  RingBatch& operator=(const RingBatch&) = delete;

  Status Open(size_t max_files) {
    max_files_ = max_files;
    const auto entries = static_cast<unsigned>(std::bit_ceil(max_files * kStepsPerFile));
    if (const int result = io_uring_queue_init(entries, &ring_, 0); result < 0) {
      return Error::FromSystem(-result, "io_uring cannot be set up");
    }
    made_ = true;
    const int result = io_uring_register_files_sparse(&ring_, static_cast<unsigned>(max_files));
    if (result < 0) return Error::FromSystem(-result, "io_uring refuses a file table");
    return {};
  }

  Status ReadAll(const BatchRequest& request) override {
    const size_t count = request.files->paths.size();
    assert(count <= max_files_);
    for (size_t file = 0; file < count; ++file) Prepare(request, file);
    if (const int result = io_uring_submit(&ring_); result < 0) {
      return Error::FromSystem(-result, "io_uring refuses a batch");
    }
    return Collect(request, count * kStepsPerFile);
  }

 private:
  // O_CLOEXEC is refused for slots of the file table, which no child inherits anyway.
  void Prepare(const BatchRequest& request, size_t file) {
    const auto slot = static_cast<unsigned>(file);
    io_uring_sqe* const open = NextEntry();
    io_uring_prep_openat_direct(open, AT_FDCWD, request.files->paths[file].c_str(), request.open_flags, 0, slot);
    open->flags |= IOSQE_IO_LINK;
    open->user_data = file * kStepsPerFile;
    const auto place = request.Place(file);
    io_uring_sqe* const read = NextEntry();
    io_uring_prep_read(read, static_cast<int>(slot), place.data(), static_cast<unsigned>(place.size()), 0);
    read->flags |= IOSQE_IO_LINK | IOSQE_FIXED_FILE;
    read->user_data = file * kStepsPerFile + 1;
    io_uring_sqe* const close = NextEntry();
    io_uring_prep_close_direct(close, slot);
    close->user_data = file * kStepsPerFile + 2;
  }

  io_uring_sqe* NextEntry() {
    io_uring_sqe* const entry = io_uring_get_sqe(&ring_);
    assert(entry != nullptr);
    return entry;
  }

  Status Collect(const BatchRequest& request, size_t completions) {
    Status first_error;
    for (size_t i = 0; i < completions; ++i) {
      io_uring_cqe* cqe = nullptr;
      int result = 0;
      while ((result = io_uring_wait_cqe(&ring_, &cqe)) == -EINTR) {
      }
      if (result < 0) return Error::FromSystem(-result, "io_uring wait");
      Status step = CheckStep(request, *cqe);
      io_uring_cqe_seen(&ring_, cqe);
      // A step that fails cancels those that are linked to it: only the first error tells the cause.
      if (!step && first_error) first_error = std::move(step);
    }
    return first_error;
  }

  static Status CheckStep(const BatchRequest& request, const io_uring_cqe& cqe) {
    const size_t file = cqe.user_data / kStepsPerFile;
    const size_t step = cqe.user_data % kStepsPerFile;
    const auto& path = request.files->paths[file];
    if (cqe.res < 0) return Error::FromSystem(-cqe.res, fmt::format("io_uring {} '{}'", kStepNames[step], path));
    if (step == 1 && static_cast<uint64_t>(cqe.res) != request.files->bytes) {
      return Error(ErrorCode::kLost,
                   fmt::format("io_uring read '{}': short, {} of {} bytes", path, cqe.res, request.files->bytes));
    }
    return {};
  }

  io_uring ring_{};
  bool made_ = false;
  size_t max_files_ = 0;
};

}  // namespace

Result<std::unique_ptr<BatchReader>> MakeRingBatch(size_t max_files) {
  auto ring = std::make_unique<RingBatch>();
  if (Status opened = ring->Open(max_files); !opened) return opened.error();
  return std::unique_ptr<BatchReader>(std::move(ring));
}

}  // namespace kvpagefs
