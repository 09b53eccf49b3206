// Copies of pages, as the metadata service knows them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kvpagefs {

enum Tiers : uint8_t { kNoTier = 0, kMemoryTier = 1, kSsdTier = 2, kBothTiers = 3 };

struct Replica {
  uint16_t node = 0;  // number
  uint8_t tiers = kNoTier;
  bool operator==(const Replica&) const = default;
};
using Replicas = std::vector<Replica>;

// What a node contributes, and how much of it is in use.
struct NodeUse {
  uint64_t memory_bytes = 0;
  uint64_t memory_used_bytes = 0;
  uint64_t ssd_bytes = 0;
  uint64_t ssd_used_bytes = 0;
  uint64_t pages = 0;
};

// A node as others see it.
struct Member {
  uint16_t number = 0;
  std::string name;
  std::string address;  // of its page server, host:port
  std::string state;    // "up", "joining", "down"
  uint64_t heard_ms_ago = 0;
  NodeUse use;
};

}  // namespace kvpagefs
