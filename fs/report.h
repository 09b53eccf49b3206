// What a node says about itself: the texts of /.kvpagefs. Private to fs/.
#pragma once

#include <string>

#include "fs/node_state.h"

namespace kvpagefs {

// "key value" lines, stable keys, grouped by blank lines and "# " headings.
std::string StatusText(Node::State& node);
// One line a node: name, state, memory in use and in all.
std::string NodesText(Node::State& node);
// Prometheus text exposition format 0.0.4.
std::string MetricsText(Node::State& node);
std::string NodeConfigText(Node::State& node);
std::string EventsText(Node::State& node);

}  // namespace kvpagefs
