#include <utility>

#include "fs/ops.h"

namespace kvpagefs {
namespace {

// The keeper looks at deadlines at least this often by itself.
constexpr int64_t kKeeperIntervalMs = 1000;

// Called by libfuse with the request's lock held.
void OnInterrupt(fuse_req_t req, void* ticket) {
  NodeOf(req).tiering->InterruptFetch(reinterpret_cast<uint64_t>(ticket));
}

}  // namespace

void HoldPage(fuse_req_t req, const PageInfo& page, MemoryTier::Touch touch,
              std::function<void(Result<PageHold>)> done) {
  Node::State& node = NodeOf(req);
  const uint32_t reader = TidOf(req);
  Result<PageHold> hold = node.tier->Hold(page.id, touch, reader);
  if (hold.ok() || !node.tiering->has_ssd()) return done(std::move(hold));
  Promoter::Request request;
  request.ticket = node.next_ticket.fetch_add(1);
  request.deadline_ns = node.clock.MonotonicNs() + node.options.open_timeout_ms * 1'000'000;
  request.touch = touch;
  request.reader = reader;
  fuse_req_interrupt_func(req, OnInterrupt, reinterpret_cast<void*>(request.ticket));
  if (node.options.open_timeout_ms < kKeeperIntervalMs) node.keeper.RequestRetry();
  node.tiering->Fetch({.id = page.id, .bytes = page.bytes, .checksum = page.checksum, .pin = page.pin}, request,
                      [&node, id = page.id, done = std::move(done)](Result<PageHold> fetched) {
                        // Neither tier has it, and nothing is on its way: the name is all that was left.
                        const bool lost = !fetched.ok() && fetched.code() == ErrorCode::kNotFound &&
                                          !node.tiering->OnSsd(id) && !node.tier->Use(id).ok();
                        done(std::move(fetched));
                        if (lost) node.OnLost(std::span(&id, 1));
                      });
}

}  // namespace kvpagefs
