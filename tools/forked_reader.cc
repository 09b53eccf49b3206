#include "tools/forked_reader.h"

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "tools/channel.h"

namespace kvpagefs {
namespace {

constexpr uint64_t kEndOfRequests = ~uint64_t{0};

struct Reply {
  bool ok = false;  // when false, the error's text follows as an array
  uint32_t hits = 0;
  ErrorCode code = ErrorCode::kUnavailable;
};

Status SendReply(int fd, const Result<uint32_t>& hits) {
  if (hits) return SendValue(fd, Reply{.ok = true, .hits = *hits});
  if (Status sent = SendValue(fd, Reply{.ok = false, .hits = 0, .code = hits.code()}); !sent) return sent;
  return SendArray(fd, hits.error().Describe());
}

Status SendStats(int fd, const ReaderStats& stats) {
  if (Status sent = SendValue(fd, stats.loaded_pages); !sent) return sent;
  if (Status sent = SendValue(fd, stats.loaded_bytes); !sent) return sent;
  if (Status sent = SendArray(fd, stats.hits_per_request); !sent) return sent;
  if (Status sent = SendArray(fd, stats.lookup_ns); !sent) return sent;
  return SendArray(fd, stats.load_ns);
}

Status ReceiveStats(int fd, ReaderStats& stats) {
  if (Status got = ReceiveValue(fd, stats.loaded_pages); !got) return got;
  if (Status got = ReceiveValue(fd, stats.loaded_bytes); !got) return got;
  if (Status got = ReceiveArray(fd, stats.hits_per_request); !got) return got;
  if (Status got = ReceiveArray(fd, stats.lookup_ns); !got) return got;
  return ReceiveArray(fd, stats.load_ns);
}

// The child's whole life.
Status ServeParent(PageReader& reader, int channel) {
  while (true) {
    uint64_t request_index = 0;
    if (Status got = ReceiveValue(channel, request_index); !got) return got;
    if (request_index == kEndOfRequests) break;
    if (Status sent = SendReply(channel, reader.Serve(request_index)); !sent) return sent;
  }
  const Result<ReaderStats> stats = reader.Finish();
  if (!stats) return stats.error();
  return SendStats(channel, *stats);
}

}  // namespace

Result<std::unique_ptr<ForkedReader>> ForkedReader::Start(const Workload& workload, const std::string& directory) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return Error::FromSystem(errno, "channel to the reading process");
  }
  UniqueFd parent_end(ends[0]);
  UniqueFd child_end(ends[1]);
  const pid_t child = ::fork();
  if (child < 0) return Error::FromSystem(errno, "start of the reading process");
  if (child == 0) {
    parent_end.Reset();
    PageReader reader(workload, directory);
    const Status served = ServeParent(reader, child_end.get());
    ::_exit(served.ok() ? 0 : 1);
  }
  return std::unique_ptr<ForkedReader>(new ForkedReader(child, std::move(parent_end)));
}

ForkedReader::~ForkedReader() {
  channel_.Reset();
  int status = 0;
  while (::waitpid(child_, &status, 0) < 0 && errno == EINTR) {
  }
}

Result<uint32_t> ForkedReader::Serve(size_t request_index) {
  if (Status sent = SendValue(channel_.get(), uint64_t{request_index}); !sent) return sent.error();
  Reply reply;
  if (Status got = ReceiveValue(channel_.get(), reply); !got) return got.error();
  if (reply.ok) return reply.hits;
  std::string text;
  if (Status got = ReceiveArray(channel_.get(), text); !got) return got.error();
  return Error(reply.code, text);
}

Result<ReaderStats> ForkedReader::Finish() {
  if (Status sent = SendValue(channel_.get(), kEndOfRequests); !sent) return sent.error();
  ReaderStats stats;
  if (Status got = ReceiveStats(channel_.get(), stats); !got) return got.error();
  return stats;
}

}  // namespace kvpagefs
