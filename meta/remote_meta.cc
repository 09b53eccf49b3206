// Look-ups, and what is remembered of them.

#include "meta/remote_meta.h"

#include <fnmatch.h>

#include <algorithm>
#include <utility>

#include "meta/remote_meta_state.h"

namespace kvpagefs {
namespace {

constexpr int64_t kDirFreshNs = 1'000'000'000;

wire::NameRequest NameRequestOf(NameView name) {
  wire::NameRequest request;
  ToWire(name, request.mutable_name());
  return request;
}

wire::IdRequest IdRequestOf(uint64_t id) {
  wire::IdRequest request;
  request.set_id(id);
  return request;
}

Replicas ReplicasOf(const wire::EntryReply& reply, uint16_t own) {
  Replicas replicas;
  for (const wire::Replica& replica : reply.replicas()) {
    const auto node = static_cast<uint16_t>(replica.node());
    if (node != own) replicas.push_back({node, TiersFromWire(replica.tiers())});
  }
  return replicas;
}

}  // namespace

RemoteMeta::RemoteMeta(NetThreads* threads, Options options, const Clock* clock, Log log)
    : state_(std::make_shared<State>(threads, std::move(options), clock, std::move(log))) {}

RemoteMeta::~RemoteMeta() { Stop(); }

const CachedPage* RemoteMeta::State::TrustedLocked(const CachedPage* page) const {
  if (page == nullptr || page->local() || link == nullptr) return page;
  return page->session == session && RegisteredLocked(page->page.id) ? page : nullptr;
}

bool RemoteMeta::State::RegisteredLocked(PageId id) const {
  const auto found = held.find(id.value);
  return found != held.end() && found->second.session == session;
}

uint8_t RemoteMeta::State::TiersLocked(PageId id) const {
  const auto found = held.find(id.value);
  return found != held.end() ? found->second.tiers : uint8_t{kMemoryTier};
}

void RemoteMeta::State::ForgetLocked(PageId id) {
  cache.Erase(id);
  held.erase(id.value);
  seen.Erase(id);
  news.Gone(id);
}

const CachedPage* RemoteMeta::State::LocalLocked(PageId id) const {
  const CachedPage* page = cache.Find(id);
  return page != nullptr && page->local() ? page : nullptr;
}

bool RemoteMeta::State::Temporary(NameView name) const {
  if (options.temporary_names.empty()) return false;
  return fnmatch(options.temporary_names.c_str(), std::string(name.name).c_str(), 0) == 0;
}

Result<EntryInfo> RemoteMeta::State::OfflineLocked(NameView name) const {
  if (const CachedPage* page = cache.Find(name)) return EntryInfo(page->page);
  if (const auto dir = cache.FindDir(name)) return EntryInfo(*dir);
  return ErrorCode::kNotFound;
}

EntryInfo RemoteMeta::State::Learn(const wire::EntryReply& reply, const NameRef& asked) {
  NameRef name = asked;
  if (reply.has_name()) name = {DirId{reply.name().parent()}, reply.name().name()};
  MutexLock lock(mutex);
  if (reply.has_dir()) {
    const DirInfo dir = FromWire(reply.dir());
    cache.PutDir(dir, name, clock->MonotonicNs());
    return dir;
  }
  const PageInfo page = FromWire(reply.page());
  seen.Put(page.id, ReplicasOf(reply, number.load()));
  // From here on the service tells of changes: the answer came before them.
  if (RegisteredLocked(page.id) && !name.name.empty()) {
    (void)cache.Put({page, std::move(name), {}, CachedPage::State::kPublished, session});
  }
  return page;
}

void RemoteMeta::State::LearnFacts(const PageInfo& page, uint64_t asked_at) {
  MutexLock lock(mutex);
  CachedPage* known = cache.Change(page.id);
  if (known == nullptr || known->local()) return;
  known->page = page;
  if (news.Ask(page.id, asked_at) != PageNews::Since::kNothing) known->session = 0;
  news.Changed(page.id);
}

void RemoteMeta::State::Forget(PageId id) {
  MutexLock lock(mutex);
  ForgetLocked(id);
}

void RemoteMeta::Lookup(NameView name, Completion<EntryInfo> done) {
  Result<EntryInfo> known = ErrorCode::kNotFound;
  {
    MutexLock lock(state_->mutex);
    if (const CachedPage* page = state_->TrustedLocked(state_->cache.Find(name))) known = EntryInfo(page->page);
  }
  if (known.ok()) return done(std::move(known));
  const NameRef asked{name.parent, std::string(name.name)};
  state_->Call<wire::EntryReply>(
      MetaMethod::kLookup, NameRequestOf(name),
      [state = state_, asked, done = std::move(done)](const Result<wire::EntryReply>& reply) {
        if (reply.ok()) return done(state->Learn(*reply, asked));
        if (reply.code() != ErrorCode::kUnavailable) return done(reply.error());
        Result<EntryInfo> last_known = ErrorCode::kNotFound;
        {
          MutexLock lock(state->mutex);
          last_known = state->OfflineLocked({asked.parent, asked.name});
        }
        done(std::move(last_known));
      });
}

void RemoteMeta::FindPage(PageId id, Completion<PageInfo> done) {
  Result<PageInfo> known = ErrorCode::kNotFound;
  {
    MutexLock lock(state_->mutex);
    if (const CachedPage* page = state_->TrustedLocked(state_->cache.Find(id))) known = page->page;
  }
  if (known.ok()) return done(std::move(known));
  state_->Call<wire::EntryReply>(MetaMethod::kFindPage, IdRequestOf(id.value),
                                 [state = state_, id, done = std::move(done)](const Result<wire::EntryReply>& reply) {
                                   if (reply.ok()) return done(std::get<PageInfo>(state->Learn(*reply, {})));
                                   if (reply.code() != ErrorCode::kUnavailable) return done(reply.error());
                                   Result<PageInfo> last_known = ErrorCode::kNotFound;
                                   {
                                     MutexLock lock(state->mutex);
                                     if (const CachedPage* page = state->cache.Find(id)) last_known = page->page;
                                   }
                                   done(std::move(last_known));
                                 });
}

void RemoteMeta::FindDir(DirId id, Completion<DirInfo> done) {
  std::optional<DirInfo> known;
  {
    MutexLock lock(state_->mutex);
    known = state_->cache.FindFreshDir(id, state_->clock->MonotonicNs() - kDirFreshNs);
  }
  if (known) return done(*known);
  state_->Call<wire::EntryReply>(MetaMethod::kFindDir, IdRequestOf(id.value),
                                 [state = state_, id, done = std::move(done)](const Result<wire::EntryReply>& reply) {
                                   if (reply.ok()) return done(std::get<DirInfo>(state->Learn(*reply, {})));
                                   std::optional<DirInfo> last_known;
                                   {
                                     MutexLock lock(state->mutex);
                                     if (reply.code() == ErrorCode::kUnavailable) {
                                       last_known = state->cache.FindDir(id);
                                     } else {
                                       state->cache.EraseDir(id);
                                     }
                                   }
                                   done(last_known ? Result<DirInfo>(*last_known) : reply.error());
                                 });
}

void RemoteMeta::NameOf(PageId id, Completion<NameRef> done) {
  Result<NameRef> known = ErrorCode::kNotFound;
  {
    MutexLock lock(state_->mutex);
    if (const CachedPage* page = state_->TrustedLocked(state_->cache.Find(id))) known = page->name;
  }
  if (known.ok()) return done(std::move(known));
  state_->Call<wire::EntryReply>(MetaMethod::kFindPage, IdRequestOf(id.value),
                                 [state = state_, done = std::move(done)](const Result<wire::EntryReply>& reply) {
                                   if (!reply.ok()) return done(reply.error());
                                   (void)state->Learn(*reply, {});
                                   done(NameRef{DirId{reply->name().parent()}, reply->name().name()});
                                 });
}

void RemoteMeta::Locate(PageId id, Completion<Replicas> done) {
  std::optional<Replicas> known;
  {
    MutexLock lock(state_->mutex);
    if (const Replicas* replicas = state_->seen.Find(id)) known = *replicas;
  }
  if (known) return state_->AnswerReplicas(*std::move(known), done);
  state_->Call<wire::EntryReply>(MetaMethod::kFindPage, IdRequestOf(id.value),
                                 [state = state_, done = std::move(done)](const Result<wire::EntryReply>& reply) {
                                   if (!reply.ok()) return done(reply.error());
                                   (void)state->Learn(*reply, {});
                                   state->AnswerReplicas(ReplicasOf(*reply, state->number.load()), done);
                                 });
}

void RemoteMeta::State::AnswerReplicas(Replicas replicas, const Completion<Replicas>& done) {
  bool strangers = false;
  {
    MutexLock lock(mutex);
    strangers = std::any_of(replicas.begin(), replicas.end(), [this](const Replica& replica) KVP_REQUIRES(mutex) {
      return std::none_of(members.begin(), members.end(),
                          [&](const Member& member) { return member.number == replica.node; });
    });
  }
  if (!strangers) return done(std::move(replicas));
  // Nodes that came since the last heartbeat.
  Call<wire::MembersReply>(MetaMethod::kMembers, wire::Empty(),
                           [this, replicas, done](const Result<wire::MembersReply>& reply) {
                             if (reply.ok()) NoteMembers(reply->version(), reply->members());
                             done(replicas);
                           });
}

void RemoteMeta::ForgetLocation(PageId id) {
  MutexLock lock(state_->mutex);
  state_->seen.Erase(id);
}

void RemoteMeta::List(DirId dir, uint64_t cursor, size_t max_entries, size_t max_bytes,
                      Completion<std::vector<ListedEntry>> done) {
  wire::ListRequest request;
  request.set_dir(dir.value);
  request.set_cursor(cursor);
  request.set_max_entries(max_entries);
  request.set_max_bytes(max_bytes);
  state_->Call<wire::ListReply>(
      MetaMethod::kList, request, [done = std::move(done)](const Result<wire::ListReply>& reply) {
        if (!reply.ok()) return done(reply.error());
        std::vector<ListedEntry> entries;
        entries.reserve(static_cast<size_t>(reply->entries_size()));
        for (const wire::Listed& listed : reply->entries()) {
          entries.push_back({listed.cursor(), listed.is_directory(), listed.id(), listed.name()});
        }
        done(std::move(entries));
      });
}

void RemoteMeta::Describe(PageId id, Completion<PageDescription> done) {
  PageDescription described;
  bool known = false;
  {
    MutexLock lock(state_->mutex);
    const CachedPage* page = state_->cache.Find(id);
    known = page != nullptr || state_->held.contains(id.value);
    described.page.id = id;
    if (page != nullptr) {
      described.page = page->page;
      described.xattrs = page->xattrs;
      // A temporary name means nothing after a restart: the page will have got another one, or is not wanted.
      const bool temporary = page->state == CachedPage::State::kTemporary;
      if (auto path = state_->cache.PathOf(page->name); path && !temporary) described.path = std::move(*path);
    }
  }
  if (!known) return done(ErrorCode::kNotFound);
  done(std::move(described));
}

}  // namespace kvpagefs
