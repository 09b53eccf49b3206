// Nodes: joining, heartbeats, what they hold.
#include <algorithm>

#include "meta/meta_server_state.h"
#include "meta/page_counter.h"
#include "meta/page_description.h"

namespace kvpagefs {
namespace {

constexpr int kAnnouncePiece = 256;

Error TooMany() { return {ErrorCode::kInvalid, "more than " + std::to_string(kMaxBatch) + " in one request"}; }

}  // namespace

void MetaServer::State::JoinLocked(const wire::JoinRequest& request, Call* call) {
  NodeTable::Joining joining{.identity = request.identity(),
                             .name = request.name(),
                             .address = request.address(),
                             .number = static_cast<uint16_t>(request.number() <= UINT16_MAX ? request.number() : 0),
                             .use = FromWire(request.use())};
  const auto joined = nodes.Join(joining, Now());
  if (!joined.ok()) {
    log.Warning("{} cannot join: {}", call->link->peer(), joined.error().Describe());
    return call->reply.Fail(joined.error());
  }
  // Nobody uses up all counters; what a damaged message says must not make ids of another node.
  const uint64_t first_counter =
      std::min(std::max(nodes.FirstCounter(joined->number), PageCounterByClock(clock->WallNs())), kIdCounterMask);
  ForgetSessionLocked(joined->ended, call->link.get());
  auto* info = static_cast<LinkInfo*>(call->link->context().get());
  if (info->slot != joined->ended && nodes.IsAlive(info->slot)) {
    nodes.End(info->slot, Now());
    ForgetSessionLocked(info->slot, call->link.get());
  }
  info->slot = joined->slot;
  sessions[joined->slot] = {.link = call->link, .name = joining.name};
  log.Info("node {} ({}) joins from {} as number {}{}", joining.name, joining.address, call->link->peer(),
           joined->number, joined->ended == 0 ? "" : ", again");
  wire::JoinReply reply;
  reply.set_number(joined->number);
  reply.set_first_page_counter(first_counter);
  reply.set_run(run);
  reply.set_heartbeat_ms(static_cast<uint32_t>(options.heartbeat_ms));
  reply.set_timeout_ms(static_cast<uint32_t>(options.timeout_ms));
  call->reply.Ok(reply.SerializeAsString());
}

void MetaServer::State::ForgetSessionLocked(NodeSlot slot, const RpcLink* keep) {
  const auto found = sessions.find(slot);
  if (found == sessions.end()) return;
  if (found->second.link != nullptr && found->second.link.get() != keep) closing.push_back(found->second.link);
  sessions.erase(found);
  for (const auto& waiting : waiting_answers) {
    waiting->slots.erase(slot);
    AnswerIfDone(waiting.get());
  }
  std::erase_if(waiting_answers, [](const auto& waiting) { return waiting->slots.empty(); });
}

void MetaServer::State::EndSessionLocked(NodeSlot slot, const std::string& why) {
  const auto found = sessions.find(slot);
  if (found == sessions.end()) return;
  log.Warning("node {} (number {}) has to join again: {}", found->second.name, nodes.NumberOf(slot), why);
  nodes.End(slot, Now());
  ForgetSessionLocked(slot, nullptr);
}

void MetaServer::State::HeartbeatLocked(const wire::HeartbeatRequest& request, Call* call) {
  nodes.SetUse(call->slot, FromWire(request.use()));
  wire::HeartbeatReply reply;
  reply.set_members_version(nodes.members_version());
  if (request.members_version() != nodes.members_version()) {
    for (const Member& member : nodes.Members(Now())) ToWire(member, reply.add_members());
  }
  const NamespaceStats stats = meta->GetStats();
  reply.set_pages(stats.pages);
  reply.set_page_bytes(stats.page_bytes);
  reply.set_directories(stats.directories);
  reply.set_problem(problem.empty() ? meta->Problem() : problem);
  call->reply.Ok(reply.SerializeAsString());
}

void MetaServer::State::MembersLocked(const wire::Empty& /*request*/, Call* call) {
  wire::MembersReply reply;
  reply.set_version(nodes.members_version());
  for (const Member& member : nodes.Members(Now())) ToWire(member, reply.add_members());
  call->reply.Ok(reply.SerializeAsString());
}

void MetaServer::State::HoldingsLocked(const wire::HoldingsRequest& request, Call* call) {
  if (request.held_size() > kMaxBatch) return call->reply.Fail(TooMany());
  wire::HoldingsReply reply;
  std::vector<PageId> lost;
  for (const wire::Held& held : request.held()) {
    const PageId id{held.id()};
    const uint8_t tiers = TiersFromWire(held.tiers());
    const bool known = id.valid() && Answered<PageInfo>([&](auto done) { meta->FindPage(id, done); }).ok();
    if (!known) {
      if (tiers != kNoTier) reply.add_unknown(id.value);
      continue;
    }
    replicas.Set(id, call->slot, tiers);
    // In the grace period others may have it.
    if (tiers == kNoTier && walked && !replicas.HasAny(id)) lost.push_back(id);
  }
  for (const NameRef& name : DropPagesLocked(lost)) ToWire(NameView{name.parent, name.name}, reply.add_dropped());
  if (request.complete()) nodes.SetComplete(call->slot);
  call->reply.Ok(reply.SerializeAsString());
}

// A whole inventory may come this way; others get their turn between pieces.
void MetaServer::State::Announce(const wire::AnnounceRequest& request, Call* call) {
  if (request.pages_size() > kMaxBatch) return call->reply.Fail(TooMany());
  wire::AnnounceReply reply;
  Revokes revokes;
  int next = 0;
  do {
    MutexLock lock(mutex);
    if (!nodes.IsAlive(call->slot)) {
      return call->reply.Fail(Error(ErrorCode::kNotPermitted, "the session has ended: join again"));
    }
    for (const int end = std::min(request.pages_size(), next + kAnnouncePiece); next < end; ++next) {
      wire::AnnounceResult* result = reply.add_results();
      const Status done = AnnounceOneLocked(request.pages(next), call->slot, &revokes, result->mutable_outcome());
      result->set_code(ResultCode(done));
      if (!done.ok()) result->clear_outcome();
    }
    if (next == request.pages_size()) FinishLocked(call, reply, revokes);
  } while (next < request.pages_size());
  CloseLinks();
}

Status MetaServer::State::AnnounceOneLocked(const wire::Announced& announced, NodeSlot slot, Revokes* revokes,
                                            wire::OutcomeReply* out) {
  auto described = DecodeDescription(announced.description());
  if (!described.ok()) return described.error();
  const PageInfo facts = FromWire(announced.page());
  const uint8_t tiers = TiersFromWire(announced.tiers());
  if (!facts.id.valid() || tiers == kNoTier) return ErrorCode::kInvalid;
  nodes.SawPage(facts.id);
  if (deleted.Contains(facts.id)) return ErrorCode::kStale;
  size_t path_bytes = 0;
  for (const std::string& component : described->path) path_bytes += component.size() + 1;
  if (path_bytes > kMaxDescribedPathBytes) return ErrorCode::kNameTooLong;
  described->page.id = facts.id;
  described->page.bytes = facts.bytes;
  described->page.checksum = facts.checksum;
  described->page.owner.mode &= 07777;
  const uint8_t before = replicas.Set(facts.id, slot, tiers);
  auto outcome = Answered<Namespace::Outcome>([&](auto done) { meta->Announce(*described, done); });
  if (outcome.ok() && outcome->dropped == facts.id) outcome = TakeOverLocked(facts.id, *outcome);
  if (!outcome.ok()) {
    replicas.Set(facts.id, slot, before);
    return outcome.error();
  }
  if (outcome->dropped) RetireLocked(*outcome->dropped, slot, revokes);
  if (outcome->page.id != facts.id) ChangedLocked(outcome->page.id, slot, revokes);
  ToWire(*outcome, out);
  return {};
}

}  // namespace kvpagefs
