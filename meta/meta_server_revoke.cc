// Telling nodes that what they have or remember is out of date, and waiting for their word.
#include "meta/meta_server_state.h"

namespace kvpagefs {
namespace {

constexpr int64_t kNsPerMs = 1'000'000;

}  // namespace

// Those that have a copy, and those that may have one and have not said so yet.
std::set<NodeSlot> MetaServer::State::ConcernedLocked(PageId page, NodeSlot requester) const {
  std::set<NodeSlot> slots;
  for (const ReplicaTable::Copy& copy : replicas.Of(page)) {
    if (sessions.contains(copy.slot)) slots.insert(copy.slot);
  }
  for (const auto& [slot, session] : sessions) {
    if (!nodes.IsComplete(slot)) slots.insert(slot);
  }
  slots.erase(requester);
  return slots;
}

void MetaServer::State::RetireLocked(PageId page, NodeSlot requester, Revokes* revokes) {
  for (const NodeSlot slot : ConcernedLocked(page, requester)) (*revokes)[slot].add_gone(page.value);
  replicas.Remove(page);
  deleted.Add(page);
}

void MetaServer::State::ChangedLocked(PageId page, NodeSlot requester, Revokes* revokes) {
  for (const NodeSlot slot : ConcernedLocked(page, requester)) (*revokes)[slot].add_renamed(page.value);
}

void MetaServer::State::AnswerIfDone(Waiting* waiting) {
  if (!waiting->slots.empty() || !waiting->reply) return;
  waiting->reply->Ok(std::move(waiting->body));
  waiting->reply.reset();
}

void MetaServer::State::FinishLocked(Call* call, const google::protobuf::Message& answer, const Revokes& revokes) {
  if (revokes.empty()) return call->reply.Ok(answer.SerializeAsString());
  auto waiting = std::make_shared<Waiting>();
  waiting->reply.emplace(std::move(call->reply));
  waiting->body = answer.SerializeAsString();
  waiting->deadline_ns = Now() + options.revoke_limit_ms * kNsPerMs;
  for (const auto& [slot, request] : revokes) waiting->slots.insert(slot);
  waiting_answers.push_back(waiting);
  for (const auto& [slot, request] : revokes) SendRevokeLocked(waiting, slot, request);
}

void MetaServer::State::SendRevokeLocked(const std::shared_ptr<Waiting>& waiting, NodeSlot slot,
                                         const wire::RevokeRequest& request) {
  const auto session = sessions.find(slot);
  if (session == sessions.end()) return;
  if (session->second.link == nullptr) {
    return EndSessionLocked(slot, "it has lost its link and cannot be told what is gone");
  }
  RpcRequest call;
  call.method = static_cast<uint16_t>(MetaMethod::kRevoke);
  call.body = request.SerializeAsString();
  // The limit is Tick's to watch, because a pause of this process must not count.
  call.timeout_ms = 2 * options.revoke_limit_ms;
  session->second.link->Call(std::move(call),
                             [state = weak_from_this(), waiting, slot](const Result<RpcAnswer>& answer) {
                               if (const auto self = state.lock()) self->Acknowledged(waiting, slot, answer);
                             });
}

void MetaServer::State::Acknowledged(const std::shared_ptr<Waiting>& waiting, NodeSlot slot,
                                     const Result<RpcAnswer>& answer) {
  {
    MutexLock lock(mutex);
    // Not waited for any more: the slot may be another session's by now.
    if (!waiting->slots.contains(slot)) return;
    if (answer.ok()) {
      nodes.Heard(slot, Now());
      waiting->slots.erase(slot);
      AnswerIfDone(waiting.get());
      if (waiting->slots.empty()) std::erase(waiting_answers, waiting);
    } else {
      EndSessionLocked(slot, "it did not acknowledge what is gone: " + answer.error().Describe());
    }
  }
  CloseLinks();
}

}  // namespace kvpagefs
