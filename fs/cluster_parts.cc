#include "fs/cluster_parts.h"

#include <random>
#include <utility>

#include <fmt/format.h>

#include "daemon/secret_file.h"
#include "fs/sealing.h"

namespace kvpagefs {
namespace {

constexpr int64_t kJoinTimeoutMs = 10'000;

// Of a node that keeps nothing over a restart.
std::string RandomIdentity() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}", random(), random());
}

// Holds a page for a peer: never by asking another node.
void HoldForPeer(Node::State& node, const FetchedPage& page, int64_t timeout_ms, Promoter::Answer answer) {
  Result<PageHold> hold = node.tier->Hold(page.id, MemoryTier::Touch::kRead);
  if (hold.ok()) return answer(std::move(hold));
  Promoter::Request request;
  request.deadline_ns = node.clock.MonotonicNs() + timeout_ms * 1'000'000;
  request.touch = MemoryTier::Touch::kRead;
  request.for_peer = true;
  node.tiering->Fetch(page, request, std::move(answer));
}

}  // namespace

Result<std::unique_ptr<ClusterParts>> ClusterParts::Open(Node::State* node) {
  const Options& options = node->options;
  std::unique_ptr<ClusterParts> parts(new ClusterParts(node));
  const Result<std::string> secret =
      options.secret_file.empty() ? Result<std::string>(std::string()) : ReadSecretFile(options.secret_file);
  if (!secret.ok()) return secret.error();
  parts->threads_ = std::make_unique<NetThreads>(options.net_threads);
  parts->page_server_ = std::make_unique<PageServer>(
      [node](const FetchedPage& page, int64_t timeout_ms, Promoter::Answer answer) {
        HoldForPeer(*node, page, timeout_ms, std::move(answer));
      },
      &node->counters);
  RpcServer::Options server;
  server.listen = options.listen;
  server.identity = {kPeerService, *secret};
  auto listening = RpcServer::Listen(parts->threads_.get(), server, parts->page_server_.get(), node->log);
  if (!listening.ok()) {
    return Error(listening.error().code(),
                 fmt::format("listen '{}': {}", options.listen.ToString(), listening.error().Describe()));
  }
  parts->server_ = std::move(*listening);
  parts->address_ = parts->server_->address().ToString();

  RemoteMeta::Options meta;
  meta.addresses = options.meta_addresses;
  meta.secret = *secret;
  meta.identity = node->tiering->identity() != 0 ? fmt::format("{:016x}", node->tiering->identity()) : RandomIdentity();
  meta.node_name = options.node_name;
  meta.address = parts->address();
  meta.temporary_names = options.temporary_names;
  auto client = std::make_unique<RemoteMeta>(parts->threads_.get(), std::move(meta), &node->clock, node->log);
  parts->meta_ = client.get();
  node->meta = std::move(client);
  node->cluster = parts->meta_;
  parts->peers_ = std::make_unique<Peers>(parts->threads_.get(), parts->meta_, *secret, node->log);
  RemotePages::Parts remote;
  remote.cluster = parts->meta_;
  remote.peers = parts->peers_.get();
  remote.clock = &node->clock;
  remote.counters = &node->counters;
  remote.log = node->log;
  parts->remote_ = std::make_unique<RemotePages>(std::move(remote));
  return parts;
}

ClusterParts::~ClusterParts() { Stop(); }

Status ClusterParts::Join() {
  RemoteMeta::NodeSide side;
  side.describe = [node = node_](PageId id, PageDescription* described) {
    return node->tiering->DescribeRecovered(id, described);
  };
  side.on_gone = [node = node_](std::span<const PageId> pages) {
    for (const PageId page : pages) RemovePage(*node, page);
  };
  side.use = [this] { return Use(); };
  meta_->Start(std::move(side), node_->tiering->Inventory());
  node_->log.Info("serving peers on {}", address());
  if (meta_->WaitUntilJoined(kJoinTimeoutMs)) return {};
  return Error(ErrorCode::kUnavailable,
               fmt::format("metadata daemon '{}' does not answer ({}): start kvpagemetad there, or name another SOURCE",
                           node_->options.source, meta_->Problem()));
}

void ClusterParts::Stop() {
  server_.reset();
  if (peers_ != nullptr) peers_->Stop();
  if (meta_ != nullptr) std::exchange(meta_, nullptr)->Stop();
}

NodeUse ClusterParts::Use() const {
  const MemoryTier::Stats memory = node_->tier->GetStats();
  NodeUse use;
  use.memory_bytes = memory.capacity_bytes;
  use.memory_used_bytes = memory.capacity_bytes - memory.free_bytes;
  use.pages = memory.pages;
  if (node_->tiering->has_ssd()) {
    const SsdLog::Stats ssd = node_->tiering->ssd()->GetStats();
    use.ssd_bytes = ssd.capacity_bytes;
    use.ssd_used_bytes = ssd.live_bytes;
  }
  return use;
}

}  // namespace kvpagefs
