// user.kvpagefs.*: attributes of a published page that are answered from what the node knows. Private to fs/.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fs/node_state.h"

namespace kvpagefs {

inline constexpr std::string_view kVirtualXattrPrefix = "user.kvpagefs.";
inline constexpr std::string_view kPinXattr = "user.kvpagefs.pin";

// All of them, with the prefix.
std::vector<std::string_view> VirtualXattrNames();
// `elsewhere`: copies on other nodes. Nothing: no such attribute.
std::optional<std::string> VirtualXattr(const Node::State& node, const PageInfo& page, const Replicas& elsewhere,
                                        std::string_view key);

}  // namespace kvpagefs
