// The link to the service: joining, heartbeats, what it tells us, and what could not be told.

#include <algorithm>
#include <utility>

#include "meta/page_counter.h"
#include "meta/remote_meta_state.h"

namespace kvpagefs {
namespace {

constexpr int64_t kMinHeartbeatMs = 10;
constexpr int64_t kLookAgainNs = 100'000'000;
constexpr uint64_t kBeatsAMemberList = 5;
constexpr int64_t kMaxHeartbeatMs = 60'000;

template <class Value>
void RaiseTo(std::atomic<Value>* counter, Value least) {
  Value now = counter->load();
  while (now < least && !counter->compare_exchange_weak(now, least)) {
  }
}

}  // namespace

void RemoteMeta::Start(NodeSide node, const std::vector<HeldPage>& held) {
  state_->node = std::move(node);
  {
    MutexLock lock(state_->mutex);
    for (const HeldPage& page : held) state_->held[page.id.value] = {page.tiers, 0};
  }
  state_->next_page.store(std::max<uint64_t>(PageCounterByClock(state_->clock->WallNs()), 1));
  RpcClient::Options client;
  client.addresses = state_->options.addresses;
  client.identity = {"meta", state_->options.secret};
  state_->client = RpcClient::Start(state_->threads, client, state_.get(), state_->log);
}

void RemoteMeta::Stop() {
  std::vector<State::Change> untold;
  {
    MutexLock lock(state_->mutex);
    state_->stopped = true;
    state_->link = nullptr;
    untold = std::exchange(state_->changes, {});
    while (state_->beating) state_->beat_over.WaitFor(state_->mutex, std::chrono::seconds(1));
  }
  for (const State::Change& change : untold) {
    if (change.done) change.done(ErrorCode::kUnavailable);
  }
  state_->client.reset();
}

bool RemoteMeta::WaitUntilJoined(int64_t timeout_ms) {
  const int64_t deadline_ns = state_->clock->MonotonicNs() + timeout_ms * 1'000'000;
  MutexLock lock(state_->mutex);
  while (state_->link == nullptr) {
    const int64_t left_ns = deadline_ns - state_->clock->MonotonicNs();
    if (left_ns <= 0 || state_->client->refused()) return false;
    state_->joined.WaitFor(state_->mutex, std::chrono::nanoseconds(std::min(left_ns, kLookAgainNs)));
  }
  return true;
}

void RemoteMeta::State::OnUp(const std::shared_ptr<RpcLink>& up) { Join(up); }

void RemoteMeta::State::Join(const std::shared_ptr<RpcLink>& up) {
  wire::JoinRequest request;
  request.set_identity(options.identity);
  request.set_name(options.node_name);
  request.set_address(options.address);
  request.set_number(number.load());
  request.set_incarnation(incarnation);
  ToWire(node.use(), request.mutable_use());
  CallOn<wire::JoinReply>(*up, MetaMethod::kJoin, request, [this, up](const Result<wire::JoinReply>& reply) {
    if (reply.ok() && reply->number() != 0 && reply->number() <= UINT16_MAX) return Joined(up, *reply);
    const Error why = reply.ok() ? Error(ErrorCode::kInvalid, "no node number in the answer") : reply.error();
    log.Warning("metadata daemon {}: cannot join: {}", up->peer(), why.Describe());
    up->Close(why);
  });
}

void RemoteMeta::State::Joined(const std::shared_ptr<RpcLink>& up, const wire::JoinReply& reply) {
  bool has_timer = false;
  {
    MutexLock lock(mutex);
    if (stopped) return;
    if (service_run != 0 && service_run != reply.run()) log.Info("metadata daemon {} was restarted", up->peer());
    number.store(static_cast<uint16_t>(reply.number()));
    RaiseTo(&next_page, reply.first_page_counter());
    service_run = reply.run();
    // Versions of another run mean nothing, and addresses may be old.
    members.clear();
    members_version = 0;
    heartbeat_ms = std::clamp<int64_t>(reply.heartbeat_ms(), kMinHeartbeatMs, kMaxHeartbeatMs);
    ++session;
    link = up;
    seen.Clear();
    changes.clear();
    for (const auto& [id, holding] : held) {
      if (LocalLocked(PageId{id}) == nullptr) changes.push_back({PageId{id}, holding.tiers, nullptr});
    }
    sending = false;
    inventory_ends = true;
    has_timer = std::exchange(beats, true);
  }
  log.Info("metadata daemon {}: joined as node {}", up->peer(), reply.number());
  joined.NotifyAll();
  SendUnsent();
  SendChanges();
  if (!has_timer) Beat();
}

void RemoteMeta::State::OnDown(const std::shared_ptr<RpcLink>& down, const Error& why) {
  std::vector<Change> untold;
  {
    MutexLock lock(mutex);
    if (link != down) return;
    link = nullptr;
    untold = std::exchange(changes, {});
    sending = false;
  }
  log.Warning("metadata daemon {} is gone: {}; pages of this node stay readable", down->peer(), why.Describe());
  for (const Change& change : untold) {
    if (change.done) change.done(ErrorCode::kUnavailable);
  }
}

// Also the time at which what could not be sent is tried again.
void RemoteMeta::State::Beat() {
  {
    MutexLock lock(mutex);
    if (stopped) return;
    beating = true;
  }
  wire::HeartbeatRequest request;
  ToWire(node.use(), request.mutable_use());
  std::shared_ptr<RpcLink> to;
  int64_t pause_ms = 0;
  {
    MutexLock lock(mutex);
    beating = false;
    beat_over.NotifyAll();
    if (stopped) return;
    to = link;
    pause_ms = heartbeat_ms;
    // How much they use changes no version.
    const bool all = ++beats_sent % kBeatsAMemberList == 0;
    request.set_members_version(all ? 0 : members_version);
    if (to == nullptr) beats = false;
  }
  // The next join starts it anew.
  if (to == nullptr) return;
  CallOn<wire::HeartbeatReply>(*to, MetaMethod::kHeartbeat, request,
                               [this, to](const Result<wire::HeartbeatReply>& reply) {
                                 if (!reply.ok()) return to->Close(reply.error());
                                 NoteBeat(*reply);
                               });
  threads->After(pause_ms, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->Beat();
  });
}

