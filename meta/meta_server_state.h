// Private to MetaServer.
#pragma once

#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "meta/deleted_pages.h"
#include "meta/embedded_meta.h"
#include "meta/meta_server.h"
#include "meta/node_table.h"
#include "meta/replica_table.h"
#include "meta/server_files.h"
#include "meta/wire.h"

namespace kvpagefs {

// Lists in a request are at most so long.
inline constexpr int kMaxBatch = 4096;

struct MetaServer::State : std::enable_shared_from_this<MetaServer::State> {
  // What is known of a link; its context.
  struct LinkInfo {
    NodeSlot slot = 0;  // of its session, which may have ended; 0: it has not joined
  };
  struct Session {
    std::shared_ptr<RpcLink> link;  // null: lost, the node may come back
    std::string name;
  };
  // A request under way.
  struct Call {
    const std::shared_ptr<RpcLink>& link;
    std::string body;
    RpcReply reply;
    NodeSlot slot = 0;  // of the session of the link; 0: none
  };
  // What other nodes have to be told because of one request.
  using Revokes = std::map<NodeSlot, wire::RevokeRequest>;
  // An answer that is held back until they have acknowledged.
  struct Waiting {
    std::optional<RpcReply> reply;
    std::string body;
    std::set<NodeSlot> slots;
    int64_t deadline_ns = 0;
  };
  using Links = std::vector<std::shared_ptr<RpcLink>>;

  State(const Options& server_options, const Clock* server_clock, Log server_log);
  Status Open();
  Status RestoreFiles();
  int64_t Now() const { return clock->MonotonicNs(); }

  // Parses, checks who asks, and runs the handler: with the lock held, or without (Free) for what does not touch what
  // the lock guards.
  enum class Who : uint8_t { kAnyone, kJoined };
  template <class Request>
  void Serve(Call* call, Who who, void (State::*handle)(const Request&, Call*));
  template <class Request>
  void ServeFree(Call* call, Who who, void (State::*handle)(const Request&, Call*));
  Status AdmitLocked(Call* call, Who who) KVP_REQUIRES(mutex);
  void CloseLinks();
  void Dispatch(MetaMethod method, Call* call);
  bool DispatchNames(MetaMethod method, Call* call);
  bool DispatchFacts(MetaMethod method, Call* call);

  // meta_server_nodes.cc
  void JoinLocked(const wire::JoinRequest& request, Call* call) KVP_REQUIRES(mutex);
  void HeartbeatLocked(const wire::HeartbeatRequest& request, Call* call) KVP_REQUIRES(mutex);
  void MembersLocked(const wire::Empty& request, Call* call) KVP_REQUIRES(mutex);
  void HoldingsLocked(const wire::HoldingsRequest& request, Call* call) KVP_REQUIRES(mutex);
  void Announce(const wire::AnnounceRequest& request, Call* call);
  Status AnnounceOneLocked(const wire::Announced& announced, NodeSlot slot, Revokes* revokes, wire::OutcomeReply* out)
      KVP_REQUIRES(mutex);
  // The session has ended, for whatever reason: nobody waits for it any more, and its link goes unless it is `keep`.
  void ForgetSessionLocked(NodeSlot slot, const RpcLink* keep) KVP_REQUIRES(mutex);
  void EndSessionLocked(NodeSlot slot, const std::string& why) KVP_REQUIRES(mutex);

  // meta_server_names.cc
  void LookupLocked(const wire::NameRequest& request, Call* call) KVP_REQUIRES(mutex);
  void FindPageLocked(const wire::IdRequest& request, Call* call) KVP_REQUIRES(mutex);
  void FindDirLocked(const wire::IdRequest& request, Call* call) KVP_REQUIRES(mutex);
  void PublishLocked(const wire::PublishRequest& request, Call* call) KVP_REQUIRES(mutex);
  void RenameLocked(const wire::RenameRequest& request, Call* call) KVP_REQUIRES(mutex);
  void UnlinkLocked(const wire::NameRequest& request, Call* call) KVP_REQUIRES(mutex);
  void MakeDirLocked(const wire::MakeDirRequest& request, Call* call) KVP_REQUIRES(mutex);
  void RemoveDirLocked(const wire::NameRequest& request, Call* call) KVP_REQUIRES(mutex);
  void List(const wire::ListRequest& request, Call* call);
  Result<Namespace::Outcome> PublishOverLostLocked(NameView name, const PageInfo& page,
                                                   const wire::PublishRequest& request) KVP_REQUIRES(mutex);
  // `mine` was found equal to a page of which no copy is left and would go for it: it takes the name over instead.
  Result<Namespace::Outcome> TakeOverLocked(PageId mine, Namespace::Outcome outcome) KVP_REQUIRES(mutex);
  void ForgetLostLocked(PageId page) KVP_REQUIRES(mutex);
  bool HasLiveCopyLocked(PageId page) const KVP_REQUIRES(mutex);
  void AnswerEntryLocked(const EntryInfo& entry, wire::EntryReply* reply) const KVP_REQUIRES(mutex);

