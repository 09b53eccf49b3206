// Conversations of many turns: each turn's prompt is the system prompt, all earlier turns and a new input.
#pragma once

#include <cstdint>

#include "tools/model_presets.h"
#include "tools/workload.h"

namespace kvpagefs {

struct ConversationShape {
  ModelPreset model;
  uint64_t page_tokens = 16;
  double scale = 1;  // of the page's bytes, in (0, 1]
  uint64_t clients = 4;
  uint64_t rounds = 3;
  uint64_t system_tokens = 256;  // shared by all clients
  uint64_t input_tokens = 128;   // per round
  uint64_t output_tokens = 64;   // per round
  uint64_t seed = 1;
};

// Requests come round by round, within a round client by client. The same shape gives the same names everywhere.
Workload MakeConversation(const ConversationShape& shape);

}  // namespace kvpagefs
