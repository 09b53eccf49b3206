// What a node knows of the other nodes, through the metadata service. Absent in a standalone node.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "meta/meta_client.h"
#include "meta/replica.h"
#include "meta/types.h"

namespace kvpagefs {

class Cluster {
 public:
  virtual ~Cluster() = default;

  // Copies on other nodes that are up, from what the last look-up of the page said or from the service. kUnavailable.
  // Completions as in MetaClient.
  virtual void Locate(PageId id, Completion<Replicas> done) = 0;
  // What Locate remembers of the page was wrong.
  virtual void ForgetLocation(PageId id) = 0;
  // This node has a copy now, in these tiers. Told behind, in batches; copies that go: MetaClient::DropPages.
  virtual void NoteHeld(PageId id, uint8_t tiers) = 0;

  // Cheap, local, never wait.
  virtual std::vector<Member> Members() const = 0;
  virtual std::string AddressOf(uint16_t node) const = 0;  // empty: not known
  virtual uint16_t number() const = 0;                     // of this node
  virtual bool connected() const = 0;
};

}  // namespace kvpagefs
