// Telling the service which pages this node has.

#include <algorithm>
#include <utility>

#include "meta/page_description.h"
#include "meta/remote_meta_state.h"

namespace kvpagefs {
namespace {

constexpr size_t kMaxHeldAtOnce = 4096;
constexpr size_t kMaxAnnouncedAtOnce = 256;

}  // namespace

void RemoteMeta::NoteHeld(PageId id, uint8_t tiers) { state_->Tell({{id, tiers, nullptr}}); }

void RemoteMeta::DropPages(std::span<const PageId> pages, Completion<std::vector<NameRef>> done) {
  auto names = std::make_shared<std::vector<NameRef>>();
  std::vector<State::Change> gone;
  {
    MutexLock lock(state_->mutex);
    for (const PageId id : pages) {
      const CachedPage* page = state_->cache.Find(id);
      if (page != nullptr && page->local()) names->push_back(page->name);
      if (page == nullptr || !page->local()) {
        gone.push_back({id, kNoTier, nullptr});
      } else {
        state_->ForgetLocked(id);
      }
    }
  }
  if (gone.empty()) return done(std::move(*names));
  gone.back().done = [names, done = std::move(done)](const Result<wire::HoldingsReply>& reply) {
    // Not told: the next inventory is without them.
    if (reply.ok()) {
      for (const wire::Name& name : reply->dropped()) names->push_back({DirId{name.parent()}, name.name()});
    }
    done(std::move(*names));
  };
  state_->Tell(std::move(gone));
}

void RemoteMeta::State::Tell(std::vector<Change> more) {
  bool told = false;
  {
    MutexLock lock(mutex);
    for (const Change& change : more) {
      if (change.tiers != kNoTier) held[change.id.value].tiers = change.tiers;
      if (change.tiers == kNoTier) ForgetLocked(change.id);
    }
    // Of pages that it does not know yet the service hears when they are published.
    std::erase_if(more, [this](const Change& change)
                            KVP_REQUIRES(mutex) { return !change.done && LocalLocked(change.id) != nullptr; });
    told = link != nullptr;
    if (told) {
      changes.insert(changes.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
    }
  }
  if (told) return SendChanges();
  for (const Change& change : more) {
    if (change.done) change.done(ErrorCode::kUnavailable);
  }
}

void RemoteMeta::State::SendChanges() {
  wire::HoldingsRequest request;
  auto sent = std::make_shared<std::vector<Change>>();
  std::shared_ptr<RpcLink> to;
  uint64_t of_session = 0;
  {
    MutexLock lock(mutex);
    if (link == nullptr || sending || (changes.empty() && !inventory_ends)) return;
    const size_t count = std::min(changes.size(), kMaxHeldAtOnce);
    const auto end = changes.begin() + static_cast<ptrdiff_t>(count);
    sent->assign(std::make_move_iterator(changes.begin()), std::make_move_iterator(end));
    changes.erase(changes.begin(), end);
    request.set_complete(inventory_ends && changes.empty());
    if (changes.empty()) inventory_ends = false;
    sending = true;
    to = link;
    of_session = session;
  }
  for (const Change& change : *sent) {
    wire::Held* told = request.add_held();
    told->set_id(change.id.value);
    told->set_tiers(change.tiers);
  }
  CallOn<wire::HoldingsReply>(*to, MetaMethod::kHoldings, request,
                              [this, to, of_session, sent](const Result<wire::HoldingsReply>& reply) {
                                // Out of step with the service: begin again.
                                if (!reply.ok()) to->Close(reply.error());
                                ChangesSent(of_session, *sent, reply);
                              });
}

void RemoteMeta::State::ChangesSent(uint64_t of_session, const std::vector<Change>& sent,
                                    const Result<wire::HoldingsReply>& reply) {
  std::vector<PageId> unknown;
  {
    MutexLock lock(mutex);
    if (session == of_session && link != nullptr && reply.ok()) {
      sending = false;
      for (const Change& change : sent) {
        const auto found = held.find(change.id.value);
        if (change.tiers != kNoTier && found != held.end()) found->second.session = session;
      }
      for (const uint64_t id : reply->unknown()) {
        if (const auto found = held.find(id); found != held.end()) found->second.session = 0;
        unknown.push_back(PageId{id});
      }
    }
  }
  log.Debug("metadata daemon: told of {} pages: {}", sent.size(), reply.ok() ? "ok" : reply.error().Describe());
  for (const Change& change : sent) {
    if (change.done) change.done(reply);
  }
  if (!unknown.empty()) AnnounceUnknown(unknown);
  SendChanges();
}

void RemoteMeta::State::AnnounceUnknown(const std::vector<PageId>& unknown) {
  std::vector<PageId> nameless;
  for (size_t at = 0; at < unknown.size(); at += kMaxAnnouncedAtOnce) {
    wire::AnnounceRequest request;
    std::vector<PageId> announced;
    for (size_t i = at; i < std::min(unknown.size(), at + kMaxAnnouncedAtOnce); ++i) {
      PageDescription described;
      bool known = false;
      uint8_t tiers = kNoTier;
      {
        MutexLock lock(mutex);
        const CachedPage* page = cache.Find(unknown[i]);
        const auto path = page != nullptr ? cache.PathOf(page->name) : std::nullopt;
        // Under this session a page is unknown only when it was deleted. The service remembers deletions itself, so one
        // that was published under an earlier session is announced.
        known = path && (page->state == CachedPage::State::kUnsent || (!page->local() && page->session != session));
        if (known) described = {page->page, *path, page->xattrs};
        tiers = TiersLocked(unknown[i]);
      }
      if (!known && !node.describe(unknown[i], &described)) {
        nameless.push_back(unknown[i]);
        continue;
      }
      wire::Announced* page = request.add_pages();
      ToWire(described.page, page->mutable_page());
      page->set_description(EncodeDescription(described));
      page->set_tiers(tiers);
      announced.push_back(unknown[i]);
    }
    if (announced.empty()) continue;
    Call<wire::AnnounceReply>(
        MetaMethod::kAnnounce, request,
        [this, announced](const Result<wire::AnnounceReply>& reply) { Announced(announced, reply); });
  }
  log.Debug("metadata daemon: does not know {} pages of this node, {} of them without a name here", unknown.size(),
            nameless.size());
  if (nameless.empty()) return;
  for (const PageId id : nameless) Forget(id);
  node.on_gone(nameless);
}

void RemoteMeta::State::Announced(const std::vector<PageId>& pages, const Result<wire::AnnounceReply>& reply) {
  // Without an answer the next session asks again.
  if (!reply.ok() || static_cast<size_t>(reply->results_size()) != pages.size()) {
    log.Warning("metadata daemon: {} pages could not be announced: {}", pages.size(),
                reply.ok() ? "malformed answer" : reply.error().Describe());
    return;
  }
  std::vector<PageId> gone;
  std::string reason;
  {
    MutexLock lock(mutex);
    for (size_t i = 0; i < pages.size(); ++i) {
      const wire::AnnounceResult& result = reply->results(static_cast<int>(i));
      const bool kept = result.code() == 0 && result.outcome().page().id() == pages[i].value;
      if (kept) {
        if (const auto found = held.find(pages[i].value); found != held.end()) found->second.session = session;
        if (const CachedPage* page = cache.Find(pages[i])) {
          CachedPage known = *page;
          known.state = CachedPage::State::kPublished;
          known.session = session;
          (void)cache.Put(std::move(known));
        }
      } else {
        gone.push_back(pages[i]);
        if (reason.empty())
          reason = FromResultCode(result.code()).ok() ? "another page has the name"
                                                      : FromResultCode(result.code()).error().Describe();
      }
      if (result.outcome().dropped() != 0 && result.outcome().dropped() != pages[i].value) {
        gone.push_back(PageId{result.outcome().dropped()});
      }
    }
  }
  log.Info("metadata daemon: {} pages announced anew, {} of them dropped{}", pages.size(), gone.size(),
           reason.empty() ? "" : " (the first: " + reason + ")");
  for (const PageId id : gone) Forget(id);
  if (!gone.empty()) node.on_gone(gone);
}

}  // namespace kvpagefs
