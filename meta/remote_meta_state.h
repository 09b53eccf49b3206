// Private to RemoteMeta.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <absl/container/flat_hash_map.h>

#include "base/mutex.h"
#include "meta/name_cache.h"
#include "meta/page_news.h"
#include "meta/remote_meta.h"
#include "meta/seen_pages.h"
#include "meta/wire.h"
#include "net/rpc.h"

namespace kvpagefs {

struct RemoteMeta::State final : RpcHandler, std::enable_shared_from_this<RemoteMeta::State> {
  State(NetThreads* net_threads, Options client_options, const Clock* node_clock, Log node_log)
      : threads(net_threads), options(std::move(client_options)), clock(node_clock), log(std::move(node_log)) {}

  // A call to the service under the present session. Not joined, no answer in time, link lost: kUnavailable.
  template <class Reply, class Message>
  void Call(MetaMethod method, const Message& message, std::function<void(Result<Reply>)> done) {
    std::shared_ptr<RpcLink> to;
    {
      MutexLock lock(mutex);
      to = link;
    }
    if (to == nullptr) return done(ErrorCode::kUnavailable);
    CallOn<Reply>(*to, method, message, std::move(done));
  }
  template <class Reply, class Message>
  void CallOn(RpcLink& to, MetaMethod method, const Message& message, std::function<void(Result<Reply>)> done) {
    RpcRequest request;
    request.method = static_cast<uint16_t>(method);
    request.body = message.SerializeAsString();
    request.timeout_ms = options.call_timeout_ms;
    to.Call(std::move(request), [done = std::move(done)](Result<RpcAnswer> answer) {
      if (answer.ok()) return done(Parse<Reply>(answer->body));
      // A deadline is not a signal that the caller got.
      if (answer.code() == ErrorCode::kInterrupted) return done(Error(ErrorCode::kUnavailable, "no answer in time"));
      done(answer.error());
    });
  }

  // remote_meta.cc: what is remembered.
  // The page when it may be answered without asking.
  const CachedPage* TrustedLocked(const CachedPage* page) const KVP_REQUIRES(mutex);
  const CachedPage* LocalLocked(PageId id) const KVP_REQUIRES(mutex);
  bool RegisteredLocked(PageId id) const KVP_REQUIRES(mutex);
  // Where a page that is on this node is.
  uint8_t TiersLocked(PageId id) const KVP_REQUIRES(mutex);
  void ForgetLocked(PageId id) KVP_REQUIRES(mutex);
  bool Temporary(NameView name) const;
  Result<EntryInfo> OfflineLocked(NameView name) const KVP_REQUIRES(mutex);
  // Notes what the service said. `asked`: for which name; empty when the reply has it.
  EntryInfo Learn(const wire::EntryReply& reply, const NameRef& asked);
  // Notes the answer to a change of its facts.
  void LearnFacts(const PageInfo& page, uint64_t asked_at);
  void Forget(PageId id);
  // Answers when the addresses of all these nodes are known.
  void AnswerReplicas(Replicas replicas, const Completion<Replicas>& done);

  // remote_meta_writes.cc
  // A name that only this node knows from now on.
  Namespace::Outcome PutLocalLocked(NameView name, const PageInfo& page, const Xattrs& xattrs, CachedPage::State as)
      KVP_REQUIRES(mutex);
  void SendPublish(const CachedPage& page, bool exclusive, Completion<Namespace::Outcome> done);
  Namespace::Outcome LearnPublished(const CachedPage& page, const wire::OutcomeReply& reply, uint64_t asked_at);
  // The answer to a change said that the page has this name. Such an answer may have waited for other nodes: what came
  // since the question was asked is newer.
  void NoteNameLocked(const PageInfo& page, NameRef name, uint64_t asked_at) KVP_REQUIRES(mutex);
  uint64_t Now() const {
    MutexLock lock(mutex);
    return news.now();
  }

  // remote_meta_session.cc
  void OnUp(const std::shared_ptr<RpcLink>& up) override;
  void OnRequest(const std::shared_ptr<RpcLink>& from, uint16_t method, std::string body, RpcReply reply) override;
  void OnDown(const std::shared_ptr<RpcLink>& down, const Error& why) override;
  void Join(const std::shared_ptr<RpcLink>& up);
  void Joined(const std::shared_ptr<RpcLink>& up, const wire::JoinReply& reply);
  void SendUnsent();
  void Republished(const CachedPage& page, const Result<Namespace::Outcome>& outcome);
  void Beat();
  void NoteBeat(const wire::HeartbeatReply& reply);
  void NoteMembers(uint64_t version, const google::protobuf::RepeatedPtrField<wire::Member>& list);
  void Revoke(const wire::RevokeRequest& request);

  // remote_meta_holdings.cc
  struct Change {
    PageId id;
    uint8_t tiers = kNoTier;
    // The end of a DropPages whose pages are up to here.
    std::function<void(const Result<wire::HoldingsReply>&)> done;
  };
  void Tell(std::vector<Change> more);
  void SendChanges();
  void ChangesSent(uint64_t of_session, const std::vector<Change>& sent, const Result<wire::HoldingsReply>& reply);
  void AnnounceUnknown(const std::vector<PageId>& unknown);
  void Announced(const std::vector<PageId>& pages, const Result<wire::AnnounceReply>& reply);

  NetThreads* const threads;
  const Options options;
  const Clock* const clock;
  const Log log;
  NodeSide node;  // set in Start
  std::unique_ptr<RpcClient> client;
  std::atomic<uint16_t> number{0};
  std::atomic<uint64_t> next_page{0};
  const uint64_t incarnation = static_cast<uint64_t>(clock->WallNs());

  mutable Mutex mutex;
  CondVar joined;
  bool stopped KVP_GUARDED_BY(mutex) = false;
  std::shared_ptr<RpcLink> link KVP_GUARDED_BY(mutex);  // null: not joined
  uint64_t session KVP_GUARDED_BY(mutex) = 0;           // counts joins
  uint64_t service_run KVP_GUARDED_BY(mutex) = 0;
  int64_t heartbeat_ms KVP_GUARDED_BY(mutex) = 1'000;
  bool beats KVP_GUARDED_BY(mutex) = false;    // the heartbeat's timer runs
  bool beating KVP_GUARDED_BY(mutex) = false;  // the node is being asked for its use
  CondVar beat_over;
  uint64_t beats_sent KVP_GUARDED_BY(mutex) = 0;
  NameCache cache KVP_GUARDED_BY(mutex);
  PageNews news KVP_GUARDED_BY(mutex);
  SeenPages seen KVP_GUARDED_BY(mutex);
  // Pages that the service knows, or is to know, to be here; of those told in this session it tells the changes.
  struct Holding {
    uint8_t tiers = kNoTier;
    uint64_t session = 0;
  };
  absl::flat_hash_map<uint64_t, Holding> held KVP_GUARDED_BY(mutex);

  // Holdings that are to be told, in order; at most one request is under way.
  std::vector<Change> changes KVP_GUARDED_BY(mutex);
  bool sending KVP_GUARDED_BY(mutex) = false;
  bool inventory_ends KVP_GUARDED_BY(mutex) = false;  // with the last of `changes`

  std::vector<Member> members KVP_GUARDED_BY(mutex);
  uint64_t members_version KVP_GUARDED_BY(mutex) = 0;
  NamespaceStats stats KVP_GUARDED_BY(mutex);
  std::string service_problem KVP_GUARDED_BY(mutex);
};

}  // namespace kvpagefs
