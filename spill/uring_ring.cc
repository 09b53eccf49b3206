#include "spill/uring_ring.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <utility>

#include <fmt/format.h>
#include <liburing.h>
#include <poll.h>
#include <sys/resource.h>

namespace kvpagefs {
namespace {

constexpr uint64_t kSliceBytes = uint64_t{1} << 30;  // the kernel's limit
constexpr uint32_t kMaxTable = 16384;                // files; more are used without the table

// The table counts against the limit of open files, as the files themselves do.
uint32_t TableSize() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  return static_cast<uint32_t>(std::min<rlim_t>(limit.rlim_cur, kMaxTable));
}

std::vector<iovec> Slices(std::span<const iovec> memory) {
  std::vector<iovec> slices;
  for (const iovec& piece : memory) {
    for (uint64_t at = 0; at < piece.iov_len; at += kSliceBytes) {
      slices.push_back({.iov_base = static_cast<std::byte*>(piece.iov_base) + at,
                        .iov_len = std::min<uint64_t>(piece.iov_len - at, kSliceBytes)});
    }
  }
  std::ranges::sort(slices, {}, [](const iovec& slice) { return reinterpret_cast<uintptr_t>(slice.iov_base); });
  return slices;
}

// See the header; with SUBMIT_ALL a bad entry fails alone.
constexpr unsigned kLinux61 = IORING_SETUP_SUBMIT_ALL | IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN;
constexpr unsigned kOlderKernels = 0;

Status SetUp(uint32_t entries, io_uring* ring, io_uring_params* params) {
  int result = -EINVAL;
  for (const unsigned flags : {kLinux61, kOlderKernels}) {
    *params = {};
    params->flags = flags;
    result = io_uring_queue_init_params(entries, ring, params);
    if (result != -EINVAL) break;
  }
  if (result < 0) return Error::FromSystem(-result, "io_uring cannot be set up");
  // Waiting with a time limit that takes no entry (5.11).
  if ((params->features & IORING_FEAT_EXT_ARG) != 0) return {};
  io_uring_queue_exit(ring);
  return Error(ErrorCode::kNotSupported, "io_uring of this kernel is too old");
}

}  // namespace

struct UringRing::State {
  io_uring ring = {};
  std::vector<int32_t> free_slots;
  std::vector<iovec> slices;  // by address
};

UringRing::UringRing(std::unique_ptr<State> state) : state_(std::move(state)) {}

Result<std::unique_ptr<UringRing>> UringRing::Create(uint32_t entries) {
  auto state = std::make_unique<State>();
  io_uring_params params = {};
  if (const Status set_up = SetUp(entries, &state->ring, &params); !set_up.ok()) return set_up.error();
  const uint32_t table_size = TableSize();
  const std::vector<int> empty(table_size, -1);
  if (table_size > 0 && io_uring_register_files(&state->ring, empty.data(), table_size) == 0) {
    for (uint32_t slot = table_size; slot > 0; --slot) state->free_slots.push_back(static_cast<int32_t>(slot - 1));
  }
  return std::unique_ptr<UringRing>(new UringRing(std::move(state)));
}

UringRing::~UringRing() { io_uring_queue_exit(&state_->ring); }

int32_t UringRing::AddFile(int fd) {
  if (state_->free_slots.empty()) return -1;
  const int32_t slot = state_->free_slots.back();
  if (io_uring_register_files_update(&state_->ring, static_cast<unsigned>(slot), &fd, 1) != 1) return -1;
  state_->free_slots.pop_back();
  return slot;
}

void UringRing::RemoveFile(int32_t slot) {
  const int none = -1;
  // A slot that cannot be emptied is not used again.
  if (io_uring_register_files_update(&state_->ring, static_cast<unsigned>(slot), &none, 1) != 1) return;
  state_->free_slots.push_back(slot);
}