void RemoteMeta::State::NoteMembers(uint64_t version, const google::protobuf::RepeatedPtrField<wire::Member>& list) {
  MutexLock lock(mutex);
  members.clear();
  for (const wire::Member& member : list) members.push_back(FromWire(member));
  std::sort(members.begin(), members.end(), [](const auto& a, const auto& b) { return a.number < b.number; });
  members_version = version;
}

void RemoteMeta::State::NoteBeat(const wire::HeartbeatReply& reply) {
  bool unsent = false;
  bool changed = false;
  {
    MutexLock lock(mutex);
    stats = {reply.pages(), reply.page_bytes(), reply.directories()};
    service_problem = reply.problem();
    changed = reply.members_size() > 0;
    unsent = cache.any_unsent();
  }
  if (changed) NoteMembers(reply.members_version(), reply.members());
  if (unsent) SendUnsent();
}

void RemoteMeta::State::OnRequest(const std::shared_ptr<RpcLink>&, uint16_t method, std::string body, RpcReply reply) {
  if (method != static_cast<uint16_t>(MetaMethod::kRevoke)) {
    return reply.Fail(Error(ErrorCode::kNotSupported, "a node does not answer that"));
  }
  const Result<wire::RevokeRequest> request = Parse<wire::RevokeRequest>(body);
  if (!request.ok()) return reply.Fail(request.error());
  Revoke(*request);
  reply.Ok(wire::Empty().SerializeAsString());
}

void RemoteMeta::State::Revoke(const wire::RevokeRequest& request) {
  std::vector<PageId> gone;
  {
    MutexLock lock(mutex);
    for (const uint64_t id : request.renamed()) {
      // What is kept is good for a description only.
      if (CachedPage* page = cache.Change(PageId{id}); page != nullptr && !page->local()) page->session = 0;
      seen.Erase(PageId{id});
      news.Changed(PageId{id});
    }
    for (const uint64_t id : request.gone()) {
      gone.push_back(PageId{id});
      ForgetLocked(PageId{id});
    }
  }
  if (!gone.empty()) node.on_gone(gone);
}

void RemoteMeta::State::SendUnsent() {
  std::vector<CachedPage> unsent;
  {
    MutexLock lock(mutex);
    if (link == nullptr) return;
    for (const PageId id : cache.Unsent()) {
      CachedPage page = *cache.Find(id);
      page.state = CachedPage::State::kPublished;
      unsent.push_back(std::move(page));
    }
  }
  for (const CachedPage& page : unsent) {
    SendPublish(page, /*exclusive=*/false,
                [this, page](const Result<Namespace::Outcome>& outcome) { Republished(page, outcome); });
  }
}

void RemoteMeta::State::Republished(const CachedPage& page, const Result<Namespace::Outcome>& outcome) {
  if (outcome.ok()) {
    // Local again: the service went away once more. Replaced ones and equal ones are no business of this page's.
    if (outcome->dropped) node.on_gone(std::span(&*outcome->dropped, 1));
    return;
  }
  // The service has lost its directory: an announcement makes it anew.
  if (outcome.code() == ErrorCode::kNotFound) {
    {
      MutexLock lock(mutex);
      held.try_emplace(page.page.id.value, Holding{kMemoryTier, 0});
    }
    return AnnounceUnknown({page.page.id});
  }
  log.Warning("page '{}' cannot be published: {}; it is dropped", page.name.name, outcome.error().Describe());
  Forget(page.page.id);
  node.on_gone(std::span(&page.page.id, 1));
}

NamespaceStats RemoteMeta::GetStats() const {
  MutexLock lock(state_->mutex);
  return state_->stats;
}

std::string RemoteMeta::Problem() const {
  std::string problem;
  {
    MutexLock lock(state_->mutex);
    if (state_->link != nullptr) return state_->service_problem;
  }
  const std::string why = state_->client != nullptr ? state_->client->problem() : std::string();
  return "no metadata daemon" + (why.empty() ? std::string() : ": " + why);
}

PageId RemoteMeta::NewPageId() { return PageId::Make(state_->number.load(), state_->next_page.fetch_add(1)); }

std::vector<Member> RemoteMeta::Members() const {
  MutexLock lock(state_->mutex);
  return state_->members;
}

std::string RemoteMeta::AddressOf(uint16_t node) const {
  MutexLock lock(state_->mutex);
  const auto found = std::find_if(state_->members.begin(), state_->members.end(),
                                  [node](const Member& member) { return member.number == node; });
  return found == state_->members.end() ? std::string() : found->address;
}

uint16_t RemoteMeta::number() const { return state_->number.load(); }

bool RemoteMeta::connected() const {
  MutexLock lock(state_->mutex);
  return state_->link != nullptr;
}

}  // namespace kvpagefs
