#include "meta/meta_server.h"

#include <algorithm>

#include "meta/meta_server_state.h"

namespace kvpagefs {
namespace {

constexpr size_t kMaxDeleted = size_t{1} << 20;
constexpr int64_t kNsPerMs = 1'000'000;
constexpr int64_t kGraceTimeouts = 2;
// Of the timeout: a tick that comes later than this was kept from coming.
constexpr int64_t kGapShare = 5;

NodeTable::Options NodeOptions(const MetaServer::Options& options) {
  return {.timeout_ns = options.timeout_ms * kNsPerMs, .max_gap_ns = options.timeout_ms * kNsPerMs / kGapShare};
}

}  // namespace

MetaServer::State::State(const Options& server_options, const Clock* server_clock, Log server_log)
    : options(server_options),
      clock(server_clock),
      log(std::move(server_log)),
      run(static_cast<uint64_t>(server_clock->WallNs())),
      nodes(NodeOptions(server_options), server_clock->MonotonicNs()),
      deleted(kMaxDeleted) {}

Status MetaServer::State::Open() {
  MutexLock lock(mutex);
  EmbeddedMeta::Options meta_options;
  meta_options.state_dir = options.state_dir;
  meta_options.root_owner = options.root_owner;
  // Who has them is known when the nodes have joined.
  meta_options.has_page = [this](const PageInfo& page) KVP_NO_THREAD_SAFETY_ANALYSIS {
    nodes.SawPage(page.id);
    return true;
  };
  auto opened = EmbeddedMeta::Open(meta_options, clock, log);
  if (!opened.ok()) return opened.error();
  meta = std::move(*opened);
  grace_end_ns = Now() + kGraceTimeouts * options.timeout_ms * kNsPerMs;
  walked = meta->GetStats().pages == 0;
  if (options.state_dir.empty()) return {};
  files = std::make_unique<ServerFiles>(options.state_dir);
  return RestoreFiles();
}

// What is lost here costs little, so it keeps nobody from starting.
Status MetaServer::State::RestoreFiles() KVP_NO_THREAD_SAFETY_ANALYSIS {
  const auto known = files->LoadNodes();
  if (known.ok()) {
    for (const NodeTable::Known& node : *known) nodes.Restore(node);
  } else {
    log.Warning("node numbers are given out anew: {}", known.error().Describe());
  }
  const Status loaded =
      files->LoadDeleted([this](PageId page) KVP_NO_THREAD_SAFETY_ANALYSIS { deleted.Restore(page); });
  if (!loaded.ok()) log.Warning("pages deleted from now on may come back: {}", loaded.error().Describe());
  return {};
}

MetaServer::MetaServer(std::shared_ptr<State> state) : state_(std::move(state)) {}

Result<std::unique_ptr<MetaServer>> MetaServer::Open(const Options& options, const Clock* clock, Log log) {
  auto state = std::make_shared<State>(options, clock, std::move(log));
  if (Status opened = state->Open(); !opened.ok()) return opened.error();
  return std::unique_ptr<MetaServer>(new MetaServer(std::move(state)));
}

MetaServer::~MetaServer() {
  (void)state_->SaveFiles();
  // Its last answers use the rest.
  state_->meta.reset();
}

void MetaServer::OnUp(const std::shared_ptr<RpcLink>& link) { link->set_context(std::make_shared<State::LinkInfo>()); }

void MetaServer::OnRequest(const std::shared_ptr<RpcLink>& link, uint16_t method, std::string body, RpcReply reply) {
  State::Call call{.link = link, .body = std::move(body), .reply = std::move(reply), .slot = 0};
  state_->Dispatch(static_cast<MetaMethod>(method), &call);
}

void MetaServer::OnDown(const std::shared_ptr<RpcLink>& link, const Error& why) {
  MutexLock lock(state_->mutex);
  const auto found = state_->sessions.find(static_cast<State::LinkInfo*>(link->context().get())->slot);
  if (found == state_->sessions.end() || found->second.link != link) return;
  state_->log.Info("node {}: link lost: {}", found->second.name, why.Describe());
  found->second.link = nullptr;
}

int64_t MetaServer::Tick() { return state_->Tick(); }

MetaServer::Stats MetaServer::GetStats() const {
  MutexLock lock(state_->mutex);
  Stats stats;
  stats.names = state_->meta->GetStats();
  stats.pages_with_copies = state_->replicas.pages();
  stats.nodes = state_->sessions.size();
  stats.problem = state_->problem.empty() ? state_->meta->Problem() : state_->problem;
  return stats;
}

Status MetaServer::State::AdmitLocked(Call* call, Who who) {
  const NodeSlot slot = static_cast<LinkInfo*>(call->link->context().get())->slot;
  const auto session = sessions.find(slot);
  if (session != sessions.end() && session->second.link == call->link) {
    call->slot = slot;
    nodes.Heard(slot, Now());
    return {};
  }
  if (who == Who::kAnyone) return {};
  return Error(ErrorCode::kNotPermitted, slot == 0 ? "join first" : "the session has ended: join again");
}

void MetaServer::State::CloseLinks() {
  Links links;
  {
    MutexLock lock(mutex);
    links.swap(closing);
  }
  for (const auto& link : links) link->Close(Error(ErrorCode::kStale, "the session has ended: join again"));
}

void MetaServer::State::Dispatch(MetaMethod method, Call* call) {
  switch (method) {
    case MetaMethod::kJoin: return Serve(call, Who::kAnyone, &State::JoinLocked);
    case MetaMethod::kHeartbeat: return Serve(call, Who::kJoined, &State::HeartbeatLocked);
    case MetaMethod::kHoldings: return Serve(call, Who::kJoined, &State::HoldingsLocked);
    case MetaMethod::kAnnounce: return ServeFree(call, Who::kJoined, &State::Announce);
    case MetaMethod::kMembers: return Serve(call, Who::kAnyone, &State::MembersLocked);
    case MetaMethod::kSync: return ServeFree(call, Who::kJoined, &State::Sync);
    default: break;
  }
  if (DispatchNames(method, call) || DispatchFacts(method, call)) return;
  call->reply.Fail(
      Error(ErrorCode::kNotSupported, "method " + std::to_string(static_cast<int>(method)) + " is not known here"));
}

bool MetaServer::State::DispatchNames(MetaMethod method, Call* call) {
  switch (method) {
    case MetaMethod::kLookup: Serve(call, Who::kAnyone, &State::LookupLocked); return true;
    case MetaMethod::kFindPage: Serve(call, Who::kAnyone, &State::FindPageLocked); return true;
    case MetaMethod::kFindDir: Serve(call, Who::kAnyone, &State::FindDirLocked); return true;
    case MetaMethod::kList: ServeFree(call, Who::kAnyone, &State::List); return true;
    case MetaMethod::kPublish: Serve(call, Who::kJoined, &State::PublishLocked); return true;
    case MetaMethod::kRename: Serve(call, Who::kJoined, &State::RenameLocked); return true;
    case MetaMethod::kUnlink: Serve(call, Who::kJoined, &State::UnlinkLocked); return true;
    case MetaMethod::kMakeDir: Serve(call, Who::kJoined, &State::MakeDirLocked); return true;
    case MetaMethod::kRemoveDir: Serve(call, Who::kJoined, &State::RemoveDirLocked); return true;
    default: return false;
  }
}

bool MetaServer::State::DispatchFacts(MetaMethod method, Call* call) {
  switch (method) {
    case MetaMethod::kChangePage: Serve(call, Who::kJoined, &State::ChangePageLocked); return true;
    case MetaMethod::kChangeDir: Serve(call, Who::kJoined, &State::ChangeDirLocked); return true;
    case MetaMethod::kSetPin: Serve(call, Who::kJoined, &State::SetPinLocked); return true;
    case MetaMethod::kSetXattr: Serve(call, Who::kJoined, &State::SetXattrLocked); return true;
    case MetaMethod::kRemoveXattr: Serve(call, Who::kJoined, &State::RemoveXattrLocked); return true;
    case MetaMethod::kGetXattr: ServeFree(call, Who::kJoined, &State::GetXattr); return true;
    case MetaMethod::kGetXattrs: ServeFree(call, Who::kJoined, &State::GetXattrs); return true;
    default: return false;
  }
}

}  // namespace kvpagefs
