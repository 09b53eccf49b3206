#include "fs/peers.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "fs/page_server.h"
#include "fs/peer.pb.h"

namespace kvpagefs {

// One link, and what waits for it to come up.
class Peers::Stream final : public RpcHandler, public std::enable_shared_from_this<Stream> {
 public:
  explicit Stream(NetThreads* threads) : threads_(threads) {}

  void Connect(const Address& address, const std::string& secret, const Log& log) {
    RpcClient::Options options;
    options.addresses = {address};
    options.identity = {kPeerService, secret};
    client_ = RpcClient::Start(threads_, options, this, log);
  }
  // No callback runs afterwards.
  void Close() {
    client_.reset();
    std::vector<Waiting> waiting;
    {
      MutexLock lock(mutex_);
      closed_ = true;
      waiting = std::exchange(waiting_, {});
    }
    for (Waiting& one : waiting) Finish(one.read, ErrorCode::kUnavailable);
  }

  void Start(Read read) {
    ++load_;
    std::shared_ptr<RpcLink> link;
    bool closed = false;
    {
      MutexLock lock(mutex_);
      link = link_;
      closed = closed_;
      if (link == nullptr && !closed) {
        ScheduleGiveUp(next_waiting_, read.timeout_ms);
        waiting_.push_back({next_waiting_++, std::move(read)});
        return;
      }
    }
    if (closed) return Finish(read, ErrorCode::kUnavailable);
    Send(link, std::move(read));
  }
  size_t load() const { return load_.load(); }

  void OnUp(const std::shared_ptr<RpcLink>& link) override {
    std::vector<Waiting> waiting;
    {
      MutexLock lock(mutex_);
      link_ = link;
      waiting = std::exchange(waiting_, {});
    }
    for (Waiting& one : waiting) Send(link, std::move(one.read));
  }
  void OnRequest(const std::shared_ptr<RpcLink>&, uint16_t, std::string, RpcReply reply) override {
    reply.Fail(Error(ErrorCode::kNotSupported, "a reader serves nothing on this link"));
  }
  void OnDown(const std::shared_ptr<RpcLink>& link, const Error&) override {
    MutexLock lock(mutex_);
    if (link_ == link) link_ = nullptr;
  }

 private:
  struct Waiting {
    uint64_t number = 0;
    Read read;
  };

  void Send(const std::shared_ptr<RpcLink>& link, Read read) {
    wire::ReadPageRequest message;
    message.set_id(read.page.id.value);
    message.set_bytes(read.page.bytes);
    message.set_checksum(read.page.checksum);
    message.set_timeout_ms(static_cast<uint32_t>(std::clamp<int64_t>(read.timeout_ms, 1, UINT32_MAX)));
    RpcRequest request;
    request.method = kReadPageMethod;
    request.body = message.SerializeAsString();
    request.timeout_ms = read.timeout_ms;
    request.into = std::move(read.into);
    request.keep = read.keep;
    const uint64_t bytes = read.page.bytes;
    link->Call(std::move(request),
               [self = shared_from_this(), bytes, read = std::move(read)](Result<RpcAnswer> answer) {
                 Status status;
                 if (!answer.ok()) {
                   // A deadline is not a signal that the reader got.
                   const bool late = answer.code() == ErrorCode::kInterrupted;
                   status = late ? Error(ErrorCode::kUnavailable, "no answer in time") : answer.error();
                 } else if (answer->payload_bytes != bytes) {
                   status = Error(ErrorCode::kUnavailable, "a page of another size");
                 }
                 self->Finish(read, status);
               });
  }
  void Finish(const Read& read, const Status& status) {
    --load_;
    read.done(status);
  }
  void ScheduleGiveUp(uint64_t number, int64_t timeout_ms) {
    threads_->After(timeout_ms, [weak = weak_from_this(), number] {
      if (const auto self = weak.lock()) self->GiveUp(number);
    });
  }
  void GiveUp(uint64_t number) {
    std::vector<Waiting> late;
    {
      MutexLock lock(mutex_);
      const auto found = std::find_if(waiting_.begin(), waiting_.end(),
                                      [number](const Waiting& waiting) { return waiting.number == number; });
      if (found == waiting_.end()) return;
      late.push_back(std::move(*found));
      waiting_.erase(found);
    }
    Finish(late.front().read, Error(ErrorCode::kUnavailable, "no connection in time"));
  }