  // meta_server_facts.cc
  void ChangePageLocked(const wire::ChangeRequest& request, Call* call) KVP_REQUIRES(mutex);
  void ChangeDirLocked(const wire::ChangeRequest& request, Call* call) KVP_REQUIRES(mutex);
  void SetPinLocked(const wire::PinRequest& request, Call* call) KVP_REQUIRES(mutex);
  void SetXattrLocked(const wire::XattrRequest& request, Call* call) KVP_REQUIRES(mutex);
  void RemoveXattrLocked(const wire::XattrRequest& request, Call* call) KVP_REQUIRES(mutex);
  void FinishChangeLocked(uint64_t id, const Status& changed, Call* call) KVP_REQUIRES(mutex);
  void GetXattr(const wire::XattrRequest& request, Call* call);
  void GetXattrs(const wire::IdRequest& request, Call* call);
  void Sync(const wire::Empty& request, Call* call);

  // meta_server_revoke.cc
  // No name stands for the page any more.
  void RetireLocked(PageId page, NodeSlot requester, Revokes* revokes) KVP_REQUIRES(mutex);
  // What nodes remember of the page's name is out of date.
  void ChangedLocked(PageId page, NodeSlot requester, Revokes* revokes) KVP_REQUIRES(mutex);
  std::set<NodeSlot> ConcernedLocked(PageId page, NodeSlot requester) const KVP_REQUIRES(mutex);
  // Answers when everybody has acknowledged.
  void FinishLocked(Call* call, const google::protobuf::Message& answer, const Revokes& revokes) KVP_REQUIRES(mutex);
  void SendRevokeLocked(const std::shared_ptr<Waiting>& waiting, NodeSlot slot, const wire::RevokeRequest& request)
      KVP_REQUIRES(mutex);
  void Acknowledged(const std::shared_ptr<Waiting>& waiting, NodeSlot slot, const Result<RpcAnswer>& answer);
  static void AnswerIfDone(Waiting* waiting);

  // meta_server_sweep.cc
  int64_t Tick();
  void CheckTimesLocked(int64_t now_ns) KVP_REQUIRES(mutex);
  // One piece of work; false when nothing is left to do.
  bool StepLocked(int64_t now_ns) KVP_REQUIRES(mutex);
  bool SweepStepLocked() KVP_REQUIRES(mutex);
  bool WalkStepLocked() KVP_REQUIRES(mutex);
  void DropOrphansLocked() KVP_REQUIRES(mutex);
  std::vector<NameRef> DropPagesLocked(const std::vector<PageId>& pages) KVP_REQUIRES(mutex);
  // From here on deletions and node numbers survive the death of the daemon. Not with the lock held.
  Status SaveFiles();
  void SetProblem(const Status& saved);

  const Options options;
  const Clock* const clock;
  const Log log;
  const uint64_t run;
  std::unique_ptr<EmbeddedMeta> meta;
  std::unique_ptr<ServerFiles> files;  // null: nothing is persisted. Open's, then under save_mutex

  mutable Mutex mutex;
  NodeTable nodes KVP_GUARDED_BY(mutex);
  ReplicaTable replicas KVP_GUARDED_BY(mutex);
  DeletedPages deleted KVP_GUARDED_BY(mutex);
  std::map<NodeSlot, Session> sessions KVP_GUARDED_BY(mutex);
  std::list<std::shared_ptr<Waiting>> waiting_answers KVP_GUARDED_BY(mutex);
  Links closing KVP_GUARDED_BY(mutex);  // closed when the lock is released

  std::set<NodeSlot> sweeping KVP_GUARDED_BY(mutex);
  ReplicaTable::SweepPosition sweep_position KVP_GUARDED_BY(mutex);
  std::deque<PageId> orphans KVP_GUARDED_BY(mutex);
  uint64_t swept_names KVP_GUARDED_BY(mutex) = 0;
  // Names that came from the store are looked through once.
  bool walked KVP_GUARDED_BY(mutex) = true;
  int64_t grace_end_ns KVP_GUARDED_BY(mutex) = 0;
  Namespace::WalkPosition walk_position KVP_GUARDED_BY(mutex);
  std::string problem KVP_GUARDED_BY(mutex);

  Mutex save_mutex;                                                // before `mutex`
  uint64_t saved_nodes KVP_GUARDED_BY(save_mutex) = 0;             // version
  std::vector<PageId> unsaved_deleted KVP_GUARDED_BY(save_mutex);  // what could not be written
};

// The answer of a call of EmbeddedMeta that is answered before it returns.
template <class T, class Start>
Result<T> Answered(const Start& start) {
  std::optional<Result<T>> answer;
  start([&answer](Result<T> result) { answer.emplace(std::move(result)); });
  return std::move(*answer);
}

template <class Request>
void MetaServer::State::Serve(Call* call, Who who, void (State::*handle)(const Request&, Call*)) {
  const Result<Request> request = Parse<Request>(call->body);
  if (!request.ok()) return call->reply.Fail(request.error());
  {
    MutexLock lock(mutex);
    const Status admitted = AdmitLocked(call, who);
    if (!admitted.ok()) return call->reply.Fail(admitted.error());
    (this->*handle)(*request, call);
  }
  CloseLinks();
}

template <class Request>
void MetaServer::State::ServeFree(Call* call, Who who, void (State::*handle)(const Request&, Call*)) {
  const Result<Request> request = Parse<Request>(call->body);
  if (!request.ok()) return call->reply.Fail(request.error());
  {
    MutexLock lock(mutex);
    const Status admitted = AdmitLocked(call, who);
    if (!admitted.ok()) return call->reply.Fail(admitted.error());
  }
  (this->*handle)(*request, call);
}

}  // namespace kvpagefs
