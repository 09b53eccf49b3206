// What changes names and attributes.

#include <algorithm>
#include <utility>

#include "meta/namespace_state.h"
#include "meta/page_description.h"
#include "meta/remote_meta_state.h"
#include "meta/xattr_list.h"

namespace kvpagefs {
namespace {

wire::XattrRequest XattrRequestOf(uint64_t id, std::string_view key, std::string_view value = {},
                                  Namespace::XattrMode mode = Namespace::XattrMode::kEither) {
  wire::XattrRequest request;
  request.set_id(id);
  request.set_key(std::string(key));
  request.set_value(std::string(value));
  request.set_mode(static_cast<uint32_t>(mode));
  return request;
}

std::function<void(Result<wire::Empty>)> WithoutValue(Completion<void> done) {
  return [done = std::move(done)](const Result<wire::Empty>& reply) {
    done(reply.ok() ? Status() : Status(reply.error()));
  };
}

}  // namespace

Namespace::Outcome RemoteMeta::State::PutLocalLocked(NameView name, const PageInfo& page, const Xattrs& xattrs,
                                                     CachedPage::State as) {
  Namespace::Outcome outcome;
  outcome.page = page;
  outcome.dropped = cache.Put({page, {name.parent, std::string(name.name)}, xattrs, as, session});
  outcome.replaced = outcome.dropped.has_value();
  return outcome;
}

void RemoteMeta::Publish(NameView name, const PageInfo& page, const Xattrs& xattrs, bool exclusive,
                         Completion<Namespace::Outcome> done) {
  if (!state_->Temporary(name)) {
    return state_->SendPublish({page, {name.parent, std::string(name.name)}, xattrs}, exclusive, std::move(done));
  }
  Result<Namespace::Outcome> outcome = ErrorCode::kExists;
  {
    MutexLock lock(state_->mutex);
    if (!exclusive || state_->cache.Find(name) == nullptr) {
      outcome = state_->PutLocalLocked(name, page, xattrs, CachedPage::State::kTemporary);
    }
  }
  done(std::move(outcome));
}

void RemoteMeta::State::SendPublish(const CachedPage& page, bool exclusive, Completion<Namespace::Outcome> done) {
  wire::PublishRequest request;
  ToWire({page.name.parent, page.name.name}, request.mutable_name());
  ToWire(page.page, request.mutable_page());
  ToWire(page.xattrs, request.mutable_xattrs());
  request.set_exclusive(exclusive);
  uint64_t asked_at = 0;
  {
    MutexLock lock(mutex);
    request.set_tiers(TiersLocked(page.page.id));
    asked_at = news.now();
  }
  Call<wire::OutcomeReply>(
      MetaMethod::kPublish, request,
      [this, page, exclusive, asked_at, done = std::move(done)](const Result<wire::OutcomeReply>& reply) {
        if (reply.ok()) return done(LearnPublished(page, *reply, asked_at));
        if (reply.code() != ErrorCode::kUnavailable) return done(reply.error());
        Result<Namespace::Outcome> outcome = ErrorCode::kExists;
        {
          MutexLock lock(mutex);
          const NameView name{page.name.parent, page.name.name};
          if (!exclusive || !OfflineLocked(name).ok()) {
            outcome = PutLocalLocked(name, page.page, page.xattrs, CachedPage::State::kUnsent);
          }
        }
        done(std::move(outcome));
      });
}

Namespace::Outcome RemoteMeta::State::LearnPublished(const CachedPage& page, const wire::OutcomeReply& reply,
                                                     uint64_t asked_at) {
  Namespace::Outcome outcome = FromWire(reply);
  if (outcome.page.id != page.page.id) LearnFacts(outcome.page, asked_at);
  MutexLock lock(mutex);
  cache.Erase(page.page.id);
  if (outcome.dropped) ForgetLocked(*outcome.dropped);
  if (outcome.page.id != page.page.id) return outcome;
  if (news.Ask(page.page.id, asked_at) == PageNews::Since::kGone) return outcome;
  const uint8_t tiers = TiersLocked(page.page.id);
  held[page.page.id.value] = {tiers, session};
  NoteNameLocked(outcome.page, page.name, asked_at);
  return outcome;
}

void RemoteMeta::State::NoteNameLocked(const PageInfo& page, NameRef name, uint64_t asked_at) {
  const PageNews::Since since = news.Ask(page.id, asked_at);
  news.Changed(page.id);
  if (since == PageNews::Since::kGone || !RegisteredLocked(page.id)) return cache.Erase(page.id);
  // Good for a description, until the next look-up has asked.
  const uint64_t trusted = since == PageNews::Since::kNothing ? session : 0;
  if (trusted == 0 && cache.Find(page.id) != nullptr) return;
  (void)cache.Put({page, std::move(name), {}, CachedPage::State::kPublished, trusted});
}

void RemoteMeta::Rename(NameView from, NameView to, Namespace::RenameMode mode, Completion<Namespace::Outcome> done) {
  std::optional<CachedPage> local;
  Result<Namespace::Outcome> kept = ErrorCode::kExists;
  bool stays = false;
  {
    MutexLock lock(state_->mutex);
    const CachedPage* page = state_->cache.Find(from);
    if (page != nullptr && page->local()) local = *page;
    stays = local && state_->Temporary(to);
    const bool taken = state_->cache.Find(to) != nullptr && mode == Namespace::RenameMode::kNoReplace;
    if (stays && !taken) kept = state_->PutLocalLocked(to, local->page, local->xattrs, local->state);
  }
  if (stays) return done(std::move(kept));
  if (local) {
    local->name = {to.parent, std::string(to.name)};
    local->state = CachedPage::State::kPublished;
    return state_->SendPublish(*local, mode == Namespace::RenameMode::kNoReplace, std::move(done));
  }
  wire::RenameRequest request;
  ToWire(from, request.mutable_from());
  ToWire(to, request.mutable_to());
  request.set_no_replace(mode == Namespace::RenameMode::kNoReplace);
  state_->Call<wire::OutcomeReply>(
      MetaMethod::kRename, request,
      [state = state_, asked_at = state_->Now(), old_name = NameRef{from.parent, std::string(from.name)},
       new_name = NameRef{to.parent, std::string(to.name)},
       done = std::move(done)](const Result<wire::OutcomeReply>& reply) {
        if (!reply.ok()) return done(reply.error());
        Namespace::Outcome outcome = FromWire(*reply);
        {
          MutexLock lock(state->mutex);
          const auto dir = state->cache.FindDir(NameView{old_name.parent, old_name.name});
          if (!outcome.page.id.valid() && dir) state->cache.PutDir(*dir, new_name, 0);
          if (outcome.dropped) state->ForgetLocked(*outcome.dropped);
          if (outcome.page.id.valid()) state->NoteNameLocked(outcome.page, new_name, asked_at);
        }
        done(outcome);
      });
}

void RemoteMeta::Unlink(NameView name, Completion<PageInfo> done) {
  std::optional<PageInfo> local;
  bool unsent = false;
  {
    MutexLock lock(state_->mutex);
    const CachedPage* page = state_->cache.Find(name);
    if (page != nullptr && page->local()) local = page->page;
    unsent = local && page->state == CachedPage::State::kUnsent;
    if (local) state_->ForgetLocked(local->id);
  }
  // Its publication may be under way: told behind it that there is no copy, the service lets go of the name.
  if (unsent) state_->Tell({{local->id, kNoTier, nullptr}});
  if (local) return done(*local);
  wire::NameRequest request;
  ToWire(name, request.mutable_name());
  state_->Call<wire::EntryReply>(MetaMethod::kUnlink, request,
                                 [state = state_, done = std::move(done)](const Result<wire::EntryReply>& reply) {
                                   if (!reply.ok()) return done(reply.error());
                                   const PageInfo page = FromWire(reply->page());
                                   state->Forget(page.id);
                                   done(page);
                                 });
}

void RemoteMeta::MakeDir(NameView name, const Ownership& owner, Completion<DirInfo> done) {
  wire::MakeDirRequest request;
  ToWire(name, request.mutable_name());
  ToWire(owner, request.mutable_owner());
  state_->Call<wire::EntryReply>(MetaMethod::kMakeDir, request,
                                 [state = state_, asked = NameRef{name.parent, std::string(name.name)},
                                  done = std::move(done)](const Result<wire::EntryReply>& reply) {
                                   if (reply.ok()) return done(std::get<DirInfo>(state->Learn(*reply, asked)));
                                   bool there = false;
                                   if (reply.code() == ErrorCode::kUnavailable) {
                                     MutexLock lock(state->mutex);
                                     there = state->OfflineLocked({asked.parent, asked.name}).ok();
                                   }
                                   done(there ? Error(ErrorCode::kExists) : reply.error());
                                 });
}

void RemoteMeta::RemoveDir(NameView name, Completion<void> done) {
  wire::NameRequest request;
  ToWire(name, request.mutable_name());
  state_->Call<wire::Empty>(MetaMethod::kRemoveDir, request,
                            [state = state_, asked = NameRef{name.parent, std::string(name.name)},
                             done = std::move(done)](const Result<wire::Empty>& reply) {
                              if (!reply.ok()) return done(reply.error());
                              {
                                MutexLock lock(state->mutex);
                                const auto dir = state->cache.FindDir(NameView{asked.parent, asked.name});
                                if (dir) state->cache.EraseDir(dir->id);
                              }
                              done({});
                            });
}

void RemoteMeta::ChangePage(PageId id, const AttributeChange& change, Completion<PageInfo> done) {
  std::optional<PageInfo> local;
  {
    MutexLock lock(state_->mutex);
    if (state_->LocalLocked(id) != nullptr) {
      PageInfo& page = state_->cache.Change(id)->page;
      ApplyChange(change, &page.owner, &page.mtime_ns);
      local = page;
    }
  }
  if (local) return done(*local);
  wire::ChangeRequest request;
  ToWire(change, id.value, &request);
  state_->Call<wire::EntryReply>(
      MetaMethod::kChangePage, request,
      [state = state_, asked_at = state_->Now(), done = std::move(done)](const Result<wire::EntryReply>& reply) {
        if (!reply.ok()) return done(reply.error());
        const PageInfo page = FromWire(reply->page());
        state->LearnFacts(page, asked_at);
        done(page);
      });
}

void RemoteMeta::ChangeDir(DirId id, const AttributeChange& change, Completion<DirInfo> done) {
  wire::ChangeRequest request;
  ToWire(change, id.value, &request);
  state_->Call<wire::EntryReply>(MetaMethod::kChangeDir, request,
                                 [state = state_, done = std::move(done)](const Result<wire::EntryReply>& reply) {
                                   if (!reply.ok()) return done(reply.error());
                                   done(std::get<DirInfo>(state->Learn(*reply, {})));
                                 });
}

void RemoteMeta::SetPin(PageId id, Pin pin, Completion<void> done) {
  bool local = false;
  {
    MutexLock lock(state_->mutex);
    local = state_->LocalLocked(id) != nullptr;
    if (local) state_->cache.Change(id)->page.pin = pin;
  }
  if (local) return done({});
  wire::PinRequest request;
  request.set_id(id.value);
  request.set_pin(static_cast<uint32_t>(pin));
  state_->Call<wire::Empty>(
      MetaMethod::kSetPin, request,
      [state = state_, id, pin, asked_at = state_->Now(), done = std::move(done)](const Result<wire::Empty>& reply) {
        if (!reply.ok()) return done(reply.error());
        {
          MutexLock lock(state->mutex);
          CachedPage* page = state->cache.Change(id);
          if (page != nullptr && !page->local()) {
            page->page.pin = pin;
            if (state->news.Ask(id, asked_at) != PageNews::Since::kNothing) page->session = 0;
            state->news.Changed(id);
          }
        }
        done({});
      });
}

void RemoteMeta::SetXattr(uint64_t id, std::string_view key, std::string_view value, Namespace::XattrMode mode,
                          Completion<void> done) {
  std::optional<Status> local;
  {
    MutexLock lock(state_->mutex);
    if (state_->LocalLocked(PageId{id}) != nullptr) {
      local = SetXattrIn(state_->cache.Change(PageId{id})->xattrs, key, value, mode);
    }
  }
  if (local) return done(*local);
  state_->Call<wire::Empty>(MetaMethod::kSetXattr, XattrRequestOf(id, key, value, mode), WithoutValue(std::move(done)));
}

void RemoteMeta::GetXattr(uint64_t id, std::string_view key, Completion<std::string> done) {
  std::optional<Result<std::string>> local;
  {
    MutexLock lock(state_->mutex);
    if (const CachedPage* page = state_->LocalLocked(PageId{id})) {
      const std::string* value = FindXattr(page->xattrs, key);
      local = value != nullptr ? Result<std::string>(*value) : Result<std::string>(ErrorCode::kNoAttribute);
    }
  }
  if (local) return done(*std::move(local));
  state_->Call<wire::ValueReply>(MetaMethod::kGetXattr, XattrRequestOf(id, key),
                                 [done = std::move(done)](const Result<wire::ValueReply>& reply) {
                                   if (!reply.ok()) return done(reply.error());
                                   done(reply->value());
                                 });
}

void RemoteMeta::RemoveXattr(uint64_t id, std::string_view key, Completion<void> done) {
  std::optional<Status> local;
  {
    MutexLock lock(state_->mutex);
    if (state_->LocalLocked(PageId{id}) != nullptr) {
      local = RemoveXattrFrom(state_->cache.Change(PageId{id})->xattrs, key);
    }
  }
  if (local) return done(*local);
  state_->Call<wire::Empty>(MetaMethod::kRemoveXattr, XattrRequestOf(id, key), WithoutValue(std::move(done)));
}

void RemoteMeta::GetXattrs(uint64_t id, Completion<Xattrs> done) {
  std::optional<Xattrs> local;
  {
    MutexLock lock(state_->mutex);
    if (const CachedPage* page = state_->LocalLocked(PageId{id})) local = page->xattrs;
  }
  if (local) return done(*std::move(local));
  wire::IdRequest request;
  request.set_id(id);
  state_->Call<wire::XattrsReply>(MetaMethod::kGetXattrs, request,
                                  [done = std::move(done)](const Result<wire::XattrsReply>& reply) {
                                    if (!reply.ok()) return done(reply.error());
                                    done(FromWire(reply->xattrs()));
                                  });
}

void RemoteMeta::Announce(const PageDescription& described, Completion<Namespace::Outcome> done) {
  wire::AnnounceRequest request;
  wire::Announced* page = request.add_pages();
  ToWire(described.page, page->mutable_page());
  page->set_description(EncodeDescription(described));
  page->set_tiers(kMemoryTier);
  state_->Call<wire::AnnounceReply>(MetaMethod::kAnnounce, request,
                                    [done = std::move(done)](const Result<wire::AnnounceReply>& reply) {
                                      if (!reply.ok()) return done(reply.error());
                                      if (reply->results_size() != 1) return done(ErrorCode::kInvalid);
                                      const wire::AnnounceResult& result = reply->results(0);
                                      if (const Status kept = FromResultCode(result.code()); !kept.ok()) {
                                        return done(kept.error());
                                      }
                                      done(FromWire(result.outcome()));
                                    });
}

void RemoteMeta::Sync(Completion<void> done) {
  state_->Call<wire::Empty>(MetaMethod::kSync, wire::Empty(), WithoutValue(std::move(done)));
}

}  // namespace kvpagefs