  NetThreads* const threads_;
  std::unique_ptr<RpcClient> client_;
  std::atomic<size_t> load_{0};
  Mutex mutex_;
  std::shared_ptr<RpcLink> link_ KVP_GUARDED_BY(mutex_);
  // Bounded by the fetches of the node, which have deadlines.
  std::vector<Waiting> waiting_ KVP_GUARDED_BY(mutex_);
  uint64_t next_waiting_ KVP_GUARDED_BY(mutex_) = 0;
  bool closed_ KVP_GUARDED_BY(mutex_) = false;
};

struct Peers::Peer {
  ~Peer() { Close(); }
  void Close() {
    for (const auto& stream : streams) stream->Close();
  }
  std::string address;
  std::vector<std::shared_ptr<Stream>> streams;
};

Peers::Peers(NetThreads* threads, const Cluster* cluster, std::string secret, Log log)
    : threads_(threads), cluster_(cluster), secret_(std::move(secret)), log_(std::move(log)) {}

void Peers::Stop() {
  std::vector<std::shared_ptr<Peer>> gone;
  {
    MutexLock lock(mutex_);
    stopped_ = true;
    gone = std::exchange(retired_, {});
    for (auto& [node, peer] : peers_) gone.push_back(std::move(peer));
    peers_.clear();
  }
  for (const std::shared_ptr<Peer>& peer : gone) peer->Close();
}

std::shared_ptr<Peers::Peer> Peers::PeerOf(uint16_t node) {
  const std::string address = cluster_->AddressOf(node);
  const Result<Address> parsed = ParseAddress(address, 0);
  if (!parsed.ok()) return nullptr;
  MutexLock lock(mutex_);
  if (stopped_) return nullptr;
  std::shared_ptr<Peer>& peer = peers_[node];
  if (peer != nullptr && peer->address == address) return peer;
  if (peer != nullptr) retired_.push_back(std::move(peer));
  peer = std::make_shared<Peer>();
  peer->address = address;
  for (size_t i = 0; i < kStreams; ++i) {
    peer->streams.push_back(std::make_shared<Stream>(threads_));
    peer->streams.back()->Connect(*parsed, secret_, log_);
  }
  return peer;
}

void Peers::Start(uint16_t node, Read read) {
  const std::shared_ptr<Peer> peer = PeerOf(node);
  if (peer == nullptr) return read.done(Error(ErrorCode::kUnavailable, "the node's address is not known"));
  const auto least = std::min_element(peer->streams.begin(), peer->streams.end(),
                                      [](const auto& a, const auto& b) { return a->load() < b->load(); });
  (*least)->Start(std::move(read));
}

size_t Peers::load(uint16_t node) const {
  MutexLock lock(mutex_);
  const auto found = peers_.find(node);
  size_t sum = 0;
  if (found != peers_.end()) {
    for (const auto& stream : found->second->streams) sum += stream->load();
  }
  return sum;
}

void Peers::Prune() {
  std::vector<std::shared_ptr<Peer>> gone;  // closed without the lock
  const std::vector<Member> members = cluster_->Members();
  MutexLock lock(mutex_);
  absl::erase_if(peers_, [&](auto& item) KVP_REQUIRES(mutex_) {
    const bool stays = std::any_of(members.begin(), members.end(), [&](const Member& member) {
      return member.number == item.first && member.state != "down";
    });
    if (!stays) retired_.push_back(std::move(item.second));
    return !stays;
  });
  // One that somebody is about to use is closed the next time.
  std::erase_if(retired_, [&](std::shared_ptr<Peer>& peer) {
    if (peer.use_count() > 1) return false;
    gone.push_back(std::move(peer));
    return true;
  });
}

}  // namespace kvpagefs