Status UringRing::RegisterMemory(std::span<const iovec> memory) {
  if (!state_->slices.empty()) {
    const int result = io_uring_unregister_buffers(&state_->ring);
    if (result < 0) return Error::FromSystem(-result, "io_uring keeps the memory that is registered");
    state_->slices.clear();
  }
  std::vector<iovec> slices = Slices(memory);
  if (slices.empty()) return {};
  const int result = io_uring_register_buffers(&state_->ring, slices.data(), static_cast<unsigned>(slices.size()));
  if (result == -ENOMEM) {
    return Error(ErrorCode::kUnavailable, "memory is not registered with io_uring: above the limit of locked memory");
  }
  if (result < 0) return Error::FromSystem(-result, "memory is not registered with io_uring");
  state_->slices = std::move(slices);
  return {};
}

int32_t UringRing::SliceOf(const iovec& piece) const {
  const auto begin = reinterpret_cast<uintptr_t>(piece.iov_base);
  const auto start = [](const iovec& slice) { return reinterpret_cast<uintptr_t>(slice.iov_base); };
  const auto after = std::ranges::upper_bound(state_->slices, begin, {}, start);
  if (after == state_->slices.begin()) return -1;
  const iovec& slice = *std::prev(after);
  const uint64_t into = begin - start(slice);
  if (into >= slice.iov_len || piece.iov_len > slice.iov_len - into) return -1;
  return static_cast<int32_t>(std::prev(after) - state_->slices.begin());
}

void UringRing::Start(const Transfer& transfer, uint64_t tag) {
  io_uring_sqe* const entry = io_uring_get_sqe(&state_->ring);
  assert(entry != nullptr);
  const OpenFile& file = transfer.file();
  const int fd = file.slot >= 0 ? file.slot : file.fd;
  if (transfer.kind() == SsdDisk::IoKind::kSync) {
    io_uring_prep_fsync(entry, fd, IORING_FSYNC_DATASYNC);
  } else {
    const bool read = transfer.kind() == SsdDisk::IoKind::kRead;
    const std::span<const iovec> rest = transfer.Rest();
    const auto pieces = static_cast<unsigned>(rest.size());
    const iovec& first = rest.front();
    const int32_t slice = pieces == 1 ? SliceOf(first) : -1;
    const auto bytes = static_cast<unsigned>(first.iov_len);  // of one slice at most
    if (slice >= 0 && read) {
      io_uring_prep_read_fixed(entry, fd, first.iov_base, bytes, transfer.offset(), slice);
    } else if (slice >= 0) {
      io_uring_prep_write_fixed(entry, fd, first.iov_base, bytes, transfer.offset(), slice);
    } else if (read) {
      io_uring_prep_readv(entry, fd, rest.data(), pieces, transfer.offset());
    } else {
      io_uring_prep_writev(entry, fd, rest.data(), pieces, transfer.offset());
    }
  }
  if (file.slot >= 0) entry->flags |= IOSQE_FIXED_FILE;
  entry->user_data = tag;
}

void UringRing::StartWakePoll(int eventfd, uint64_t tag) {
  io_uring_sqe* const entry = io_uring_get_sqe(&state_->ring);
  assert(entry != nullptr);
  io_uring_prep_poll_add(entry, eventfd, POLLIN);
  entry->user_data = tag;
}

bool UringRing::Enter(std::chrono::nanoseconds time) {
  int result = 0;
  if (time.count() > 0) {
    __kernel_timespec limit = {.tv_sec = time.count() / 1'000'000'000, .tv_nsec = time.count() % 1'000'000'000};
    io_uring_cqe* first = nullptr;
    result = io_uring_submit_and_wait_timeout(&state_->ring, &first, 1, &limit, nullptr);
  } else if (io_uring_sq_ready(&state_->ring) > 0) {
    result = io_uring_submit(&state_->ring);
  }
  return result >= 0 || result == -ETIME || result == -EINTR;
}

size_t UringRing::Reap(std::span<Completion> out) {
  std::array<io_uring_cqe*, 64> found = {};
  const unsigned limit = static_cast<unsigned>(std::min(found.size(), out.size()));
  const unsigned count = io_uring_peek_batch_cqe(&state_->ring, found.data(), limit);
  for (unsigned i = 0; i < count; ++i) out[i] = {.tag = found[i]->user_data, .result = found[i]->res};
  io_uring_cq_advance(&state_->ring, count);
  return count;
}

}  // namespace kvpagefs
