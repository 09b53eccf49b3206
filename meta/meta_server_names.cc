// Names: what they stand for, and how that changes.
#include <algorithm>

#include "meta/meta_server_state.h"

namespace kvpagefs {
namespace {

constexpr uint64_t kMaxListed = 4096;
constexpr uint64_t kMaxListedBytes = uint64_t{1} << 20;

}  // namespace

bool MetaServer::State::HasLiveCopyLocked(PageId page) const {
  return replicas.HasAny(page, [this](NodeSlot slot) KVP_NO_THREAD_SAFETY_ANALYSIS { return nodes.IsAlive(slot); });
}

void MetaServer::State::AnswerEntryLocked(const EntryInfo& entry, wire::EntryReply* reply) const {
  if (const auto* dir = std::get_if<DirInfo>(&entry)) return ToWire(*dir, reply->mutable_dir());
  const auto& page = std::get<PageInfo>(entry);
  ToWire(page, reply->mutable_page());
  for (const ReplicaTable::Copy& copy : replicas.Of(page.id)) {
    if (!nodes.IsAlive(copy.slot)) continue;  // so a node has one copy at most
    wire::Replica* replica = reply->add_replicas();
    replica->set_node(nodes.NumberOf(copy.slot));
    replica->set_tiers(copy.tiers);
  }
}

void MetaServer::State::LookupLocked(const wire::NameRequest& request, Call* call) {
  const auto entry = Answered<EntryInfo>([&](auto done) { meta->Lookup(FromWire(request.name()), done); });
  if (!entry.ok()) return call->reply.Fail(entry.error());
  wire::EntryReply reply;
  AnswerEntryLocked(*entry, &reply);
  call->reply.Ok(reply.SerializeAsString());
}

void MetaServer::State::FindPageLocked(const wire::IdRequest& request, Call* call) {
  const PageId id{request.id()};
  const auto page = Answered<PageInfo>([&](auto done) { meta->FindPage(id, done); });
  if (!page.ok()) return call->reply.Fail(page.error());
  wire::EntryReply reply;
  AnswerEntryLocked(*page, &reply);
  const auto name = Answered<NameRef>([&](auto done) { meta->NameOf(id, done); });
  if (name.ok()) ToWire(NameView{name->parent, name->name}, reply.mutable_name());
  call->reply.Ok(reply.SerializeAsString());
}

void MetaServer::State::FindDirLocked(const wire::IdRequest& request, Call* call) {
  const DirId id{request.id()};
  const auto dir = Answered<DirInfo>([&](auto done) { meta->FindDir(id, done); });
  if (!dir.ok()) return call->reply.Fail(dir.error());
  wire::EntryReply reply;
  AnswerEntryLocked(*dir, &reply);
  const auto name = Answered<NameRef>([&](auto done) { meta->NameOfDir(id, done); });
  if (name.ok()) ToWire(NameView{name->parent, name->name}, reply.mutable_name());
  call->reply.Ok(reply.SerializeAsString());
}

void MetaServer::State::ForgetLostLocked(PageId page) {
  (void)DropPagesLocked({page});
  replicas.Remove(page);
  deleted.Add(page);
}

Result<Namespace::Outcome> MetaServer::State::TakeOverLocked(PageId mine, Namespace::Outcome outcome) {
  const PageId lost = outcome.page.id;
  if (HasLiveCopyLocked(lost) || !HasLiveCopyLocked(mine)) return outcome;
  const auto name = Answered<NameRef>([&](auto done) { meta->NameOf(lost, done); });
  const auto xattrs = Answered<Xattrs>([&](auto done) { meta->GetXattrs(lost.value, done); });
  if (!name.ok() || !xattrs.ok()) return outcome;
  ForgetLostLocked(lost);
  PageInfo page = outcome.page;
  page.id = mine;
  auto taken = Answered<Namespace::Outcome>(
      [&](auto done) { meta->Publish({name->parent, name->name}, page, *xattrs, /*exclusive=*/false, done); });
  if (taken.ok()) taken->replaced = outcome.replaced;
  return taken;
}

Result<Namespace::Outcome> MetaServer::State::PublishOverLostLocked(NameView name, const PageInfo& page,
                                                                    const wire::PublishRequest& request) {
  const Xattrs xattrs = FromWire(request.xattrs());
  const auto publish = [&] {
    return Answered<Namespace::Outcome>(
        [&](auto done) { meta->Publish(name, page, xattrs, request.exclusive(), done); });
  };
  auto outcome = publish();
  if (outcome.ok() && outcome->dropped == page.id) return TakeOverLocked(page.id, *outcome);
  if (outcome.ok() || outcome.code() != ErrorCode::kExists || !request.exclusive()) return outcome;
  // A name without a copy counts as free.
  const auto there = Answered<EntryInfo>([&](auto done) { meta->Lookup(name, done); });
  const auto* taken = there.ok() ? std::get_if<PageInfo>(&*there) : nullptr;
  if (taken == nullptr || taken->id == page.id || HasLiveCopyLocked(taken->id)) return outcome;
  ForgetLostLocked(taken->id);
  return publish();
}

void MetaServer::State::PublishLocked(const wire::PublishRequest& request, Call* call) {
  const PageInfo page = FromWire(request.page());
  const uint8_t tiers = TiersFromWire(request.tiers());
  if (!page.id.valid() || tiers == kNoTier) {
    return call->reply.Fail(Error(ErrorCode::kInvalid, "a page needs an id and a copy"));
  }
  nodes.SawPage(page.id);
  if (deleted.Contains(page.id)) return call->reply.Fail(ErrorCode::kStale);
  const uint8_t before = replicas.Set(page.id, call->slot, tiers);  // D1
  const auto outcome = PublishOverLostLocked(FromWire(request.name()), page, request);
  if (!outcome.ok()) {
    replicas.Set(page.id, call->slot, before);
    return call->reply.Fail(outcome.error());
  }
  Revokes revokes;
  if (outcome->dropped) RetireLocked(*outcome->dropped, call->slot, &revokes);
  if (outcome->replaced) ChangedLocked(outcome->page.id, call->slot, &revokes);
  wire::OutcomeReply reply;
  ToWire(*outcome, &reply);
  FinishLocked(call, reply, revokes);
}

void MetaServer::State::RenameLocked(const wire::RenameRequest& request, Call* call) {
  const NameView from = FromWire(request.from());
  const auto before = Answered<EntryInfo>([&](auto done) { meta->Lookup(from, done); });
  const auto* moved = before.ok() ? std::get_if<PageInfo>(&*before) : nullptr;
  const auto mode = request.no_replace() ? Namespace::RenameMode::kNoReplace : Namespace::RenameMode::kReplace;
  auto outcome =
      Answered<Namespace::Outcome>([&](auto done) { meta->Rename(from, FromWire(request.to()), mode, done); });
  if (outcome.ok() && moved != nullptr && outcome->dropped == moved->id) outcome = TakeOverLocked(moved->id, *outcome);
  if (!outcome.ok()) return call->reply.Fail(outcome.error());
  Revokes revokes;
  if (outcome->dropped) RetireLocked(*outcome->dropped, call->slot, &revokes);
  if (outcome->page.id.valid()) ChangedLocked(outcome->page.id, call->slot, &revokes);
  // A name that moves to where the walk has been is not missed.
  if (!walked && outcome->page.id.valid() && !replicas.HasAny(outcome->page.id)) walk_position = {};
  wire::OutcomeReply reply;
  ToWire(*outcome, &reply);
  FinishLocked(call, reply, revokes);
}

void MetaServer::State::UnlinkLocked(const wire::NameRequest& request, Call* call) {
  const auto page = Answered<PageInfo>([&](auto done) { meta->Unlink(FromWire(request.name()), done); });
  if (!page.ok()) return call->reply.Fail(page.error());
  Revokes revokes;
  RetireLocked(page->id, call->slot, &revokes);
  wire::EntryReply reply;
  ToWire(*page, reply.mutable_page());
  FinishLocked(call, reply, revokes);
}

void MetaServer::State::MakeDirLocked(const wire::MakeDirRequest& request, Call* call) {
  const auto dir =
      Answered<DirInfo>([&](auto done) { meta->MakeDir(FromWire(request.name()), FromWire(request.owner()), done); });
  if (!dir.ok()) return call->reply.Fail(dir.error());
  wire::EntryReply reply;
  ToWire(*dir, reply.mutable_dir());
  call->reply.Ok(reply.SerializeAsString());
}

void MetaServer::State::RemoveDirLocked(const wire::NameRequest& request, Call* call) {
  const auto removed = Answered<void>([&](auto done) { meta->RemoveDir(FromWire(request.name()), done); });
  if (!removed.ok()) return call->reply.Fail(removed.error());
  call->reply.Ok({});
}

void MetaServer::State::List(const wire::ListRequest& request, Call* call) {
  const auto max_entries = static_cast<size_t>(std::clamp<uint64_t>(request.max_entries(), 1, kMaxListed));
  const auto max_bytes = static_cast<size_t>(std::clamp<uint64_t>(request.max_bytes(), 1, kMaxListedBytes));
  const auto listed = Answered<std::vector<ListedEntry>>(
      [&](auto done) { meta->List(DirId{request.dir()}, request.cursor(), max_entries, max_bytes, done); });
  if (!listed.ok()) return call->reply.Fail(listed.error());
  wire::ListReply reply;
  for (const ListedEntry& entry : *listed) {
    wire::Listed* one = reply.add_entries();
    one->set_cursor(entry.cursor);
    one->set_is_directory(entry.is_directory);
    one->set_id(entry.id);
    one->set_name(entry.name);
  }
  call->reply.Ok(reply.SerializeAsString());
}

}  // namespace kvpagefs
