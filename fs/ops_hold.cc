#include <memory>
#include <utility>
#include <variant>

#include "fs/ops.h"

namespace kvpagefs {
namespace {

// The keeper looks at deadlines at least this often by itself.
constexpr int64_t kKeeperIntervalMs = 1000;

// Every step further means that somebody replaced the page in between.
constexpr int kMaxVersionsFollowed = 16;

// Called by libfuse with the request's lock held.
void OnInterrupt(fuse_req_t req, void* ticket) {
  NodeOf(req).tiering->InterruptFetch(reinterpret_cast<uint64_t>(ticket));
}

struct VersionSearch {
  NameRef name;
  PageInfo page;
  int followed = 0;
  std::function<void(Result<HeldVersion>)> done;
};

void HoldVersionStep(fuse_req_t req, VersionSearch search);

// The page could not be had: whether the name stands for another one meanwhile.
void FollowVersion(fuse_req_t req, VersionSearch search, const Error& why) {
  const NameRef name = search.name;
  NodeOf(req).meta->Lookup({name.parent, name.name},
                           [req, search = std::move(search), why](const Result<EntryInfo>& found) mutable {
                             const auto* page = found.ok() ? std::get_if<PageInfo>(&*found) : nullptr;
                             const bool other = page != nullptr && page->id != search.page.id;
                             if (!other || ++search.followed > kMaxVersionsFollowed) return search.done(why);
                             search.page = *page;
                             HoldVersionStep(req, std::move(search));
                           });
}

void HoldVersionStep(fuse_req_t req, VersionSearch search) {
  const PageInfo page = search.page;
  HoldPage(req, page, MemoryTier::Touch::kNone, [req, search = std::move(search)](Result<PageHold> hold) mutable {
    if (!hold.ok() && hold.code() == ErrorCode::kInterrupted) return search.done(hold.error());
    if (!hold.ok()) return FollowVersion(req, std::move(search), hold.error());
    auto held = std::make_shared<HeldVersion>(HeldVersion{search.page, {}, std::move(*hold)});
    NodeOf(req).meta->GetXattrs(held->page.id.value,
                                [held, done = std::move(search.done)](const Result<Xattrs>& xattrs) {
                                  if (xattrs.ok()) held->xattrs = *xattrs;
                                  done(std::move(*held));
                                });
  });
}

}  // namespace

void HoldVersion(fuse_req_t req, const NameRef& name, const PageInfo& page,
                 std::function<void(Result<HeldVersion>)> done) {
  HoldVersionStep(req, {name, page, 0, std::move(done)});
}

void HoldPage(fuse_req_t req, const PageInfo& page, MemoryTier::Touch touch,
              std::function<void(Result<PageHold>)> done) {
  Node::State& node = NodeOf(req);
  const uint32_t reader = TidOf(req);
  Result<PageHold> hold = node.tier->Hold(page.id, touch, reader);
  if (hold.ok() || !node.tiering->fetches()) return done(std::move(hold));
  Promoter::Request request;
  request.ticket = node.next_ticket.fetch_add(1);
  request.deadline_ns = node.clock.MonotonicNs() + node.options.open_timeout_ms * 1'000'000;
  request.touch = touch;
  request.reader = reader;
  fuse_req_interrupt_func(req, OnInterrupt, reinterpret_cast<void*>(request.ticket));
  if (node.options.open_timeout_ms < kKeeperIntervalMs) node.keeper.RequestRetry();
  node.tiering->Fetch({.id = page.id, .bytes = page.bytes, .checksum = page.checksum, .pin = page.pin}, request,
                      [&node, id = page.id, done = std::move(done)](Result<PageHold> fetched) {
                        // Neither tier has it, and nothing is on its way: the name is all that was left. In a
                        // cluster others may have it, and the service knows what this node had.
                        const bool lost = node.cluster == nullptr && !fetched.ok() &&
                                          fetched.code() == ErrorCode::kNotFound && !node.tiering->OnSsd(id) &&
                                          !node.tier->Use(id).ok();
                        if (lost) node.OnLost(std::span(&id, 1));
                        done(std::move(fetched));
                      });
}

}  // namespace kvpagefs
