// libaio and io_uring on O_DIRECT descriptors: whole reads, whole writes.
#include <fcntl.h>
#include <unistd.h>

#include <cstring>

#include "tests/mount/contract_side.h"
#include "tests/mount/harness/async_io.h"

namespace kvpagefs::mount_test {
namespace {

constexpr size_t kPieces = 32;
constexpr size_t kPieceBytes = 128 * 1024;

using Engine = int64_t (*)(std::span<AsyncRequest>);

std::vector<AsyncRequest> Requests(int fd, AlignedBuffer* buffer, bool write) {
  std::vector<AsyncRequest> requests;
  for (size_t i = 0; i < kPieces; ++i) {
    const size_t piece = (i * 13) % kPieces;
    requests.push_back({fd, write, buffer->data() + piece * kPieceBytes, kPieceBytes, piece * kPieceBytes, 0});
  }
  return requests;
}

int64_t Done(const std::vector<AsyncRequest>& requests) {
  int64_t sum = 0;
  for (const AsyncRequest& request : requests) sum += request.result;
  return sum;
}

void WriteAndReadBack(Side& side, Engine engine, const std::string& name) {
  AlignedBuffer buffer(kPieces * kPieceBytes);
  side.Bytes(buffer.bytes()).copy(buffer.data(), buffer.bytes());
  Fd fd = Open(side.Path(name), O_RDWR | O_CREAT | O_DIRECT);
  side.Ok("create " + name, fd.result());
  std::vector<AsyncRequest> writes = Requests(fd.get(), &buffer, true);
  side.Ok("writes " + name, engine(writes));
  side.Number("bytes written " + name, Done(writes));
  side.Ok("close " + name, fd.Close());
  side.File("content " + name, name);
  std::memset(buffer.data(), 0, buffer.bytes());
  for (const int flags : {O_DIRECT, 0}) {
    const std::string step = name + (flags != 0 ? " direct" : " buffered");
    fd = Open(side.Path(name), O_RDONLY | flags);
    std::vector<AsyncRequest> reads = Requests(fd.get(), &buffer, false);
    side.Ok("reads " + step, engine(reads));
    side.Number("bytes read " + step, Done(reads));
    side.Note("content read " + step, Digest(buffer.view(buffer.bytes())));
    AsyncRequest tail{fd.get(), false, buffer.data(), kPieceBytes, (kPieces - 1) * kPieceBytes + 65536, 0};
    side.Ok("read over the end " + step, engine({&tail, 1}));
    side.Number("bytes before the end " + step, tail.result);
  }
}

using AsyncContract = ContractTest;

TEST_F(AsyncContract, Libaio) {
  Compare([](Side& side) { WriteAndReadBack(side, RunLibaio, "libaio"); });
}

TEST_F(AsyncContract, Uring) {
  AsyncRequest none;
  if (const int64_t outcome = RunUring({&none, 1}); outcome == -ENOSYS || outcome == -EPERM) {
    GTEST_SKIP() << "io_uring is not available: " << Value(outcome);
  }
  Compare([](Side& side) { WriteAndReadBack(side, RunUring, "uring"); });
}

}  // namespace
}  // namespace kvpagefs::mount_test
