// What a node in a cluster has beyond a standalone one: its network threads, its page server, its client of the
// metadata daemon, and its links to peers. Private to fs/.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "fs/node_state.h"
#include "fs/page_server.h"
#include "fs/peers.h"
#include "fs/remote_pages.h"
#include "meta/remote_meta.h"
#include "net/net_threads.h"
#include "net/rpc.h"

namespace kvpagefs {

class ClusterParts {
 public:
  // Listens for peers; the node's metadata client comes out in node->meta. kInvalid, kUnavailable: the text names the
  // option, its value and the remedy.
  static Result<std::unique_ptr<ClusterParts>> Open(Node::State* node);
  ~ClusterParts();

  // Joins the cluster. The tiering has started. kUnavailable: no daemon answers.
  Status Join();
  // Lets go of peers that left. Not from a network thread.
  void Prune() { peers_->Prune(); }
  // No page is served or fetched, and nothing comes from the network any more.
  void Stop();

  RemotePages* remote() { return remote_.get(); }
  std::string address() const { return address_; }

 private:
  explicit ClusterParts(Node::State* node) : node_(node) {}
  NodeUse Use() const;

  Node::State* const node_;
  RemoteMeta* meta_ = nullptr;  // owned by the node
  std::unique_ptr<NetThreads> threads_;
  std::unique_ptr<PageServer> page_server_;
  std::unique_ptr<RpcServer> server_;
  std::string address_;
  std::unique_ptr<Peers> peers_;
  std::unique_ptr<RemotePages> remote_;
};

}  // namespace kvpagefs
