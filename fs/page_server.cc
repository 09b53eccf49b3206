#include "fs/page_server.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "fs/peer.pb.h"

namespace kvpagefs {
namespace {

constexpr int64_t kMaxTimeoutMs = 3'600'000;

}  // namespace

void PageServer::OnUp(const std::shared_ptr<RpcLink>&) {}
void PageServer::OnDown(const std::shared_ptr<RpcLink>&, const Error&) {}

void PageServer::OnRequest(const std::shared_ptr<RpcLink>&, uint16_t method, std::string body, RpcReply reply) {
  if (method != kReadPageMethod) return reply.Fail(Error(ErrorCode::kNotSupported, "unknown method"));
  wire::ReadPageRequest request;
  if (!request.ParseFromString(body)) return reply.Fail(Error(ErrorCode::kInvalid, "malformed ReadPageRequest"));
  const FetchedPage page{
      .id = PageId{request.id()}, .bytes = request.bytes(), .checksum = request.checksum(), .pin = Pin::kNone};
  const auto shared = std::make_shared<RpcReply>(std::move(reply));
  hold_(page, std::min<int64_t>(request.timeout_ms(), kMaxTimeoutMs),
        [counters = counters_, page, shared](Result<PageHold> hold) {
          if (!hold.ok()) return shared->Fail(hold.error());
          if (hold->bytes() != page.bytes || hold->checksum() != page.checksum) {
            return shared->Fail(Error(ErrorCode::kNotFound, "another content"));
          }
          const auto kept = std::make_shared<PageHold>(std::move(*hold));
          Payload payload;
          kept->Read(0, page.bytes, &payload.pieces);
          payload.keep = kept;
          counters->Add(Counter::kServedPages);
          counters->Add(Counter::kServedBytes, page.bytes);
          shared->Ok({}, std::move(payload));
        });
}

}  // namespace kvpagefs
