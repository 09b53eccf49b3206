#include "fs/remote_pages.h"

#include <algorithm>
#include <utility>

#include "base/checksum.h"

namespace kvpagefs {
namespace {

// What one node may take of the time that is left, so that another one gets a chance.
constexpr int64_t kMinAttemptMs = 50;

bool HasChecksum(const std::vector<iovec>& pieces, uint64_t checksum) {
  StreamingChecksum sum;
  for (const iovec& piece : pieces) sum.Update({static_cast<const std::byte*>(piece.iov_base), piece.iov_len});
  return sum.Digest() == checksum;
}

// The first `bytes` of whole blocks.
std::vector<iovec> CutTo(std::vector<iovec> blocks, uint64_t bytes) {
  std::vector<iovec> cut;
  for (iovec& piece : blocks) {
    if (bytes == 0) break;
    piece.iov_len = std::min<uint64_t>(piece.iov_len, bytes);
    bytes -= piece.iov_len;
    cut.push_back(piece);
  }
  return cut;
}

}  // namespace

struct RemotePages::Search {
  Read read;
  std::vector<iovec> pieces;
  std::function<void(const Status&)> done;
  Replicas left;
  std::vector<uint16_t> tried;
  bool asked_anew = false;
};

void RemotePages::Start(Read read, std::function<void(const Status&)> done) {
  auto search = std::make_shared<Search>();
  search->pieces = CutTo(read.blocks, read.page.bytes);
  search->read = std::move(read);
  search->done = std::move(done);
  Find(search);
}

void RemotePages::Find(const std::shared_ptr<Search>& search) {
  parts_.cluster->Locate(search->read.page.id, [this, search](const Result<Replicas>& replicas) {
    if (!replicas.ok()) return search->done(ErrorCode::kNotFound);
    for (const Replica& replica : *replicas) {
      const auto& tried = search->tried;
      if (std::find(tried.begin(), tried.end(), replica.node) == tried.end()) search->left.push_back(replica);
    }
    TryNext(search);
  });
}

void RemotePages::TryNext(const std::shared_ptr<Search>& search) {
  const int64_t left_ms = (search->read.deadline_ns - parts_.clock->MonotonicNs()) / 1'000'000;
  if (left_ms <= 0) return search->done(ErrorCode::kNotFound);
  if (search->left.empty()) {
    if (std::exchange(search->asked_anew, true)) return search->done(ErrorCode::kNotFound);
    parts_.cluster->ForgetLocation(search->read.page.id);
    return Find(search);
  }
  const auto best = std::min_element(search->left.begin(), search->left.end(), [&](const auto& a, const auto& b) {
    const bool a_memory = (a.tiers & kMemoryTier) != 0;
    const bool b_memory = (b.tiers & kMemoryTier) != 0;
    if (a_memory != b_memory) return a_memory;
    return parts_.peers->load(a.node) < parts_.peers->load(b.node);
  });
  const uint16_t node = best->node;
  search->left.erase(best);
  search->tried.push_back(node);
  Peers::Read read;
  read.page = search->read.page;
  read.into = search->pieces;
  read.keep = search->read.keep;
  // All the time that there is goes to the last one, of which the service has no more to tell.
  read.timeout_ms =
      search->left.empty() && search->asked_anew ? left_ms : std::min(left_ms, std::max(kMinAttemptMs, left_ms / 2));
  read.done = [this, search, node](const Status& status) { Arrived(search, node, status); };
  parts_.peers->Start(node, std::move(read));
}

void RemotePages::Arrived(const std::shared_ptr<Search>& search, uint16_t node, const Status& status) {
  const FetchedPage& page = search->read.page;
  if (status.ok() && HasChecksum(search->pieces, page.checksum)) {
    parts_.counters->Add(Counter::kRemoteFetches);
    parts_.counters->Add(Counter::kRemoteFetchedBytes, page.bytes);
    return search->done({});
  }
  if (status.ok()) {
    parts_.counters->Add(Counter::kRemoteWrongBytes);
    parts_.log.Warning("page {:016x} from node {}: wrong checksum; another copy is tried", page.id.value, node);
  } else {
    parts_.counters->Add(Counter::kRemoteFailures);
    parts_.log.Debug("page {:016x} from node {}: {}", page.id.value, node, status.error().Describe());
  }
  TryNext(search);
}

}  // namespace kvpagefs
