// Serves this node's pages to its peers: from memory as they lie in the segment, from SSD by bringing them into memory.
//
// A page that is being sent is held: neither evicted nor changed. Any thread.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/log.h"
#include "base/result.h"
#include "fs/promoter.h"
#include "net/rpc.h"

namespace kvpagefs {

inline constexpr uint16_t kReadPageMethod = 1;
inline constexpr char kPeerService[] = "peer";

class PageServer final : public RpcHandler {
 public:
  // Holds a page of this node, never asking another one: kNotFound, kInterrupted. The answer comes on any thread.
  using Hold = std::function<void(const FetchedPage& page, int64_t timeout_ms, Promoter::Answer answer)>;

  PageServer(Hold hold, Counters* counters) : hold_(std::move(hold)), counters_(counters) {}

  void OnUp(const std::shared_ptr<RpcLink>& link) override;
  void OnRequest(const std::shared_ptr<RpcLink>& link, uint16_t method, std::string body, RpcReply reply) override;
  void OnDown(const std::shared_ptr<RpcLink>& link, const Error& why) override;

 private:
  const Hold hold_;
  Counters* const counters_;
};

}  // namespace kvpagefs
