// Batches of positioned reads and writes by libaio and by io_uring, as engines do them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace kvpagefs::mount_test {

struct AsyncRequest {
  int fd = -1;
  bool write = false;
  void* data = nullptr;
  uint32_t bytes = 0;
  uint64_t offset = 0;
  int64_t result = 0;  // bytes done or -errno
};

// Submits all at once and waits for all. -errno when the mechanism itself is not there (then nothing was done), else 0.
int64_t RunLibaio(std::span<AsyncRequest> requests);
int64_t RunUring(std::span<AsyncRequest> requests);

}  // namespace kvpagefs::mount_test
