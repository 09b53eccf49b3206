#include "tests/mount/harness/async_io.h"

#include <libaio.h>
#include <liburing.h>

namespace kvpagefs::mount_test {

int64_t RunLibaio(std::span<AsyncRequest> requests) {
  io_context_t context = nullptr;
  if (const int failed = io_setup(static_cast<int>(requests.size()), &context); failed < 0) return failed;
  std::vector<iocb> blocks(requests.size());
  std::vector<iocb*> pointers;
  for (size_t i = 0; i < requests.size(); ++i) {
    AsyncRequest& request = requests[i];
    const auto offset = static_cast<long long>(request.offset);
    if (request.write) io_prep_pwrite(&blocks[i], request.fd, request.data, request.bytes, offset);
    if (!request.write) io_prep_pread(&blocks[i], request.fd, request.data, request.bytes, offset);
    blocks[i].data = &request;
    pointers.push_back(&blocks[i]);
  }
  size_t submitted = 0;
  while (submitted < pointers.size()) {
    const int taken = io_submit(context, static_cast<long>(pointers.size() - submitted), pointers.data() + submitted);
    if (taken <= 0) break;
    submitted += static_cast<size_t>(taken);
  }
  std::vector<io_event> events(requests.size());
  size_t done = 0;
  while (done < submitted) {
    const int got = io_getevents(context, 1, static_cast<long>(submitted - done), events.data(), nullptr);
    if (got < 0) break;
    for (int i = 0; i < got; ++i) {
      const io_event& event = events[static_cast<size_t>(i)];
      static_cast<AsyncRequest*>(event.data)->result = static_cast<int64_t>(event.res);
    }
    done += static_cast<size_t>(got);
  }
  io_destroy(context);
  return done == requests.size() ? 0 : -EIO;
}

int64_t RunUring(std::span<AsyncRequest> requests) {
  io_uring ring{};
  if (const int failed = io_uring_queue_init(static_cast<unsigned>(requests.size()), &ring, 0); failed < 0) {
    return failed;
  }
  for (AsyncRequest& request : requests) {
    io_uring_sqe* entry = io_uring_get_sqe(&ring);
    if (request.write) io_uring_prep_write(entry, request.fd, request.data, request.bytes, request.offset);
    if (!request.write) io_uring_prep_read(entry, request.fd, request.data, request.bytes, request.offset);
    io_uring_sqe_set_data(entry, &request);
  }
  int64_t outcome = io_uring_submit(&ring);
  for (size_t i = 0; outcome >= 0 && i < requests.size(); ++i) {
    io_uring_cqe* completion = nullptr;
    outcome = io_uring_wait_cqe(&ring, &completion);
    if (outcome < 0) break;
    static_cast<AsyncRequest*>(io_uring_cqe_get_data(completion))->result = completion->res;
    io_uring_cqe_seen(&ring, completion);
  }
  io_uring_queue_exit(&ring);
  return outcome < 0 ? outcome : 0;
}

}  // namespace kvpagefs::mount_test
