// The metadata service in another process (kvpagemetad), as a node sees it. Messages: meta/meta.proto.
//
// The node keeps one link to the service. On each new link it joins, publishes what could not be published meanwhile
// and tells of every page that it holds; the service tells it when what it remembers of such a page is out of date, and
// does not answer whoever changed it before that is acknowledged. So names of pages that are on this node are looked up
// here, without asking.
//
// Without the service: pages of this node are found by the names last known, other names are kNotFound, new pages are
// kept to be published later, and what would change names of others is kUnavailable.
//
// Invariants:
//  R1 what is answered without asking is known to the service under this link's session, local to this node, or there
//  is
//     no link.
//  R2 a page that the service says is gone, or does not know and cannot be told of, leaves the node (NodeSide::on_gone)
//     before the service is answered.
//  R3 holdings are told in the order in which they changed; every session begins with the whole inventory.
// Any thread; completions run in the caller or on a network thread, never with a lock.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "meta/cluster.h"
#include "meta/meta_client.h"
#include "net/address.h"
#include "net/net_threads.h"

namespace kvpagefs {

struct HeldPage {
  PageId id;
  uint8_t tiers = kNoTier;
};

class RemoteMeta final : public MetaClient, public Cluster {
 public:
  // What the client asks of the node. Called on network threads, without locks; must not block.
  struct NodeSide {
    // A page that the service does not know: what the node has kept beside its bytes.
    std::function<bool(PageId, PageDescription*)> describe;
    std::function<void(std::span<const PageId>)> on_gone;
    std::function<NodeUse()> use;
  };
  struct Options {
    std::vector<Address> addresses;
    std::string secret;
    std::string identity;  // stays with the node's SSD directory
    std::string node_name;
    std::string address;                     // of this node's page server
    std::string temporary_names = "*.tmp*";  // fnmatch(3): such names stay on the node until they are renamed
    int64_t call_timeout_ms = 2'000;
  };

  // `threads` and `clock` outlive the client.
  RemoteMeta(NetThreads* threads, Options options, const Clock* clock, Log log);
  ~RemoteMeta() override;
  // Connects, and goes on doing so. `held`: what the node has from earlier runs. What `node` refers to outlives the
  // Stop.
  void Start(NodeSide node, const std::vector<HeldPage>& held);
  // No call to the node's side runs afterwards; calls under way are answered. Not from a network thread.
  void Stop();
  // True once the node has joined; false after `timeout_ms`, or when it is refused.
  bool WaitUntilJoined(int64_t timeout_ms);

  // MetaClient. Describe answers before it returns, without a path when the name is temporary or not remembered.
  void Lookup(NameView name, Completion<EntryInfo> done) override;
  void FindPage(PageId id, Completion<PageInfo> done) override;
  void FindDir(DirId id, Completion<DirInfo> done) override;
  void NameOf(PageId id, Completion<NameRef> done) override;
  void Publish(NameView name, const PageInfo& page, const Xattrs& xattrs, bool exclusive,
               Completion<Namespace::Outcome> done) override;
  void Rename(NameView from, NameView to, Namespace::RenameMode mode, Completion<Namespace::Outcome> done) override;
  void Unlink(NameView name, Completion<PageInfo> done) override;
  void MakeDir(NameView name, const Ownership& owner, Completion<DirInfo> done) override;
  void RemoveDir(NameView name, Completion<void> done) override;
  void ChangePage(PageId id, const AttributeChange& change, Completion<PageInfo> done) override;
  void ChangeDir(DirId id, const AttributeChange& change, Completion<DirInfo> done) override;
  void SetPin(PageId id, Pin pin, Completion<void> done) override;
  void SetXattr(uint64_t id, std::string_view key, std::string_view value, Namespace::XattrMode mode,
                Completion<void> done) override;
  void GetXattr(uint64_t id, std::string_view key, Completion<std::string> done) override;
  void RemoveXattr(uint64_t id, std::string_view key, Completion<void> done) override;
  void GetXattrs(uint64_t id, Completion<Xattrs> done) override;
  void List(DirId dir, uint64_t cursor, size_t max_entries, size_t max_bytes,
            Completion<std::vector<ListedEntry>> done) override;
  void DropPages(std::span<const PageId> pages, Completion<std::vector<NameRef>> done) override;
  void Describe(PageId id, Completion<PageDescription> done) override;
  void Announce(const PageDescription& described, Completion<Namespace::Outcome> done) override;
  void Sync(Completion<void> done) override;
  NamespaceStats GetStats() const override;
  std::string Problem() const override;
  PageId NewPageId() override;

  // Cluster
  void Locate(PageId id, Completion<Replicas> done) override;
  void ForgetLocation(PageId id) override;
  void NoteHeld(PageId id, uint8_t tiers) override;
  std::vector<Member> Members() const override;
  std::string AddressOf(uint16_t node) const override;
  uint16_t number() const override;
  bool connected() const override;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace kvpagefs
